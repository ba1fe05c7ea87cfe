"""Checks of environment variables of NCCL, CUDA and PyTorch that cost speed, or let a training hang.

NCCL: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html. Its section "Debugging" lists what should not
stay set; PyTorch: https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.doctor.check import (
    Area,
    Question,
    Status,
    Verdict,
    failure,
    not_checked,
    ok,
    summed_up,
    warning,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gapfinder.doctor.machine import Machine

_CONFIGURATION_FILES = ("/etc/nccl.conf",)
_ON = ("1",)
_UNLESS_EMPTY = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """A value of a variable that hurts.

    Attributes:
        values: that hurt, in upper case; any value where there are none.
        why: what it costs.
    """

    name: str
    values: tuple[str, ...]
    why: str
    status: Status = Status.WARNING


TRANSPORTS = (
    Setting(name="NCCL_P2P_DISABLE", values=_ON, why="no NVLink and no PCIe between GPUs: all goes through the host"),
    Setting(name="NCCL_P2P_LEVEL", values=("LOC", "0"), why="no NVLink and no PCIe between GPUs"),
    Setting(name="NCCL_SHM_DISABLE", values=_ON, why="GPUs without a direct path use the network inside a machine"),
    Setting(name="NCCL_IB_DISABLE", values=_ON, why="IP sockets in place of InfiniBand or RoCE"),
    Setting(name="NCCL_NET", values=("SOCKET",), why="IP sockets, whatever other network there is"),
    Setting(
        name="NCCL_NET_GDR_LEVEL", values=("LOC", "0"), why="no GPUDirect RDMA: network traffic goes through the host"
    ),
    Setting(name="NCCL_NVLS_ENABLE", values=("0",), why="no reduction inside the NVLink switches"),
    Setting(name="NCCL_PXN_DISABLE", values=_ON, why="a GPU does not use the network card near another GPU"),
    Setting(name="NCCL_NVB_DISABLE", values=_ON, why="no NVLink path over a GPU in between"),
)
PINNED = (
    Setting(name="NCCL_ALGO", values=_UNLESS_EMPTY, why="no choice by size and topology"),
    Setting(name="NCCL_PROTO", values=_UNLESS_EMPTY, why="no choice by size; LL128 where it is not safe corrupts data"),
    Setting(name="NCCL_BUFFSIZE", values=_UNLESS_EMPTY, why="memory of every channel, and how well transfers pipeline"),
    Setting(name="NCCL_NTHREADS", values=_UNLESS_EMPTY, why="threads of a kernel, whatever the GPU needs"),
    Setting(name="NCCL_MAX_NCHANNELS", values=_UNLESS_EMPTY, why="may be too few channels for the links"),
    Setting(name="NCCL_MIN_NCHANNELS", values=_UNLESS_EMPTY, why="takes multiprocessors away from compute"),
    Setting(name="NCCL_MAX_CTAS", values=_UNLESS_EMPTY, why="may be too few channels for the links"),
    Setting(name="NCCL_MIN_CTAS", values=_UNLESS_EMPTY, why="takes multiprocessors away from compute"),
)
DEBUGGING = (
    Setting(
        name="CUDA_LAUNCH_BLOCKING",
        values=_ON,
        why="the host waits for every kernel: nothing overlaps at all",
        status=Status.FAILURE,
    ),
    Setting(name="NCCL_DEBUG", values=("TRACE",), why="writes a line for every call, and fills disks"),
    Setting(name="NCCL_CHECK_POINTERS", values=_ON, why="checks pointers in every collective"),
    Setting(name="NCCL_CHECK_MODE", values=("DEBUG_LOCAL", "DEBUG_GLOBAL"), why="checks arguments in every collective"),
    Setting(name="TORCH_NCCL_BLOCKING_WAIT", values=_ON, why="wait() holds the host: launches come late"),
    Setting(name="NCCL_BLOCKING_WAIT", values=_ON, why="old name of TORCH_NCCL_BLOCKING_WAIT: launches come late"),
    Setting(name="TORCH_DISTRIBUTED_DEBUG", values=("DETAIL",), why="compares every collective across ranks first"),
    Setting(name="TORCH_NCCL_DESYNC_DEBUG", values=_ON, why="writes every collective to the store"),
    Setting(name="TORCH_NCCL_ENABLE_TIMING", values=_ON, why="records two events for every collective"),
    Setting(name="TORCH_NCCL_NAN_CHECK", values=_ON, why="reads all data once more before it is sent"),
)
WATCHDOG = (
    Setting(name="TORCH_NCCL_ASYNC_ERROR_HANDLING", values=("0",), why="an error in NCCL hangs all ranks for good"),
    Setting(name="NCCL_ASYNC_ERROR_HANDLING", values=("0",), why="an error in NCCL hangs all ranks for good"),
    Setting(name="TORCH_NCCL_ENABLE_MONITORING", values=("0",), why="a watchdog that is stuck itself is not noticed"),
)


def _settings(machine: Machine) -> dict[str, tuple[str, str]]:
    """Return variables with where they are set; the environment goes before NCCL's own files."""
    chosen = machine.environment.get("NCCL_CONF_FILE") or f"{machine.environment.get('HOME', '')}/.nccl.conf"
    found: dict[str, tuple[str, str]] = {}
    for path in (*_CONFIGURATION_FILES, chosen):
        for line in (machine.read(path) or "").splitlines():
            name, separator, value = line.partition("#")[0].partition("=")
            if separator:
                found[name.strip()] = (value.strip(), f" in {path}")
    return found | {name: (value, "") for name, value in machine.environment.items()}


