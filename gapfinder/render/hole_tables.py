"""The tables about holes and about kernel names to check that every report shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.words import lane_name
from gapfinder.render.evidence import evidence_words
from gapfinder.render.table import Column, Kind, Table, left_out
from gapfinder.render.words import cause_words, worst_holes
from gapfinder.units import format_duration, format_share, format_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.model import Analysis, Hole, Lane


def hole_table(analysis: Analysis, *, limit: int) -> Table | None:
    """Return the longest holes over all lanes that could be measured; None where no lane could."""
    measured = list(analysis.measured_lanes().values())
    if not measured:
        return None
    holes = worst_holes(analysis)[:limit]
    count = sum(lane.holes.count for lane in measured)
    min_gap = format_duration(measured[0].holes.min_gap_ns)
    caption = f"A hole is {min_gap} or more without compute and graphs.{_causes(measured)}"
    return Table(
        title="Holes",
        caption=caption + left_out(len(holes), count, "hole", "the longest"),
        columns=(
            Column("lane", Kind.WORD),
            Column("start"),
            Column("length"),
            Column("idle"),
            Column("exposed"),
            Column("copy only"),
            Column("cause", Kind.WORD),
            Column("what was seen", Kind.NOTE),
            Column("last before", Kind.NAME),
            Column("first after", Kind.NAME),
        ),
        rows=tuple(_hole_row(analysis, index, hole) for index, hole in holes),
    )


def _hole_row(analysis: Analysis, index: int, hole: Hole) -> tuple[str, ...]:
    lengths = (hole.duration_ns, hole.idle_ns, hole.exposed_ns, hole.copy_only_ns)
    return (
        lane_name(analysis, index),
        format_time(hole.start_ns),
        *(format_duration(ns) for ns in lengths),
        cause_words(hole.cause),
        evidence_words(analysis, hole),
        "start of window" if hole.before is None else hole.before,
        "end of window" if hole.after is None else hole.after,
    )


def _causes(lanes: Sequence[Lane]) -> str:
    """Return how all hole time divides among the causes, as a sentence."""
    total = sum(lane.holes.total_ns for lane in lanes)
    if not total:
        return " There is none."
    sums: dict[str, int] = {}
    for lane in lanes:
        for cause, ns in lane.causes.items():
            sums[cause] = sums.get(cause, 0) + ns
    largest = sorted(sums.items(), key=lambda item: (-item[1], item[0]))
    shares = ", ".join(f"{cause_words(cause)} {format_share(ns / total)}" for cause, ns in largest if ns)
    window = sum(lane.budget.window_ns for lane in lanes)
    return f" Together they are {format_share(total / window)} of the time; by cause: {shares}."


def name_table(analysis: Analysis, *, limit: int) -> Table | None:
    """Return the kernel names whose kind a reader should check; None where there are none."""
    names = sorted(analysis.decided_names, key=lambda decided: (-decided.share, decided.name))
    if not names:
        return None
    return Table(
        title="Kernels counted by name",
        caption="What a pattern or a word in the name decided, as a share of all kernel time."
        + left_out(min(limit, len(names)), len(names), "name", "the largest"),
        columns=(
            Column("share"),
            Column("counted as", Kind.WORD),
            Column("because", Kind.LABEL),
            Column("kernel", Kind.NAME),
        ),
        rows=tuple(
            (
                format_share(decided.share),
                "communication" if decided.is_communication else "compute",
                "it only looks like communication" if decided.pattern is None else f"pattern {decided.pattern}",
                decided.name,
            )
            for decided in names[:limit]
        ),
    )
