"""Collectives: what was waited and what was transferred, and bandwidth by size against the ideal."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboards.components.palette import COMMUNICATION, COMPUTE, COPIES, GRAPHS, HIDDEN, QUIET, cause_paint
from dashboards.figures.style import LEGEND_ABOVE, duration_ticks, escaped, figure, marker
from gapfinder.explanations import Cause
from gapfinder.units import format_bandwidth, format_bytes, format_count, format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dashboards.components.palette import Theme

_ROW, _AXIS, _LOWEST, _HIGH = 30, 70, 130, 320
_MANY_POWERS = 3
_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross")
_PAINTS = (COMPUTE, COMMUNICATION, HIDDEN, COPIES, GRAPHS, QUIET)


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """The time of one operation over all lanes; wait and transfer are None where there was nothing to compare with."""

    label: str
    wait_ns: int | None
    transfer_ns: int | None


def split_figure(splits: Sequence[Split], *, theme: Theme) -> go.Figure:
    """Return one bar for each operation that could be split: waiting, then transfer."""
    known = [one for one in splits if one.wait_ns is not None and one.transfer_ns is not None]
    made = figure(theme=theme, height=max(_AXIS + _ROW * len(known), _LOWEST))
    for name, cause, times in (
        ("wait", Cause.EXPOSED_WAIT, [one.wait_ns or 0 for one in known]),
        ("transfer", Cause.EXPOSED_TRANSFER, [one.transfer_ns or 0 for one in known]),
    ):
        made.add_trace(
            go.Bar(
                orientation="h",
                name=name,
                y=list(range(len(known))),
                x=times,
                text=[
                    escaped(f"{one.label}: {name} {format_duration(ns)}, {format_share(_share(one, ns))}")
                    for one, ns in zip(known, times, strict=True)
                ],
                textposition="none",
                hovertemplate="%{text}<extra></extra>",
                marker=marker(cause_paint(cause), theme=theme),
            )
        )
    most = max((_total(one) for one in known), default=1)
    labels = [escaped(one.label) for one in known]
    made.update_yaxes(tickvals=list(range(len(known))), ticktext=labels, autorange="reversed")
    made.update_xaxes(range=[0, most * 1.02], **duration_ticks(most))
    made.update_layout(barmode="stack", showlegend=True, legend=LEGEND_ABOVE, margin_t=30)
    return made


def _total(one: Split) -> int:
    return (one.wait_ns or 0) + (one.transfer_ns or 0)


def _share(one: Split, ns: int) -> float:
    return ns / _total(one) if _total(one) else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Speed:
    """Bus bandwidth of an operation's collectives of one size, as a median, in bytes per second."""

    operation: str
    size_bytes: int
    bandwidth: float
    count: int


def speed_figure(speeds: Sequence[Speed], *, ideal: float | None, theme: Theme) -> go.Figure:
    """Return bandwidth over size, both in powers of ten; `ideal` is what the link carries, None where not known."""
    made = figure(theme=theme, height=_HIGH)
    for place, operation in enumerate(dict.fromkeys(one.operation for one in speeds)):
        mine = [one for one in speeds if one.operation == operation]
        made.add_trace(
            go.Scatter(
                mode="markers",
                name=escaped(operation),
                x=[one.size_bytes for one in mine],
                y=[one.bandwidth for one in mine],
                text=[
                    escaped(
                        f"{operation}, {format_bytes(one.size_bytes)}: {format_bandwidth(one.bandwidth)} "
                        f"(median of {format_count(one.count)})"
                    )
                    for one in mine
                ],
                hovertemplate="%{text}<extra></extra>",
                marker={
                    "color": _PAINTS[place % len(_PAINTS)].color(theme),
                    "symbol": f"{_SYMBOLS[place % len(_SYMBOLS)]}-open",  # what lies below is seen
                    "size": 11,
                    "line": {"width": 2.5},
                },
            )
        )
    if ideal is not None:
        line = {"color": QUIET.color(theme), "dash": "dash", "width": 1.5}
        made.add_hline(y=ideal, line=line, annotation_text=f"the link: {format_bandwidth(ideal)}")
    made.update_xaxes(type="log", title_text="size", **_powers([one.size_bytes for one in speeds], format_bytes))
    rates = [one.bandwidth for one in speeds] + ([ideal] if ideal else [])
    made.update_yaxes(type="log", title_text="bus bandwidth", showgrid=True, **_powers(rates, format_bandwidth))
    made.update_layout(showlegend=True, legend=LEGEND_ABOVE, margin_t=36)
    return made


def _powers(numbers: Sequence[float], words: Callable[[int], str]) -> dict[str, list[int] | list[float] | list[str]]:
    """Return ticks at powers of ten around these numbers, with 2 and 5 of them where that makes few, and the range."""
    known = [number for number in numbers if number > 0] or [1]
    low, high = log10(min(known)), log10(max(known))
    factors = (1, 2, 5) if high - low < _MANY_POWERS else (1,)
    ticks = [factor * 10**power for power in range(floor(low), ceil(high) + 1) for factor in factors]
    least = max(log10(tick) for tick in ticks if log10(tick) <= low)
    most = min(log10(tick) for tick in [*ticks, 10 ** (ceil(high) + 1)] if log10(tick) >= high)
    margin = max((most - least) / 20, 0.05)
    return {
        "tickvals": ticks,
        "ticktext": [words(tick) for tick in ticks],
        "range": [least - margin, most + margin],
    }
