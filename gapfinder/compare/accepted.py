"""What a candidate is held against: one baseline, or the accepted runs of a branch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.compare.comparable import differences, version_notes
from gapfinder.units import format_count

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gapfinder.compare.comparable import Aspect, Reason
    from gapfinder.compare.snapshot import Snapshot


@dataclass(frozen=True, kw_only=True, slots=True)
class Accepted:
    """The last accepted runs of a branch, oldest first."""

    branch: str
    runs: tuple[Snapshot, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparable:
    """What of a baseline, or of accepted runs, the candidate can be compared with.

    Attributes:
        runs: oldest first.
        reasons: in sentences why there is none; empty where there are some.
        notes: in sentences, worth knowing.
    """

    runs: tuple[Snapshot, ...]
    reasons: tuple[str, ...]
    notes: tuple[str, ...]


def comparable_runs(candidate: Snapshot, against: Snapshot | Accepted, *, allowed: Collection[Aspect]) -> Comparable:
    """Return which runs the candidate is held against; `allowed` may differ."""
    runs = against.runs if isinstance(against, Accepted) else (against,)
    found = [(run, differences(candidate, run)) for run in runs]
    kept = [(run, waived) for run, waived in found if all(one.aspect in allowed for one in waived)]
    reasons: tuple[str, ...] = ()
    if not kept:
        refused = [one for one in found[-1][1] if one.aspect not in allowed] if found else []
        reasons = tuple(map(_told, refused))
    if isinstance(against, Accepted):
        reasons = () if kept else _none_of(against, reasons)
        about = _held_against(against, count=len(kept))
    else:
        about = [] if against.commit is None else [f"the baseline is of commit {_commit(against)}"]
    notes = [note for run, waived in kept or found[-1:] for note in _notes(candidate, run, waived, allowed=allowed)]
    return Comparable(runs=tuple(run for run, _ in kept), reasons=reasons, notes=tuple(dict.fromkeys([*about, *notes])))


def _commit(baseline: Snapshot) -> str:
    return f"{baseline.commit}, measured on {baseline.created}"


def _held_against(accepted: Accepted, *, count: int) -> list[str]:
    if not count:
        return []
    share = "" if count == len(accepted.runs) else f"{format_count(count)} of "
    return [f"held against {share}the last {_counted(accepted)}"]


def _counted(accepted: Accepted) -> str:
    count = len(accepted.runs)
    return (
        f"{'' if count == 1 else f'{format_count(count)} '}accepted run{'' if count == 1 else 's'} of {accepted.branch}"
    )


def _none_of(accepted: Accepted, reasons: tuple[str, ...]) -> tuple[str, ...]:
    if not accepted.runs:
        told = "`gapfinder history add` stores a good one, and `gapfinder history accept` takes one that is there"
        return (f"no run of {accepted.branch} is accepted yet: {told}",)
    none = "the" if len(accepted.runs) == 1 else "none of the"
    verb = "cannot" if len(accepted.runs) == 1 else "can"
    return tuple(f"{none} last {_counted(accepted)} {verb} be compared: for the newest, {one}" for one in reasons)


def _told(reason: Reason) -> str:
    if reason.aspect is None:
        return reason.sentence
    return f"{reason.sentence} (--allow-different {reason.aspect} compares them anyway)"


def _notes(
    candidate: Snapshot, run: Snapshot, found: tuple[Reason, ...], *, allowed: Collection[Aspect]
) -> Iterator[str]:
    yield from version_notes(candidate, run)
    yield from (f"allowed to differ: {one.sentence}" for one in found if one.aspect in allowed)
