"""What one rank sees of its machine before training begins: GPUs, versions, addresses of the hosts, temporary space."""

from __future__ import annotations

import csv
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

_SMI_FIELDS = ("index", "uuid", "name", "driver_version", "memory.total", "memory.used", "temperature.gpu")
_SMI_SECONDS = 20
_MIB = 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class GpuFacts:
    """One GPU of the host; what nvidia-smi does not tell is None.

    Attributes:
        index: its number in nvidia-smi.
    """

    index: int
    uuid: str
    name: str
    driver: str
    memory_bytes: int | None
    used_bytes: int | None
    temperature_c: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RankFacts:
    """What one rank sees.

    Attributes:
        gpus: of the host; None where nvidia-smi is missing or fails.
        own_gpu: UUID of the one this rank works on; None without CUDA.
        torch, cuda: versions; None where torch, or CUDA in it, is missing.
        nccl: version that torch uses; None where it has none.
        addresses: of each host of the job, as this one resolves its name; empty where it cannot.
        temporary: folder for temporary files.
    """

    rank: int
    host: str
    python: str
    torch: str | None
    cuda: str | None
    nccl: str | None
    gpus: tuple[GpuFacts, ...] | None
    own_gpu: str | None
    addresses: dict[str, tuple[str, ...]]
    temporary: str
    temporary_free_bytes: int


def own_facts(*, rank: int, hosts: list[str]) -> RankFacts:
    """Return what this process sees; `hosts` are the names to resolve."""
    torch = sys.modules.get("torch")
    temporary = tempfile.gettempdir()
    return RankFacts(
        rank=rank,
        host=platform.node(),
        python=platform.python_version(),
        torch=None if torch is None else str(torch.__version__),
        cuda=None if torch is None else torch.version.cuda,
        nccl=None if torch is None else _nccl(torch),
        gpus=_gpus(),
        own_gpu=own_gpu(torch),
        addresses={host: _addresses(host) for host in hosts},
        temporary=temporary,
        temporary_free_bytes=shutil.disk_usage(temporary).free,
    )


def own_gpu(torch: ModuleType | None) -> str | None:
    """Return the UUID of the GPU that this process works on, as nvidia-smi writes it."""
    if torch is None or not torch.cuda.is_available():
        return None
    uuid = getattr(torch.cuda.get_device_properties(torch.cuda.current_device()), "uuid", None)
    return None if uuid is None else f"GPU-{uuid}"


def read_gpus(text: str) -> tuple[GpuFacts, ...] | None:
    """Return the GPUs that nvidia-smi lists as comma-separated values; None where that is something else."""
    rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if row]
    if any(len(row) != len(_SMI_FIELDS) or not row[0].isdecimal() for row in rows):
        return None
    return tuple(
        GpuFacts(
            index=int(index),
            uuid=uuid,
            name=name,
            driver=driver,
            memory_bytes=_mib(memory),
            used_bytes=_mib(used),
            temperature_c=_number(temperature),
        )
        for index, uuid, name, driver, memory, used, temperature in rows
    )


def _gpus() -> tuple[GpuFacts, ...] | None:
    command = ["nvidia-smi", f"--query-gpu={','.join(_SMI_FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(  # noqa: S603 (no word of it comes from outside)
            command, capture_output=True, text=True, timeout=_SMI_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return None if done.returncode else read_gpus(done.stdout)


def _nccl(torch: ModuleType) -> str | None:
    try:
        return ".".join(map(str, torch.cuda.nccl.version()))
    except (AttributeError, RuntimeError):  # a build without NCCL
        return None


def _addresses(host: str) -> tuple[str, ...]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return ()
    return tuple(sorted({str(address[0]) for *_, address in found}))


def _mib(text: str) -> int | None:
    number = _number(text)
    return None if number is None else number * _MIB


def _number(text: str) -> int | None:
    return int(text) if text.lstrip("-").isdecimal() else None
