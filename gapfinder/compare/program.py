"""Whether two snapshots are of the same program: what their kernels and collectives have in common."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gapfinder.analysis.classify import function_name
from gapfinder.findings.words import listed
from gapfinder.units import format_share

if TYPE_CHECKING:
    from gapfinder.compare.snapshot import Snapshot

_LONGEST_NAME = 40
LEAST_COMMON = 0.2
"""Below this share on either side, two sets have hardly anything in common."""


def another_program(candidate: Snapshot, baseline: Snapshot) -> str | None:
    """Return in a sentence why the candidate is another program than the baseline; None where it is the same.

    It is another one where, on either side, less than a fifth of the compute kernels' time is in functions that both
    have; or less than a fifth of the collectives, both in number and in time, are operations that both have. A
    collective that was split into many is thus a change of the same program. Nothing is said of kernels inside graphs.
    """
    sides = candidate, baseline
    if not any(lane.budget.graph_only_ns for one in sides for lane in one.lanes):
        new, old = map(_compute, sides)
        if (shared := _least_shared(new, old)) < LEAST_COMMON:
            return (
                f"{_little(shared)} of the time in compute kernels is in functions that both have, so this capture is "
                f"of another program: it runs {_most(new)}, the baseline {_most(old)}"
            )
    (new, new_times), (old, old_times) = map(_operations, sides)
    shared = max(_least_shared(new, old), _least_shared(new_times, old_times))
    if shared < LEAST_COMMON:
        return (
            f"{_little(shared)} of the collectives is an operation that both have, so this capture is of another "
            f"program: it runs {_most(new)}, the baseline {_most(old)}"
        )
    return None


def _compute(snapshot: Snapshot) -> Counter[str]:
    """Return the time of compute kernels by function, whatever its template arguments."""
    times: Counter[str] = Counter()
    for kernel in snapshot.kernels:
        if not kernel.is_communication:
            times[function_name(kernel.name)] += kernel.total_ns
    return times


def _operations(snapshot: Snapshot) -> tuple[Counter[str], Counter[str]]:
    """Return how many collectives there are of each operation, and their time."""
    counts: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for collective in snapshot.collectives:
        counts[collective.operation] += collective.instances
        times[collective.operation] += collective.total_ns
    return counts, times


def _least_shared(new: Counter[str], old: Counter[str]) -> float:
    """Return what both have as a share of the side that has less of it; all where a side has nothing to compare."""
    if not new.total() or not old.total():
        return 1.0
    return min(sum(one[name] for name in new.keys() & old.keys()) / one.total() for one in (new, old))


def _little(share: float) -> str:
    return f"only {format_share(share)}" if share else "none"


def _most(amounts: Counter[str]) -> str:
    names = (name for name, _ in amounts.most_common(3))
    return listed([name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…" for name in names])
