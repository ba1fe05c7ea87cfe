"""Checks of nsys: that it is there and whole, and that the system lets it look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.doctor.check import Area, NotCheckedError, Question, Verdict, failure, not_checked, ok, warning
from gapfinder.errors import NsysError
from gapfinder.export.nsys import find_importer

if TYPE_CHECKING:
    from gapfinder.capture.nsys import Nsys
    from gapfinder.doctor.machine import Machine

_STATUS = "/proc/self/status"
# https://docs.kernel.org/admin-guide/sysctl/kernel.html#perf-event-paranoid; Debian and Ubuntu added 3 and 4.
_SAMPLING_LEVEL = 2
# linux/capability.h
_CAPABILITIES = {"CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21, "CAP_PERFMON": 38}
_LOOKS = ("CAP_SYS_ADMIN", "CAP_PERFMON")
_FILTERED = "2"


def found_nsys(machine: Machine) -> Nsys:
    """Return nsys; NotCheckedError where there is none."""
    try:
        return machine.find_nsys()
    except NsysError as error:
        raise NotCheckedError("nsys not found") from error


def _found(machine: Machine) -> Verdict:
    try:
        nsys = machine.find_nsys()
    except NsysError as error:
        return failure(
            str(error), advice="Without nsys nothing is captured: https://developer.nvidia.com/nsight-systems."
        )
    return ok(f"{nsys.version} ({nsys.path})")


def _importer(machine: Machine) -> Verdict:
    importer = find_importer(found_nsys(machine))
    if importer is None:
        return warning(
            "no QdstrmImporter beside nsys",
            advice="A capture may stay a .qdstrm that only another machine can turn into a report: install the full "
            "Nsight Systems, with its host tools.",
        )
    return ok(f"{importer.name} in {importer.parent.name}")


def _paranoid(machine: Machine) -> Verdict:
    level = machine.read("/proc/sys/kernel/perf_event_paranoid")
    if level is None or not level.lstrip("-").isdigit():
        return not_checked("/proc/sys/kernel/perf_event_paranoid cannot be read")
    if int(level) > _SAMPLING_LEVEL and not _may_look(machine):
        return warning(
            f"level {level}: no CPU samples, nor switches between threads",
            advice="Traces of CUDA, NVTX and OS calls work; for the others set `sysctl kernel.perf_event_paranoid=2`.",
        )
    return ok(f"level {level}")


def _container(machine: Machine) -> Verdict:
    filtered = _of_status(machine, "Seccomp") == _FILTERED
    lacking = [name for name in _CAPABILITIES if not _has(machine, name)]
    told = f"system calls {'filtered (seccomp)' if filtered else 'not filtered'}; " + (
        f"without {', '.join(lacking)}" if lacking else "all capabilities that count"
    )
    if filtered and not _may_look(machine):
        return warning(
            told,
            advice="Traces of CUDA, NVTX and OS calls work; CPU samples and GPU metrics do not: for these "
            "start the container with --cap-add=SYS_ADMIN.",
        )
    return ok(told)


def _may_look(machine: Machine) -> bool:
    return any(_has(machine, name) for name in _LOOKS)


def _has(machine: Machine, capability: str) -> bool:
    held = _of_status(machine, "CapEff")
    try:
        return bool(int(held, 16) >> _CAPABILITIES[capability] & 1)
    except ValueError as error:
        raise NotCheckedError(f"{_STATUS} tells no capabilities") from error


def _of_status(machine: Machine, name: str) -> str:
    lines = (machine.read(_STATUS) or "").splitlines()
    return next((value.strip() for key, _, value in (line.partition(":") for line in lines) if key == name), "")


QUESTIONS = tuple(
    Question(code=code, area=Area.NSYS, title=title, ask=ask)
    for code, title, ask in (
        ("nsys-found", "nsys", _found),
        ("nsys-importer", "importer of captures", _importer),
        ("nsys-paranoid", "perf_event_paranoid", _paranoid),
        ("nsys-container", "container", _container),
    )
)
