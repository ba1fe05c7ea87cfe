"""The known answers of a simulated capture, by a plain event sweep over its operations."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING

from sample_profiles.blame import Blame
from sample_profiles.trace import Cause, Op, OpKind, Process, Range

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

MIN_GAP_NS = 100_000


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowTruth:
    """A half-open stretch of time."""

    start_ns: int
    end_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class PartsTruth:
    """Where a window's time went; the parts add up to the window."""

    compute_only_ns: int
    hidden_ns: int
    exposed_ns: int
    copy_only_ns: int
    graph_only_ns: int
    idle_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class GapsTruth:
    """Idle intervals of at least `min_gap_ns`."""

    min_gap_ns: int
    count: int
    total_ns: int
    longest_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceTruth:
    """What a cause stands on.

    Attributes:
        shares_ns: the hole's time by cause, along the critical path of what ends it; they add up to the hole.
        late_rank: the rank that arrived last where this one waited in a collective; None where it did not.
    """

    shares_ns: dict[Cause, int]
    late_rank: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class HoleTruth:
    """A stretch without compute and graph; `cause` is the one with the largest share."""

    start_ns: int
    end_ns: int
    idle_ns: int
    exposed_ns: int
    copy_only_ns: int
    cause: Cause
    evidence: EvidenceTruth


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTruth:
    """One training step as the GPU saw it."""

    name: str
    number: int
    window: WindowTruth
    parts: PartsTruth


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneTruth:
    """One rank's GPU."""

    pid: int
    device: int
    rank: int
    window: WindowTruth
    parts: PartsTruth
    compute_ns: int
    communication_ns: int
    busy_ns: int
    overlap_ratio: float | None
    gaps: GapsTruth
    holes: tuple[HoleTruth, ...]
    steps: tuple[StepTruth, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Truth:
    """The answers for one profile."""

    state: str
    seed: int
    lanes: tuple[LaneTruth, ...]

    def write(self, path: Path) -> None:
        """Write compact JSON, one lane a line."""
        head = json.dumps({"state": self.state, "seed": self.seed})[:-1]
        lanes = ",\n".join(json.dumps(asdict(lane), separators=(",", ":")) for lane in self.lanes)
        path.write_text(f'{head}, "lanes": [\n{lanes}\n]}}\n', encoding="utf-8")


@dataclass(frozen=True, slots=True)
class _Segment:
    """A stretch in which the set of running kinds does not change."""

    start: int
    end: int
    running: frozenset[OpKind]

    @property
    def part(self) -> str:
        is_computing = OpKind.COMPUTE in self.running
        if OpKind.COMMUNICATION in self.running:
            return "hidden_ns" if is_computing else "exposed_ns"
        if is_computing:
            return "compute_only_ns"
        if OpKind.GRAPH in self.running:
            return "graph_only_ns"
        return "copy_only_ns" if OpKind.COPY in self.running else "idle_ns"


def tell(processes: Sequence[Process], *, state: str, seed: int) -> Truth:
    """Return the truth about a simulated capture."""
    return Truth(state=state, seed=seed, lanes=tuple(_lane(process) for process in processes))


def _lane(process: Process) -> LaneTruth:
    window = WindowTruth(start_ns=min(op.span[0] for op in process.ops), end_ns=max(op.span[1] for op in process.ops))
    segments = list(_sweep(process.ops, window))
    parts = _parts(segments)
    communication = parts.hidden_ns + parts.exposed_ns
    has_graphs = any(op.kind is OpKind.GRAPH for op in process.ops)
    return LaneTruth(
        pid=process.pid,
        device=process.device,
        rank=process.rank,
        window=window,
        parts=parts,
        compute_ns=parts.compute_only_ns + parts.hidden_ns,
        communication_ns=communication,
        busy_ns=window.end_ns - window.start_ns - parts.idle_ns,
        overlap_ratio=parts.hidden_ns / communication if communication and not has_graphs else None,
        gaps=_gaps(segments),
        holes=tuple(_hole(process, run) for run in _blanks(segments, free_of=(OpKind.COMPUTE, OpKind.GRAPH))),
        steps=tuple(_steps(process)),
    )


def _sweep(ops: Sequence[Op], window: WindowTruth) -> Iterator[_Segment]:
    """Yield the segments of `window` in order; what crosses its edge is clipped."""
    events: list[tuple[int, OpKind, int]] = []
    for op in ops:
        start, end = max(op.span[0], window.start_ns), min(op.span[1], window.end_ns)
        if start < end:
            events += [(start, op.kind, 1), (end, op.kind, -1)]
    running: Counter[OpKind] = Counter()
    before = window.start_ns
    for time, kind, change in sorted(events):
        if time > before:
            yield _Segment(before, time, frozenset(k for k, n in running.items() if n))
            before = time
        running[kind] += change
    if window.end_ns > before:
        yield _Segment(before, window.end_ns, frozenset())


def _parts(segments: Sequence[_Segment]) -> PartsTruth:
    totals = dict.fromkeys((field.name for field in fields(PartsTruth)), 0)
    for segment in segments:
        totals[segment.part] += segment.end - segment.start
    return PartsTruth(**totals)


def _blanks(segments: Sequence[_Segment], *, free_of: Sequence[OpKind]) -> list[list[_Segment]]:
    """Return the maximal runs of segments in which none of the kinds runs, if they last `MIN_GAP_NS` or longer."""
    runs: list[list[_Segment]] = [[]]
    for segment in segments:
        if segment.running.isdisjoint(free_of):
            runs[-1].append(segment)
        else:
            runs.append([])
    return [run for run in runs if run and run[-1].end - run[0].start >= MIN_GAP_NS]


def _gaps(segments: Sequence[_Segment]) -> GapsTruth:
    lengths = [run[-1].end - run[0].start for run in _blanks(segments, free_of=tuple(OpKind))]
    return GapsTruth(
        min_gap_ns=MIN_GAP_NS, count=len(lengths), total_ns=sum(lengths), longest_ns=max(lengths, default=0)
    )


def _hole(process: Process, run: Sequence[_Segment]) -> HoleTruth:
    start, end = run[0].start, run[-1].end
    parts = _parts(run)
    blame = Blame(process, floor=start, end=end)
    ended_by = [op for op in process.ops if op.kind in (OpKind.COMPUTE, OpKind.GRAPH) and op.span[0] == end]
    if ended_by:
        blame.start_of(ended_by[0])
    else:
        blame.end_of(max(process.ops, key=lambda op: op.span[1]))
    return HoleTruth(
        start_ns=start,
        end_ns=end,
        idle_ns=parts.idle_ns,
        exposed_ns=parts.exposed_ns,
        copy_only_ns=parts.copy_only_ns,
        cause=blame.main_cause(),
        evidence=EvidenceTruth(shares_ns=blame.shares, late_rank=blame.late_rank),
    )


def _steps(process: Process) -> Iterator[StepTruth]:
    launched = [[op for op in process.ops if step.start <= op.call.start < step.end] for step in process.steps]
    starts = [min(op.span[0] for op in ops) for ops in launched]
    edges = [*starts, max(op.span[1] for op in launched[-1])]
    for step, (start, end) in zip(process.steps, pairwise(edges), strict=True):
        window = WindowTruth(start_ns=start, end_ns=end)
        parts = _parts(list(_sweep(process.ops, window)))
        yield StepTruth(name=step.name, number=_number(step), window=window, parts=parts)


def _number(step: Range) -> int:
    return int(step.name.removeprefix("step "))
