"""How every report calls things: names, causes, files; and which lane and which holes come first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gapfinder.analysis.classify import function_name
from gapfinder.findings.words import lane_names, listed

if TYPE_CHECKING:
    from gapfinder.budget import Budget
    from gapfinder.model import Analysis, Hole

UNKNOWN = "unknown"
"""What a table cell says where a sentence says "not measured: reason"."""

UNKNOWN_GPU = "GPU of unknown name"
ELLIPSIS = "…"
_COMMIT_SHOWN = 12
NO_BREAK = "\N{NO-BREAK SPACE}"
_TIGHT = re.compile(r"(?<=\d) (?=(?:%|[nµm]?s)(?!\w))|(?<=\brank) (?=\d)|(?<=\blane) (?=\d)")


def unbroken(text: str) -> str:
    """Return a paragraph in which no line can break between a number and its unit or its lane."""
    return _TIGHT.sub(NO_BREAK, text)


def short_commit(commit: str | None) -> str | None:
    """Return as much of a commit as tells it from others."""
    return None if commit is None else commit[:_COMMIT_SHOWN]


def short_name(name: str) -> str:
    """Return an operation's name without template arguments and parameters; what is no C++ signature stays whole."""
    return function_name(name) if "(" in name or "<" in name else name


def cause_words(cause: str) -> str:
    """Return a cause of the closed list as words."""
    return cause.replace("_", " ")


def source_words(analysis: Analysis) -> str:
    """Return the files, the versions that wrote them, and the GPUs."""
    source = analysis.source
    words = [listed(source.files)]
    if source.nsys_version is not None:
        words.append(f"nsys {source.nsys_version}")
    if source.export_schema_version is not None:
        words.append(f"export schema {source.export_schema_version}")
    return ", ".join(words + _gpu_names(analysis))


def _gpu_names(analysis: Analysis) -> list[str]:
    """Return each GPU model, with its lanes where there are several models."""
    lanes: dict[str, list[int]] = {}
    for index, lane in enumerate(analysis.lanes):
        lanes.setdefault(lane.gpu_name or UNKNOWN_GPU, []).append(index)
    if len(lanes) == 1:
        return list(lanes)
    return [f"{name} ({lane_names(analysis, indices)})" for name, indices in lanes.items()]


def computing(budget: Budget) -> float:
    """Return the share of the window in which compute or a graph ran."""
    return (budget.compute_ns + budget.graph_only_ns) / budget.window_ns


def worst_lane(analysis: Analysis) -> int:
    """Return the lane of the lowest overlap ratio; where no lane has a ratio, the one that computes least."""
    if analysis.total is not None and analysis.total.worst_lane is not None:
        return analysis.total.worst_lane
    return min(range(len(analysis.lanes)), key=lambda index: computing(analysis.lanes[index].budget))


def worst_holes(analysis: Analysis) -> list[tuple[int, Hole]]:
    """Return (lane, hole) of the longest holes, longest first; none from lanes whose idle time is unknown.

    A lane keeps only its longest holes in full. What is shorter than the shortest one kept by a lane that has more is
    left out: it may be shorter than a hole that was not kept.
    """
    measured = [(index, lane.holes) for index, lane in analysis.measured_lanes().items()]
    cut = [min(hole.duration_ns for hole in holes.top) for _, holes in measured if 0 < len(holes.top) < holes.count]
    shortest = max(cut, default=0)
    holes = [(index, hole) for index, holes in measured for hole in holes.top if hole.duration_ns >= shortest]
    return sorted(holes, key=lambda item: (-item[1].duration_ns, item[1].start_ns, item[0]))
