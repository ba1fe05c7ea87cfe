"""What changed from the healthy capture of a training to a later one, as the training processes tell."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from gapfinder.findings.words import process_name
from gapfinder.processes import Phase
from gapfinder.units import format_change, format_count, format_duration, format_growth

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.model import Analysis
    from gapfinder.processes import HostSteps

_NOTICED = 0.05  # of the step before: a phase that moved less is not named
_MOST_NAMED = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class PhaseChange:
    """One phase of a step of one rank.

    Attributes:
        before_ns, after_ns: its mean in a step.
    """

    rank: str
    phase: Phase
    before_ns: int
    after_ns: int

    @property
    def growth_ns(self) -> int:
        """By how much it grew."""
        return self.after_ns - self.before_ns


@dataclass(frozen=True, kw_only=True, slots=True)
class HostChange:
    """Both captures side by side.

    Attributes:
        before_ns, after_ns: the median step, of the median rank.
        phases: of every rank that both have, what grew most first.
    """

    before_ns: int
    after_ns: int
    phases: tuple[PhaseChange, ...]


def host_change(before: Analysis, after: Analysis) -> HostChange | None:
    """Return what changed; None where the two have no rank with steps in common."""
    pairs = list(_pairs(before, after))
    if not pairs:
        return None
    phases = [
        PhaseChange(rank=name, phase=phase, before_ns=_mean(old, phase), after_ns=_mean(new, phase))
        for name, old, new in pairs
        for phase in Phase
    ]
    return HostChange(
        before_ns=round(median(old.p50_ns for _, old, _ in pairs)),
        after_ns=round(median(new.p50_ns for _, _, new in pairs)),
        phases=tuple(sorted(phases, key=lambda one: -one.growth_ns)),
    )


def change_sentence(change: HostChange) -> str:
    """Return what changed in one sentence: the step, and what in it grew."""
    told = (
        f"a step takes {format_duration(change.after_ns)}, and {format_duration(change.before_ns)} in the healthy "
        f"capture ({format_growth(change.before_ns, change.after_ns)})"
    )
    named = _named(change)
    if not named:
        return f"{told}; no phase grew by 5 % of a step"
    return f"{told}: {', '.join(named)}"


def change_text(change: HostChange) -> str:
    """Return the sentence, and a line for each phase of each rank that is there."""
    lines = [f"{change_sentence(change)}.", "", "mean of a step, of each rank and phase:"]
    lines += [
        f"  {one.rank}, {one.phase}: {format_duration(one.before_ns)} before, {format_duration(one.after_ns)} now "
        f"({format_change(one.growth_ns)})"
        for one in change.phases
        if one.before_ns or one.after_ns
    ]
    return "\n".join([*lines, ""])


def _named(change: HostChange) -> list[str]:
    """Name the phases that grew; of one that waits in backward for another rank, the others' growth says more."""
    grown = [one for one in change.phases if one.growth_ns > _NOTICED * change.before_ns]
    own = [one for one in grown if one.phase is not Phase.BACKWARD] or grown
    by_phase: dict[Phase, list[PhaseChange]] = {}
    for one in own:
        by_phase.setdefault(one.phase, []).append(one)
    ranks = len({one.rank for one in change.phases})
    return [
        f"{phase if phase is not Phase.OTHER else 'time in no phase'} "
        f"{format_change(max(one.growth_ns for one in ones))} {_where(ones, ranks=ranks)}"
        for phase, ones in list(by_phase.items())[:_MOST_NAMED]
    ]


def _where(ones: list[PhaseChange], *, ranks: int) -> str:
    if ranks > 1 and len(ones) == ranks:
        return "on all ranks"
    return f"on {ones[0].rank}" if len(ones) == 1 else f"on {format_count(len(ones), 'rank')}"


def _pairs(before: Analysis, after: Analysis) -> Iterator[tuple[str, HostSteps, HostSteps]]:
    old = {process.rank: process.steps for process in before.processes if process.steps}
    for index, process in enumerate(after.processes):
        was = old.get(process.rank)
        if process.steps and was:
            yield process_name(after, index), was, process.steps


def _mean(steps: HostSteps, phase: Phase) -> int:
    return round(steps.phases[phase] / steps.count)
