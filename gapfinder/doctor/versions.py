"""Checks of driver, CUDA, NCCL and torch: what they are, and whether they fit each other."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.capture.launchers import active_python
from gapfinder.doctor.check import Area, NotCheckedError, Question, Verdict, failure, not_checked, ok, warning
from gapfinder.doctor.nsys import found_nsys
from gapfinder.doctor.nvidia_smi import smi_report
from gapfinder.doctor.visible import visible

if TYPE_CHECKING:
    from gapfinder.doctor.machine import Machine
    from gapfinder.doctor.programs import Ran

# Importing torch from a busy network file system takes a minute.
_TORCH_SECONDS = 90
_ASK_TORCH = Path(__file__).with_name("ask_torch.py")
_MISSING = "No module named 'torch'"

# The first releases that know a generation of CUDA: those in its toolkit.
# https://docs.nvidia.com/cuda/archive/12.0.1/cuda-toolkit-release-notes
# https://docs.nvidia.com/cuda/cuda-toolkit-release-notes
_NSYS_OF_CUDA = {12: (2022, 4), 13: (2025, 3)}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Torch:
    """What torch tells.

    Attributes:
        python: the Python that it is imported in.
        cuda: version that it was built with; None in a build for CPUs.
        problem: what it warned of when it looked for GPUs.
        nccl, nccl_loaded: version it was built with and version it is bound to; empty where there is none.
    """

    python: str
    version: str
    cuda: str | None
    is_available: bool
    devices: int
    problem: str
    nccl: str
    nccl_loaded: str


def _ask_torch(machine: Machine) -> Ran:
    python = _python(machine)
    ran = machine.run((python, str(_ASK_TORCH)), _TORCH_SECONDS)
    if ran.code and _MISSING in ran.errors:
        raise NotCheckedError(f"torch is not installed for {python}, the first Python on PATH")
    return ran


def _python(machine: Machine) -> str:
    """Return the Python that a training is run with; what runs gapfinder may be another."""
    path = machine.environment.get("PATH")
    python = shutil.which(active_python(path) or "", path=path)
    if python is None:
        raise NotCheckedError("no python on PATH to look for torch with")
    return python


def _torch(machine: Machine) -> _Torch:
    ran = _ask_torch(machine)
    if ran.code:
        raise NotCheckedError("torch cannot be imported")
    try:
        told = json.loads(ran.output.splitlines()[-1])
        return _Torch(
            python=str(told["python"]),
            version=str(told["version"]),
            cuda=None if told["cuda"] is None else str(told["cuda"]),
            is_available=bool(told["is_available"]),
            devices=int(told["devices"]),
            problem=str(told["problem"]),
            nccl=".".join(map(str, told["nccl"] or ())),
            nccl_loaded=".".join(map(str, told["nccl_loaded"] or ())),
        )
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise NotCheckedError(f"torch's answer cannot be read: {ran.words()}") from error


def _import(machine: Machine) -> Verdict:
    ran = _ask_torch(machine)
    if ran.code:
        ended = f"died of signal {-ran.code}" if ran.code < 0 else ran.words()
        return failure(
            f"`import torch` fails in {_python(machine)}: {ended}",
            advice="Install torch anew, with the CUDA of this driver; see https://pytorch.org/get-started/locally.",
        )
    torch = _torch(machine)
    return ok(f"torch {torch.version} ({torch.python})")


def _cuda(machine: Machine) -> Verdict:
    report, torch = smi_report(machine), _torch(machine)
    driver = f"driver {report.driver} with CUDA {report.cuda}"
    if torch.cuda is None:
        return failure(
            f"torch {torch.version} is built for CPUs; {driver}", advice="Install a torch that is built for CUDA."
        )
    told = f"torch for CUDA {torch.cuda}, {driver}"
    if report.gpus and not torch.is_available:
        return failure(
            f"{told}: torch finds no GPU" + (f" ({torch.problem})" if torch.problem else ""),
            advice="Install a driver that knows this CUDA, or a torch for the driver's CUDA.",
        )
    if report.cuda is None:
        return not_checked("nvidia-smi tells no version of CUDA")
    if _major(torch.cuda) > _major(report.cuda):
        return warning(
            f"{told}: only through a forward compatibility package",
            advice="See https://docs.nvidia.com/deploy/cuda-compatibility, or update the driver.",
        )
    return ok(told)


def _nccl(machine: Machine) -> Verdict:
    torch = _torch(machine)
    if not torch.nccl:
        return not_checked(f"torch {torch.version} is built without NCCL")
    if torch.nccl_loaded and torch.nccl_loaded != torch.nccl:
        return warning(
            f"torch was built with NCCL {torch.nccl} and runs with {torch.nccl_loaded}",
            advice="Unless this is meant, take the other libnccl.so.2 out of LD_LIBRARY_PATH and LD_PRELOAD; all ranks "
            "must have the same.",
        )
    return ok(f"NCCL {torch.nccl}; all machines must have the same")


def _devices(machine: Machine) -> Verdict:
    seen = visible(smi_report(machine).gpus, environment=machine.environment)
    torch = _torch(machine)
    if torch.cuda is None:
        return not_checked(f"torch {torch.version} is built for CPUs")
    if seen.has_instances:
        return not_checked("CUDA_VISIBLE_DEVICES names parts of GPUs")
    expected = len(seen.gpus)
    if torch.devices != expected:
        return failure(
            f"torch sees {torch.devices} GPUs, nvidia-smi {expected}"
            + (f" ({torch.problem})" if torch.problem else ""),
            advice="Check CUDA_VISIBLE_DEVICES, the container's devices and cgroup, and `dmesg | grep -i xid`.",
        )
    return ok(f"torch sees all {expected}")


def _nsys(machine: Machine) -> Verdict:
    nsys, cuda = found_nsys(machine), smi_report(machine).cuda
    if cuda is None:
        return not_checked("nvidia-smi tells no version of CUDA")
    first = _NSYS_OF_CUDA.get(_major(cuda))
    told = f"nsys {nsys.version}, driver with CUDA {cuda}"
    if first is not None and tuple(int(part) for part in nsys.version.split(".")[:2]) < first:
        return warning(
            f"{told}, which came with nsys {first[0]}.{first[1]}",
            advice="An older nsys may capture no kernels: install the Nsight Systems of that CUDA or a newer one.",
        )
    return ok(told)


def _major(version: str) -> int:
    first = version.partition(".")[0]
    return int(first) if first.isdigit() else 0


QUESTIONS = tuple(
    Question(code=code, area=Area.VERSIONS, title=title, ask=ask)
    for code, title, ask in (
        ("version-torch", "torch", _import),
        ("version-cuda", "CUDA and driver", _cuda),
        ("version-nccl", "NCCL", _nccl),
        ("version-devices", "GPUs that torch sees", _devices),
        ("version-nsys", "nsys and CUDA", _nsys),
    )
)
