"""A snapshot's times and counts in one unit, by the names that both sides are matched by."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.analysis.kernel_totals import KERNELS_KEPT
from gapfinder.compare.difference import Amount, CollectiveAmount
from gapfinder.compare.scale import Scale, common_unit, lanes_with_unit, side

if TYPE_CHECKING:
    from gapfinder.compare.difference import Side, Unit
    from gapfinder.compare.snapshot import CollectiveTotal, FindingTotal, Snapshot
    from gapfinder.explanations import Cause, KernelTotal


@dataclass(frozen=True, slots=True)
class FindingAmount:
    """A finding, the label of the lane it is about, and what it costs in one unit."""

    finding: FindingTotal
    lane: str | None
    lost_ns: int


@dataclass(frozen=True, slots=True)
class Scaled:
    """A snapshot and how it is scaled to the unit."""

    snapshot: Snapshot
    scale: Scale

    def blanks(self) -> dict[Cause | None, int]:
        """Return time without compute and graphs by cause; under None what is too short for a hole."""
        lanes = self.snapshot.lanes
        times: Counter[Cause | None] = Counter()
        for lane in lanes:
            times.update(lane.causes)
        budgets = [lane.budget for lane in lanes]
        times[None] = sum(one.idle_ns + one.exposed_ns + one.copy_only_ns for one in budgets) - times.total()
        return {cause: self.scale.time(ns) for cause, ns in times.items()}

    def calls(self) -> dict[str, Amount]:
        """Return the synchronising calls by name."""
        counts: Counter[str] = Counter()
        times: Counter[str] = Counter()
        for lane in self.snapshot.lanes:
            for name, (count, ns) in lane.sync_calls.items():
                counts[name] += count
                times[name] += ns
        return {name: self._amount(counts[name], times[name]) for name in counts}

    def collectives(self) -> dict[str, CollectiveAmount]:
        """Return collectives by operation: communicators are called otherwise in every run."""
        by_operation: dict[str, list[CollectiveTotal]] = {}
        for one in self.snapshot.collectives:
            by_operation.setdefault(one.operation, []).append(one)
        return {operation: self._collective(totals) for operation, totals in by_operation.items()}

    def findings(self) -> dict[str, list[FindingAmount]]:
        """Return findings and what they cost, by code."""
        labels = [lane.label for lane in self.snapshot.lanes]
        by_code: dict[str, list[FindingAmount]] = {}
        for one in self.snapshot.findings:
            lane = None if one.lane is None else labels[one.lane]
            by_code.setdefault(one.code, []).append(FindingAmount(one, lane, self.scale.time(one.lost_ns)))
        return by_code

    def kernels(self) -> dict[str, tuple[KernelTotal, Amount]]:
        """Return the kept kernels by name."""
        return {one.name: (one, self._amount(one.count, one.total_ns)) for one in self.snapshot.kernels}

    def least_kernel_ns(self) -> int | None:
        """Return the time up to which kernels may have been left out; None where all were kept."""
        kernels = self.snapshot.kernels
        return self.scale.time(kernels[-1].total_ns) if len(kernels) >= KERNELS_KEPT else None

    def _amount(self, count: int, ns: int) -> Amount:
        return Amount(count=self.scale.count(count), total_ns=self.scale.time(ns))

    def _collective(self, totals: list[CollectiveTotal]) -> CollectiveAmount:
        waits = [one.wait_ns for one in totals if one.wait_ns is not None]
        transfers = [one.transfer_ns for one in totals if one.transfer_ns is not None]
        return CollectiveAmount(
            count=self.scale.count(sum(one.instances for one in totals) * len(self.snapshot.lanes)),
            total_ns=self.scale.time(sum(one.total_ns for one in totals)),
            hidden_ns=self.scale.time(sum(one.hidden_ns for one in totals)),
            exposed_ns=self.scale.time(sum(one.exposed_ns for one in totals)),
            wait_ns=self.scale.time(sum(waits)) if len(waits) == len(totals) else None,
            transfer_ns=self.scale.time(sum(transfers)) if len(transfers) == len(totals) else None,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Alike:
    """Two snapshots in one unit, each in the order before, after."""

    unit: Unit
    sides: tuple[Side, Side]
    scaled: tuple[Scaled, Scaled]


def scaled_alike(before: Snapshot, after: Snapshot) -> Alike:
    """Return both snapshots in a step where both have steps, else in a second; both have lanes."""
    unit = common_unit(before.lanes, after.lanes)
    old, new = (side(lanes_with_unit(one.lanes, unit=unit), unit=unit) for one in (before, after))
    return Alike(
        unit=unit,
        sides=(old, new),
        scaled=(
            Scaled(before, Scale(before.lanes, unit=old.budget)),
            Scaled(after, Scale(after.lanes, unit=new.budget)),
        ),
    )
