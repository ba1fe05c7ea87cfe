"""Checks of the limits of this process, and of the CPUs that its ranks share."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from gapfinder.doctor.check import Area, NotCheckedError, Question, Verdict, failure, not_checked, ok, ranges, warning
from gapfinder.doctor.topology import parse_cpus
from gapfinder.doctor.visible import judged_gpus
from gapfinder.units import format_bytes, format_count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.doctor.machine import Machine

_FEWEST_FILES, _FEW_FILES = 1_024, 4_096
_CGROUP = PurePosixPath("/sys/fs/cgroup")
_CLOCK_SECONDS = 10
_OLD_GROUPS = ("cpu,cpuacct", "cpu")


def _files(machine: Machine) -> Verdict:
    limit = machine.open_files
    told = f"{_text(limit.soft)}, can be raised to {_text(limit.hard)}"
    advice = f"Data loaders pass files, and every rank opens sockets to others: `ulimit -n {limit.hard or 65536}`."
    if limit.soft is None or limit.soft >= _FEW_FILES:
        return ok(_text(limit.soft))
    return failure(told, advice=advice) if limit.soft < _FEWEST_FILES else warning(told, advice=advice)


def _locked(machine: Machine) -> Verdict:
    limit = machine.locked_memory
    if limit.soft is None:
        return ok("unlimited")
    told = format_bytes(limit.soft)
    if machine.names("/sys/class/infiniband"):
        return failure(
            f"{told}, with InfiniBand or RoCE cards here",
            advice="RDMA locks its buffers: `ulimit -l unlimited`, in a container --ulimit memlock=-1.",
        )
    return ok(f"{told}; enough without InfiniBand or RoCE cards")


def _text(limit: int | None) -> str:
    return "unlimited" if limit is None else format_count(limit, "file")


def _affinity(machine: Machine) -> Verdict:
    online = parse_cpus(machine.read("/sys/devices/system/cpu/online") or "")
    mine = len(machine.cpus)
    told = f"{mine} of {len(online)} CPUs ({ranges(list(machine.cpus))})" if online else format_count(mine, "CPU")
    ranks = _ranks(machine)
    if ranks is not None and mine < ranks and machine.number("LOCAL_RANK") is None:
        return warning(
            f"{told} for {ranks} ranks",
            advice="Ranks take turns on the CPUs, and launches come late: ask the scheduler for more CPUs.",
        )
    if mine == 1 and len(online) > 1:
        return warning(
            told, advice="Data loading and launches share one CPU: widen the binding of this process (taskset, srun)."
        )
    return ok(told)


def _quota(machine: Machine) -> Verdict:
    quotas = [cpus for cpus in _quotas(machine) if cpus is not None]
    if not quotas:
        return ok("none")
    least = min(quotas)
    ranks = _ranks(machine)
    told = f"{least:g} CPUs' time"
    if least < len(machine.cpus) and (ranks is None or least < 2 * ranks):
        return warning(
            f"{told} for {len(machine.cpus)} CPUs",
            advice="When it is used up, the kernel stops all threads for tens of ms: raise the container's CPU limit.",
        )
    return ok(told)


def _quotas(machine: Machine) -> Iterator[float | None]:
    """Yield the quota of this process's group and of all above it in CPUs; None where one has none."""
    groups = machine.read("/proc/self/cgroup")
    if groups is None:
        raise NotCheckedError("/proc/self/cgroup cannot be read")
    for line in groups.splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        roots = (
            [_CGROUP]
            if not controllers
            else [_CGROUP / name for name in _OLD_GROUPS if "cpu" in controllers.split(",")]
        )
        group = PurePosixPath(path.lstrip("/"))
        for root in roots:
            for folder in (root / group, *(root / parent for parent in group.parents)):
                yield _new_quota(machine.read(f"{folder}/cpu.max"))
                yield _old_quota(machine, folder)


def _new_quota(text: str | None) -> float | None:
    quota, _, period = (text or "").partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def _old_quota(machine: Machine, folder: PurePosixPath) -> float | None:
    quota, period = (machine.read(f"{folder}/cpu.cfs_{name}_us") or "" for name in ("quota", "period"))
    return _new_quota(f"{quota} {period}")


def _threads(machine: Machine) -> Verdict:
    threads, ranks = machine.number("OMP_NUM_THREADS"), _ranks(machine)
    if threads is None:
        return not_checked("OMP_NUM_THREADS is not set; torchrun sets 1, a plain start uses all CPUs")
    if ranks is None:
        return not_checked("number of ranks not known: no LOCAL_WORLD_SIZE and no GPU")
    told = f"{ranks} ranks of {threads} threads on {format_count(len(machine.cpus), 'CPU')}"
    if threads * ranks > len(machine.cpus) and machine.number("LOCAL_RANK") is None:
        return warning(told, advice="Threads take turns: set OMP_NUM_THREADS to the CPUs of a rank, or 1.")
    return ok(told)


def _clock(machine: Machine) -> Verdict:
    ran = machine.run(("timedatectl", "show", "--property=NTPSynchronized", "--value"), _CLOCK_SECONDS)
    answer = ran.output.strip()
    if ran.code or answer not in ("yes", "no"):
        raise NotCheckedError(f"timedatectl does not tell: {ran.words()}")
    if answer == "no":
        return warning(
            "not synchronised",
            advice="Logs and captures of several machines cannot be laid beside each other: run chrony or "
            "systemd-timesyncd.",
        )
    return ok("synchronised")


def _ranks(machine: Machine) -> int | None:
    """Return how many ranks this machine will run: as told, else one for each GPU; None where neither is known."""
    told = machine.number("LOCAL_WORLD_SIZE")
    if told:
        return told
    try:
        return len(judged_gpus(machine)) or None
    except NotCheckedError:
        return None


QUESTIONS = tuple(
    Question(code=code, area=Area.LIMITS, title=title, ask=ask)
    for code, title, ask in (
        ("limit-files", "open files", _files),
        ("limit-locked-memory", "locked memory", _locked),
        ("cpu-affinity", "CPUs of this process", _affinity),
        ("cpu-quota", "CPU quota", _quota),
        ("cpu-threads", "threads of the ranks", _threads),
        ("clock-synchronised", "clock", _clock),
    )
)
