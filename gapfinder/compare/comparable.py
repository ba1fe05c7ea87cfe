"""Whether two snapshots can be compared: what differs that has nothing to do with the code's speed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gapfinder.compare.program import another_program
from gapfinder.findings.words import listed
from gapfinder.units import format_count, format_duration, format_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.compare.snapshot import Snapshot


class Aspect(StrEnum):
    """What may differ between two captures, and be allowed to."""

    GPUS = "gpus"
    GPU_MODEL = "gpu-model"
    RANKS = "ranks"
    WINDOW = "window"
    MIN_GAP = "min-gap"
    PROGRAM = "program"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """Why two snapshots are not comparable.

    Attributes:
        aspect: what a user may allow; None for what cannot be allowed.
    """

    aspect: Aspect | None
    sentence: str


def differences(candidate: Snapshot, baseline: Snapshot) -> tuple[Reason, ...]:
    """Return everything that forbids comparing the two."""
    if not baseline.lanes:
        return (Reason(aspect=None, sentence="the baseline has no GPU operation: save it again from a good run"),)
    if candidate.digest == baseline.digest:
        same = "both are the same capture, so nothing can have changed: was the old report measured again?"
        return (Reason(aspect=None, sentence=same),)
    return (
        *_gpus(candidate, baseline),
        *_ranks(candidate, baseline),
        *_choices(candidate, baseline),
        *_program(candidate, baseline),
    )


def version_notes(candidate: Snapshot, baseline: Snapshot) -> Iterator[str]:
    """Yield a note for each tool where another nsys or gapfinder measured the baseline."""
    for tool in ("nsys", "gapfinder"):
        old, new = (getattr(one, f"{tool}_version") for one in (baseline, candidate))
        if old != new:
            yield f"{tool} was {old or 'of unknown version'} for the baseline and is {new or 'of unknown version'} now"


def _gpus(candidate: Snapshot, baseline: Snapshot) -> Iterator[Reason]:
    old, new = len(baseline.lanes), len(candidate.lanes)
    if old != new:
        yield Reason(
            aspect=Aspect.GPUS,
            sentence=f"the baseline has {format_count(old, 'lane')} and this capture {format_count(new)}",
        )
    if baseline.world_size != candidate.world_size and None not in (baseline.world_size, candidate.world_size):
        yield Reason(
            aspect=Aspect.GPUS,
            sentence=(
                f"the baseline's job had {format_count(baseline.world_size or 0, 'rank')} and this one "
                f"{format_count(candidate.world_size or 0)}"
            ),
        )
    models, others = ({lane.gpu_name for lane in one.lanes} - {None} for one in (baseline, candidate))
    if models and others and models != others:
        yield Reason(
            aspect=Aspect.GPU_MODEL,
            sentence=f"the baseline ran on {_listed(models)} and this capture on {_listed(others)}",
        )


def _ranks(candidate: Snapshot, baseline: Snapshot) -> Iterator[Reason]:
    old, new = ({lane.rank for lane in one.lanes} - {None} for one in (baseline, candidate))
    if old and new and old != new and len(baseline.lanes) == len(candidate.lanes):
        missing = [f"rank {rank}" for rank in sorted(rank for rank in old - new if rank is not None)]
        others = [f"rank {rank}" for rank in sorted(rank for rank in new - old if rank is not None)]
        yield Reason(
            aspect=Aspect.RANKS,
            sentence=f"the baseline has {listed(missing) or 'fewer ranks'}, which this capture lacks: "
            f"it has {listed(others) or 'no other'}",
        )
    elif bool(old) != bool(new):
        without = "this capture" if old else "the baseline"
        yield Reason(aspect=Aspect.RANKS, sentence=f"{without} does not tell which rank each lane is")
    if not old and not new and any(map(_is_one_of_many, (candidate, baseline))):
        yield Reason(
            aspect=Aspect.RANKS,
            sentence=(
                "one lane of a larger job was captured (it communicates), and nothing tells which rank of how many "
                "it is: give --ranks, or capture with gapfinder run"
            ),
        )


def _is_one_of_many(snapshot: Snapshot) -> bool:
    """Return whether the only lane communicates: then the others of its job were not captured."""
    return len(snapshot.lanes) == 1 and snapshot.lanes[0].budget.communication_ns > 0


def _choices(candidate: Snapshot, baseline: Snapshot) -> Iterator[Reason]:
    """Yield what was measured otherwise."""
    if (baseline.step_range, baseline.window) != (candidate.step_range, candidate.window):
        yield Reason(
            aspect=Aspect.WINDOW,
            sentence=f"the baseline was measured over {_part(baseline)} and this capture over {_part(candidate)}",
        )
    if baseline.min_gap_ns != candidate.min_gap_ns:
        yield Reason(
            aspect=Aspect.MIN_GAP,
            sentence=(
                f"the baseline counts gaps from {format_duration(baseline.min_gap_ns)} and this capture from "
                f"{format_duration(candidate.min_gap_ns)}"
            ),
        )


def _program(candidate: Snapshot, baseline: Snapshot) -> Iterator[Reason]:
    if sentence := another_program(candidate, baseline):
        yield Reason(aspect=Aspect.PROGRAM, sentence=sentence)


def _part(snapshot: Snapshot) -> str:
    steps = "all steps" if snapshot.step_range is None else "the steps {}:{}".format(*snapshot.step_range)
    if snapshot.window is None:
        return steps
    return f"{steps} from {format_time(snapshot.window[0])} to {format_time(snapshot.window[1])}"


def _listed(names: set[str | None] | set[str]) -> str:
    return listed(sorted(str(name) for name in names))
