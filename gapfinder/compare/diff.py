"""Compares two snapshots: where a step's time went on both sides, what moved, and what came or went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.changes import (
    call_changes,
    cause_changes,
    collective_changes,
    finding_changes,
    kernel_changes,
    pace,
)
from gapfinder.compare.comparable import Aspect, differences, version_notes
from gapfinder.compare.difference import Difference, LaneChange, Unit
from gapfinder.compare.lanes import same_lanes
from gapfinder.compare.scale import side
from gapfinder.compare.scaled import scaled_alike
from gapfinder.errors import InconclusiveError
from gapfinder.findings.words import listed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gapfinder.compare.comparable import Reason
    from gapfinder.compare.snapshot import LaneSnapshot, Snapshot

    LanePair = tuple[LaneSnapshot | None, LaneSnapshot | None]


REFUSED = frozenset({Aspect.GPUS, Aspect.RANKS})
"""What must not differ unless it is allowed."""


def diff(
    before: Snapshot,
    after: Snapshot,
    *,
    names: tuple[str, str] = ("before", "after"),
    allowed: Collection[Aspect] = (),
) -> Difference:
    """Return what changed from `before` to `after`, which are called by `names`.

    Another number of GPUs, or other or unknown ranks, are refused unless they are `allowed`: what then moved would be
    the job, not the code. Everything else that differs is noted.

    Raises:
        InconclusiveError: one of them has no lanes, or they are refused.
    """
    reasons = _why_not_alike(before, after, names=names, allowed=allowed)
    alike = scaled_alike(before, after)
    unit, (old, new) = alike.unit, alike.scaled
    pairs = [
        (None if was is None else before.lanes[was], None if now is None else after.lanes[now])
        for was, now in same_lanes(before.lanes, after.lanes)
    ]
    return Difference(
        names=names,
        min_gap_ns=before.min_gap_ns if before.min_gap_ns == after.min_gap_ns else None,
        unit=unit,
        before=alike.sides[0],
        after=alike.sides[1],
        lanes=tuple(_lane_change(pair, unit=unit) for pair in pairs),
        causes=cause_changes(old, new),
        findings=finding_changes(old, new),
        collectives=collective_changes(old, new),
        kernels=kernel_changes(old, new),
        calls=call_changes(old, new),
        pace=pace(old, new),
        notes=(
            *(f"not like for like: {reason.sentence}" for reason in reasons),
            *version_notes(after, before),
            *_unit_notes(before, after, unit=unit, names=names),
            *_lane_notes(pairs, names=names),
            *_unseen_notes(before, after, names=names),
        ),
    )


def _why_not_alike(
    before: Snapshot, after: Snapshot, *, names: tuple[str, str], allowed: Collection[Aspect]
) -> tuple[Reason, ...]:
    """Return what differs that is noted; InconclusiveError for what is refused."""
    for name, snapshot in zip(names, (before, after), strict=True):
        if not snapshot.lanes:
            raise InconclusiveError(f"nothing to compare: {name} has no GPU operation that takes time")
    reasons = differences(after, before)
    for reason in reasons:
        if reason.aspect in REFUSED and reason.aspect not in allowed:
            raise InconclusiveError(
                f"not comparable: {reason.sentence}; --allow-different {reason.aspect} compares them all the same"
            )
    return reasons


def _lane_change(pair: LanePair, *, unit: Unit) -> LaneChange:
    label = next(lane.label for lane in reversed(pair) if lane is not None)
    before, after = (
        None if lane is None or (unit is Unit.STEP and not lane.steps) else side([lane], unit=unit) for lane in pair
    )
    return LaneChange(label=label, before=before, after=after)


def _lane_notes(pairs: Sequence[LanePair], *, names: tuple[str, str]) -> Iterator[str]:
    for at, name in enumerate(names):
        alone = [pair[at] for pair in pairs if pair[1 - at] is None]
        labels = [lane.label for lane in alone if lane is not None]
        if labels:
            yield f"only {name} has {listed(labels)}; totals are over all lanes of each side"


def _unit_notes(before: Snapshot, after: Snapshot, *, unit: Unit, names: tuple[str, str]) -> Iterator[str]:
    for name, snapshot in zip(names, (before, after), strict=True):
        without = [lane for lane in snapshot.lanes if not lane.steps]
        if unit is Unit.STEP and without:
            labels = listed([lane.label for lane in without])
            yield f"{name}: the mean step is without {labels}, which has no complete steps: {without[0].steps_reason}"
        if unit is Unit.SECOND and len(without) == len(snapshot.lanes):
            yield f"{name} has no steps, so shares of the time are compared: {without[0].steps_reason}"


def _unseen_notes(before: Snapshot, after: Snapshot, *, names: tuple[str, str]) -> Iterator[str]:
    for name, snapshot in zip(names, (before, after), strict=True):
        idle = next((lane.idle_reason for lane in snapshot.lanes if lane.idle_reason), None)
        if idle:
            yield f"{name}: idle time and causes were not measured: {idle}"
        if any(lane.budget.graph_only_ns for lane in snapshot.lanes):
            yield f"{name} has CUDA graphs traced whole: kernels and communication inside them are not compared"
