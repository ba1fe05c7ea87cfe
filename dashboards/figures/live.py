"""Step times of a watched training over time: each rank's, what is usual, what was disturbed, and the captures."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

import plotly.graph_objects as go
from dash import Patch

from dashboards.components.palette import COMMUNICATION, COMPUTE, COPIES, GRAPHS, HIDDEN, INK, QUIET, SEVERITIES
from dashboards.figures.style import LEGEND_ABOVE, duration_ticks, escaped, figure
from gapfinder.explanations import Severity
from gapfinder.units import format_count, format_duration, format_moment
from gapfinder.watch.model import CaptureState
from gapfinder.watch.thinning import thin_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dashboards.components.palette import Theme
    from gapfinder.watch.following import WatchRecord
    from gapfinder.watch.model import CaptureRecord, TimesRow

MOST_RANKS, MOST_CAPTURES = 16, 200
_MOST_POINTS, _MOST_OF_A_RANK = 2_400, 600
_HIGH = 420
_PAINTS = (COMPUTE, COMMUNICATION, HIDDEN, GRAPHS, COPIES)
_DASHES = ("solid", "dash", "dot", "dashdot")
_TALLEST = 3
"""What is so many times the median or usual step, such as a first one that compiles, is cut and marked at the top."""

_GAP = 4
_SHORTEST_GAP_S = 30.0
_LATEST_S = 253_402_300_799  # the end of the year 9999, the last that a browser's axis can say


@dataclass(frozen=True, kw_only=True, slots=True)
class Course:
    """What the figure shows.

    Attributes:
        ranks: the rows of each rank that is drawn, oldest first.
        usual_ns: None while it is not known.
        captures: those that started in the time that is shown.
        links: where a click on a capture's flag leads, by its number.
        view: what the reader looks at; while it stays, so do the ranks that were switched off.
    """

    ranks: Mapping[int, Sequence[TimesRow]]
    usual_ns: int | None
    captures: Sequence[CaptureRecord]
    links: Mapping[int, str]
    view: str


def course_of(record: WatchRecord, *, last_s: float | None, links: Mapping[int, str], view: str) -> Course:
    """Return the course over the last `last_s` seconds, over all where None; of many ranks those slowest at the end."""
    sound = [row for row in record.times if row.at <= _LATEST_S]
    newest = max((row.at for row in sound), default=0.0)
    since = 0.0 if last_s is None else newest - last_s
    ranks: dict[int, list[TimesRow]] = {}
    for row in sound:
        if row.at >= since:
            ranks.setdefault(row.rank, []).append(row)
    kept = sorted(sorted(ranks, key=lambda rank: (-ranks[rank][-1].p50_ns, rank))[:MOST_RANKS])
    captures = () if record.state is None else record.state.captures[-MOST_CAPTURES:]
    most = min(_MOST_POINTS // max(len(kept), 1), _MOST_OF_A_RANK)
    return Course(
        ranks={rank: thin_out(ranks[rank], most=most) for rank in kept},
        usual_ns=None if record.state is None else record.state.usual_ns,
        captures=[one for one in captures if since <= one.started_at <= _LATEST_S],
        links=links,
        view=view,
    )


def course_figure(course: Course, *, theme: Theme) -> go.Figure:
    """Return each rank's p50 with its p99 thin; a click on a capture's flag tells its link as `customdata`."""
    made = figure(theme=theme, height=_HIGH)
    rows = [row for ranked in course.ranks.values() for row in ranked]
    least_ns, most_ns = _range(rows, course.usual_ns)
    for place, (rank, ranked) in enumerate(course.ranks.items()):
        made.add_traces(list(_lines(rank, ranked, place=place, theme=theme)))
    moments = [row.at for row in rows] + [capture.started_at for capture in course.captures]
    if course.usual_ns is not None and moments:
        made.add_trace(_usual(course.usual_ns, between=(min(moments), max(moments)), theme=theme))
    made.add_trace(_cut([row for row in rows if row.p99_ns > most_ns], at_ns=most_ns, theme=theme))
    made.add_trace(_flags(course, at_ns=most_ns, theme=theme))
    shapes = [*_shades(course, theme=theme), *_poles(course, theme=theme)]
    _add_axes(made, (least_ns, most_ns))
    made.update_layout(
        shapes=shapes, uirevision=course.view, showlegend=True, legend=LEGEND_ABOVE | {"y": 1.06}, margin_t=64
    )
    made.update_layout(dragmode="zoom")
    return made


def course_change(newer: go.Figure) -> Patch:
    """Return what a figure that is looked at becomes: all but its axis of time, so that zoom stays.

    Dash writes a reader's zoom into the layout that it holds, so Plotly's uirevision alone would not keep it.
    """
    change, made = Patch(), newer.to_plotly_json()
    change["data"] = made["data"]
    change["layout"]["shapes"] = made["layout"].get("shapes", [])
    change["layout"]["yaxis"] = made["layout"]["yaxis"]
    return change


def _range(rows: Sequence[TimesRow], usual_ns: int | None) -> tuple[int, int]:
    """Return the least and the most that the axis shows: all of it, unless that is far above what is common."""
    if not rows:
        return 0, 2 * (usual_ns or 1)
    common = round(median(row.p50_ns for row in rows))
    least = min(*(row.p50_ns for row in rows), usual_ns or common)
    most = max(*(row.p99_ns for row in rows), usual_ns or common)
    most = min(most, _TALLEST * max(common, usual_ns or 0, 1))
    margin = max((most - least) // 12, most // 50, 1)
    return max(least - margin, 0), most + margin


def _lines(rank: int, rows: Sequence[TimesRow], *, place: int, theme: Theme) -> Iterator[go.Scatter]:
    """Yield a rank's p50, which tells everything under the pointer, and its p99."""
    color = _PAINTS[place % len(_PAINTS)].color(theme)
    dash = _DASHES[place // len(_PAINTS) % len(_DASHES)]
    broken = list(_with_gaps(rows))
    moments = [None if row is None else _axis(row.at) for row in broken]
    name = f"rank {rank}"
    yield go.Scatter(
        mode="lines",
        name=name,
        legendgroup=name,
        x=moments,
        y=[None if row is None else row.p50_ns for row in broken],
        text=["" if row is None else _words(row) for row in broken],
        hovertemplate="%{text}<extra></extra>",
        connectgaps=False,
        line={"color": color, "width": 2, "dash": dash},
    )
    yield go.Scatter(
        mode="lines",
        name=f"{name}, p99",
        legendgroup=name,
        x=moments,
        y=[None if row is None else row.p99_ns for row in broken],
        hoverinfo="skip",
        showlegend=False,
        connectgaps=False,
        opacity=0.55,
        line={"color": color, "width": 1},
    )


def _with_gaps(rows: Sequence[TimesRow]) -> Iterator[TimesRow | None]:
    """Yield the rows, and nothing where far longer passed than usually between two: no line over what is not known."""
    distances = [after.at - before.at for before, after in pairwise(rows)]
    longest = max(_GAP * median(distances), _SHORTEST_GAP_S) if distances else 0.0
    for row, distance in zip(rows, [0.0, *distances], strict=True):
        if distance > longest:
            yield None
        yield row


def _words(row: TimesRow) -> str:
    times = f"p50 {format_duration(row.p50_ns)}, p99 {format_duration(row.p99_ns)}"
    longest = f"mean {format_duration(row.mean_ns)}, longest {format_duration(row.longest_ns)}"
    disturbed = "<br>disturbed by a capture" if row.is_disturbed else ""
    where = f"rank {row.rank}, {format_count(row.steps, 'step')} up to step {format_count(row.step)}"
    return f"{where}<br>{format_moment(row.at, is_exact=True)}<br>{times}<br>{longest}{disturbed}"


def _usual(usual_ns: int, *, between: tuple[float, float], theme: Theme) -> go.Scatter:
    return go.Scatter(
        mode="lines",
        name="usual",
        x=list(map(_axis, between)),
        y=[usual_ns, usual_ns],
        hoverinfo="skip",
        line={"color": INK.color(theme), "width": 1.5, "dash": "dash"},
    )


def _cut(rows: Sequence[TimesRow], *, at_ns: int, theme: Theme) -> go.Scatter:
    """Return marks at the top for what is higher than the picture."""
    return go.Scatter(
        mode="markers",
        name="higher",
        x=[_axis(row.at) for row in rows],
        y=[at_ns] * len(rows),
        text=list(map(_words, rows)),
        hovertemplate="%{text}<extra></extra>",
        showlegend=bool(rows),
        marker={"symbol": "triangle-up", "size": 9, "color": QUIET.color(theme)},
        cliponaxis=False,
    )


def _flags(course: Course, *, at_ns: int, theme: Theme) -> go.Scatter:
    """Return a flag over each capture, with its number and what asked for it."""
    bad, usual = SEVERITIES[Severity.CRITICAL].color(theme), INK.color(theme)
    return go.Scatter(
        mode="markers+text",
        name="capture",
        x=[_axis(one.started_at) for one in course.captures],
        y=[at_ns] * len(course.captures),
        text=[str(one.number) for one in course.captures],
        textposition="top center",
        textfont={"color": usual, "size": 12},
        customdata=[course.links.get(one.number) for one in course.captures],
        hovertext=[_reason(one) for one in course.captures],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=bool(course.captures),
        marker={
            "symbol": "triangle-down",
            "size": 13,
            "color": [bad if one.state is CaptureState.FAILED else usual for one in course.captures],
        },
        cliponaxis=False,
    )


def _reason(capture: CaptureRecord) -> str:
    when = format_moment(capture.started_at, is_exact=True)
    return f"capture {capture.number}, {capture.state}<br>{when}<br>{escaped(capture.trigger.sentence)}"


def _shades(course: Course, *, theme: Theme) -> Iterator[dict[str, object]]:
    """Yield a shade over each time in which a capture or its analysis was under way."""
    spans: list[tuple[float, float]] = []
    for rows in course.ranks.values():
        for before, row in zip([None, *rows], rows, strict=False):
            if row.is_disturbed:
                spans.append((row.at if before is None else before.at, row.at))
    for start, end in _joined(spans):
        yield {
            "type": "rect",
            "yref": "paper",
            "x0": _axis(start),
            "x1": _axis(end),
            "y0": 0,
            "y1": 1,
            "line": {"width": 0},
            "fillcolor": QUIET.color(theme),
            "opacity": 0.18,
            "layer": "below",
        }


def _joined(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    joined: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return joined


def _poles(course: Course, *, theme: Theme) -> Iterator[dict[str, object]]:
    for one in course.captures:
        place = _axis(one.started_at)
        line = {"color": QUIET.color(theme), "width": 1, "dash": "dot"}
        yield {"type": "line", "yref": "paper", "x0": place, "x1": place, "y0": 0, "y1": 1, "line": line}


def _axis(at: float) -> int:
    """Return a moment as Plotly's axis of dates takes it, in ms."""
    return round(at * 1_000)


def _add_axes(made: go.Figure, span: tuple[int, int]) -> None:
    made.update_xaxes(type="date", title_text="time (UTC)", fixedrange=False, showgrid=False)
    least, most = span
    made.update_yaxes(range=[least, most], showgrid=True, **duration_ticks(most, least_ns=least))