def _judged(machine: Machine, settings: tuple[Setting, ...], *, advice: str, otherwise: str) -> Verdict:
    found = _settings(machine)
    verdicts: list[Verdict] = []
    for setting in settings:
        value, place = found.get(setting.name, ("", ""))
        if value and (not setting.values or value.upper() in setting.values):
            seen = f"{setting.name}={value}{place}: {setting.why}"
            verdicts.append(Verdict(status=setting.status, seen=seen, advice=advice))
    return summed_up(verdicts, otherwise=otherwise)


def _transports(machine: Machine) -> Verdict:
    return _judged(
        machine,
        TRANSPORTS,
        advice="Unset what was a workaround, and compare with nccl-tests.",
        otherwise="nothing keeps NCCL from a path",
    )


def _pinned(machine: Machine) -> Verdict:
    return _judged(
        machine,
        PINNED,
        advice="NCCL's own choice is better on new versions and machines: unset, and measure both.",
        otherwise="NCCL chooses for itself",
    )


def _debugging(machine: Machine) -> Verdict:
    return _judged(machine, DEBUGGING, advice="Set it to find a fault, and unset it after.", otherwise="none set")


def _watchdog(machine: Machine) -> Verdict:
    return _judged(
        machine,
        WATCHDOG,
        advice="Unset it, so that a dead rank ends the job and it restarts.",
        otherwise="errors in NCCL end the job",
    )


def _interface(machine: Machine) -> Verdict:
    found = _settings(machine)
    verdicts = [
        _selected(found[name], name=name, there=machine.names("/sys/class/net"), noun="network interface")
        for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")
        if name in found
    ]
    return summed_up(verdicts, otherwise="; ".join(verdict.seen for verdict in verdicts) or "NCCL and gloo choose")


def _cards(machine: Machine) -> Verdict:
    found = _settings(machine)
    if "NCCL_IB_HCA" not in found:
        return ok("NCCL_IB_HCA is not set: NCCL chooses")
    there = machine.names("/sys/class/infiniband")
    if not there:
        return not_checked("no InfiniBand or RoCE card")
    value, place = found["NCCL_IB_HCA"]
    without_ports = ",".join(part.partition(":")[0] for part in value.split(","))
    return _selected((without_ports, place), name="NCCL_IB_HCA", there=there, noun="InfiniBand or RoCE card")


def _selected(setting: tuple[str, str], *, name: str, there: list[str], noun: str) -> Verdict:
    """Judge a list such as "eth,ib" or "^=docker0": prefixes, names after =, all others after ^."""
    value, place = setting
    wanted = value.removeprefix("^").removeprefix("=")
    is_exact, is_excluded = "=" in value[:2], value.startswith("^")
    patterns = [part.strip() for part in wanted.split(",") if part.strip()]

    def named(device: str) -> bool:
        return any(device == part if is_exact else device.startswith(part) for part in patterns)

    chosen = [device for device in there if named(device) is not is_excluded]
    told = f"{name}={value}{place}"
    if not chosen:
        return failure(
            f"{told} names no {noun} here ({', '.join(there)})",
            advice="The training cannot connect: correct or unset it.",
        )
    if chosen == ["lo"]:
        return warning(f"{told}: only within this machine", advice="Name the card to other machines, or unset it.")
    return ok(f"{told}: {', '.join(chosen)}")


def names() -> Mapping[str, str]:
    """Return every variable that is judged by a table, with what it costs."""
    return {setting.name: setting.why for setting in (*TRANSPORTS, *PINNED, *DEBUGGING, *WATCHDOG)}


QUESTIONS = tuple(
    Question(code=code, area=Area.VARIABLES, title=title, ask=ask)
    for code, title, ask in (
        ("variables-transport", "paths of NCCL", _transports),
        ("variables-pinned", "tuning of NCCL", _pinned),
        ("variables-debug", "debugging", _debugging),
        ("variables-watchdog", "end after errors", _watchdog),
        ("variables-interface", "network interface", _interface),
        ("variables-cards", "InfiniBand cards", _cards),
    )
)
