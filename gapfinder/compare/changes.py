"""Finds what moved between two scaled snapshots, the largest change first."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from gapfinder.compare.difference import (
    Amount,
    CallChange,
    CauseChange,
    CollectiveAmount,
    CollectiveChange,
    FindingChange,
    KernelChange,
    Pace,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gapfinder.compare.scaled import FindingAmount, Scaled

Key = TypeVar("Key")
Value = TypeVar("Value")

_NOTHING = Amount(count=0.0, total_ns=0)


def cause_changes(before: Scaled, after: Scaled) -> tuple[CauseChange, ...]:
    """Return blank time by cause; nothing where one side did not measure idle time, or another shortest hole."""
    if not all(lane.is_idle_known for side in (before, after) for lane in side.snapshot.lanes):
        return ()
    if before.snapshot.min_gap_ns != after.snapshot.min_gap_ns:
        return ()
    changes = [
        CauseChange(cause=cause, status=_status(was or None, now or None), before_ns=was or 0, after_ns=now or 0)
        for cause, was, now in _pairs(before.blanks(), after.blanks())
        if was or now
    ]
    return tuple(sorted(changes, key=lambda one: (-_moved(one.before_ns, one.after_ns), one.cause or "")))


def finding_changes(before: Scaled, after: Scaled) -> tuple[FindingChange, ...]:
    """Return findings by code; where a side has several of one code, by lane as well."""
    changes = []
    for code, was, now in _pairs(before.findings(), after.findings()):
        is_alone = len(was or ()) <= 1 and len(now or ()) <= 1
        old, new = ({None if is_alone else one.lane: one for one in side or ()} for side in (was, now))
        changes += [_finding_change(code, *pair) for _, *pair in _pairs(old, new)]
    return tuple(sorted(changes, key=lambda one: (-_moved(one.before_ns, one.after_ns), one.code, str(one.lanes))))


def _finding_change(code: str, was: FindingAmount | None, now: FindingAmount | None) -> FindingChange:
    shown = next(one.finding for one in (now, was) if one is not None)
    costs = [None if one is None else one.lost_ns for one in (was, now)]
    lanes = [None if one is None else one.lane for one in (was, now)]
    return FindingChange(
        code=code,
        title=shown.title,
        severity=shown.severity,
        lanes=(lanes[0], lanes[1]),
        status=_status(*costs),
        before_ns=costs[0],
        after_ns=costs[1],
    )


def collective_changes(before: Scaled, after: Scaled) -> tuple[CollectiveChange, ...]:
    """Return collectives by operation."""
    changes = [
        (_total(was), _total(now), CollectiveChange(operation=name, status=_of_totals(was, now), before=was, after=now))
        for name, was, now in _pairs(before.collectives(), after.collectives())
    ]
    return tuple(one for *_, one in sorted(changes, key=lambda item: (-_moved(*item[:2]), item[2].operation)))


def call_changes(before: Scaled, after: Scaled) -> tuple[CallChange, ...]:
    """Return synchronising calls by name."""
    changes = [
        CallChange(name=name, status=_of_totals(was, now), before=was or _NOTHING, after=now or _NOTHING)
        for name, was, now in _pairs(before.calls(), after.calls())
    ]
    return tuple(sorted(changes, key=lambda one: (-_moved(one.before.total_ns, one.after.total_ns), one.name)))


def kernel_changes(before: Scaled, after: Scaled) -> tuple[KernelChange, ...]:
    """Return kernels by name, but not those that one side lacks only because it keeps those with most time."""
    limits = before.least_kernel_ns(), after.least_kernel_ns()
    changes = []
    for name, was, now in _pairs(before.kernels(), after.kernels()):
        amounts = was and was[1], now and now[1]
        status = _kernel_status(*amounts, limits=limits)
        if status is not None:
            is_communication = any(one is not None and one[0].is_communication for one in (was, now))
            change = KernelChange(
                name=name, is_communication=is_communication, status=status, before=amounts[0], after=amounts[1]
            )
            changes.append(change)
    return tuple(sorted(changes, key=lambda one: (-_moved(_total(one.before), _total(one.after)), one.name)))


def _kernel_status(was: Amount | None, now: Amount | None, *, limits: tuple[int | None, int | None]) -> Status | None:
    """Return what became of a kernel; None where that cannot be known.

    Up to `limits` of time a side may have left a kernel out.
    """
    if was is None and now is not None and limits[0] is not None:
        return Status.GREW if now.total_ns > limits[0] else None
    if now is None and was is not None and limits[1] is not None:
        return Status.SHRANK if was.total_ns > limits[1] else None
    return _of_totals(was, now)


def pace(before: Scaled, after: Scaled) -> Pace | None:
    """Return how work and its speed changed, by the compute kernels of which both sides have time."""
    old, new = (
        {name: amount for name, (one, amount) in side.kernels().items() if amount.total_ns and not one.is_communication}
        for side in (before, after)
    )
    common = [(old[name], new[name]) for name in old if name in new]
    if not common:
        return None
    time_before, time_after = (sum(amounts[at].total_ns for amounts in common) for at in (0, 1))
    at_old_speed = sum(now.count * was.total_ns / was.count for was, now in common)
    return Pace(
        work=at_old_speed / time_before,
        duration=time_after / at_old_speed,
        share_before=time_before / sum(one.total_ns for one in old.values()),
        share_after=time_after / sum(one.total_ns for one in new.values()),
    )


def _pairs(old: Mapping[Key, Value], new: Mapping[Key, Value]) -> Iterator[tuple[Key, Value | None, Value | None]]:
    """Yield every key of both with its values, None where it is missing."""
    for key in {**old, **new}:
        yield key, old.get(key), new.get(key)


def _total(amount: Amount | CollectiveAmount | None) -> int | None:
    return None if amount is None else amount.total_ns


def _of_totals(was: Amount | CollectiveAmount | None, now: Amount | CollectiveAmount | None) -> Status:
    return _status(_total(was), _total(now))


def _status(was: int | None, now: int | None) -> Status:
    if was is None or now is None:
        return Status.APPEARED if was is None else Status.GONE
    if was == now:
        return Status.SAME
    return Status.GREW if now > was else Status.SHRANK


def _moved(was: int | None, now: int | None) -> int:
    return abs((now or 0) - (was or 0))
