"""What is beside the timeline: everything that is known of the hole or the operation that was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from dashboards.components.hole_words import collective_rows, hole_place, mark_place, share_rows
from dashboards.components.notices import text
from dashboards.components.palette import cause_paint
from dashboards.data.details import hole_details, operation_details
from dashboards.data.rows import Row
from dashboards.ids import Page, address
from gapfinder.errors import InputError
from gapfinder.findings.words import call_name, lane_name
from gapfinder.render.evidence import evidence_words
from gapfinder.render.words import cause_words
from gapfinder.units import format_duration, format_shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dash.development.base_component import Component

    from dashboards.data.detail_values import (
        HoleDetails,
        Inside,
        Launch,
        NamedOperation,
        OperationDetails,
        SeenCollective,
    )
    from dashboards.data.opening import OpenProfile
    from gapfinder.explanations import Cause

_MARGIN = 0.5
_SHORTEST_MARGIN_NS = 10_000


def nothing_chosen() -> list[Component]:
    """Return what stands there before anything is chosen."""
    return [
        html.H2("Nothing is chosen"),
        html.P(
            ["Click a hole, or press ", html.Kbd("n"), " for the next one and ", html.Kbd("l"), " for the longest."]
        ),
        html.P("Then this place tells why it is there.", className="quiet"),
    ]


def panel(profile: OpenProfile, chosen: Mapping[str, object]) -> list[Component]:
    """Return the details of a hole or an operation; InputError where there is no such one."""
    lane = _number(chosen, "lane")
    if "hole" in chosen:
        return _hole(profile, hole_details(profile, lane=lane, hole=_number(chosen, "hole")))
    row = chosen.get("row")
    if not isinstance(row, str) or row not in set(Row):
        raise InputError("this cannot be chosen: it is in no row of the timeline")
    row = Row(row)
    return _operation(profile, operation_details(profile, lane=lane, row=row, op=_number(chosen, "op")))


def _number(chosen: Mapping[str, object], name: str) -> int:
    value = chosen.get(name)
    if not isinstance(value, int):
        raise InputError(f"this cannot be chosen: its {name} is no number")
    return value


def _hole(profile: OpenProfile, hole: HoleDetails) -> list[Component]:
    analysis = profile.analysis
    seen = "" if hole.measured is None else evidence_words(analysis, hole.measured)
    return [
        html.H2(text(f"{format_duration(hole.duration_ns)} hole")),
        html.P(text(hole_place(analysis, hole)), className="quiet"),
        html.P([_swatch(hole), html.B(text(cause_words(hole.cause)))]),
        *([html.P(text(seen), className="evidence")] if seen else []),
        _buttons(),
        *_table("What ran in it", share_rows(hole), hole.duration_ns),
        *_table("By cause", [(cause_words(one), ns) for one, ns in _largest(hole.shares)], hole.duration_ns),
        *_collective(profile, hole.collective),
        *_neighbours(profile, hole),
        *_nested("NVTX ranges around the launch" if hole.launch else "NVTX ranges around its start", hole.ranges),
        *_meanwhile(f"Host calls meanwhile, thread {hole.thread}", hole.calls, count=hole.calls_count),
        *_meanwhile("Profiler and driver meanwhile", hole.overheads, count=len(hole.overheads)),
    ]


def _operation(profile: OpenProfile, mark: OperationDetails) -> list[Component]:
    return [
        html.H2(text(mark.time.name)),
        html.P(text(format_duration(mark.time.duration_ns))),
        html.P(text(mark_place(profile.analysis, mark)), className="quiet"),
        html.Div([_button("zoom to it", "zoom"), _button("copy link", "copy")], className="timeline-group"),
        *([html.H3("Launch"), _launch(mark.launch)] if mark.launch else []),
        *_collective(profile, mark.collective),
        *_nested("NVTX ranges around it" if mark.launch is None else "NVTX ranges around the launch", mark.ranges),
    ]


def _swatch(hole: HoleDetails) -> Component:
    paint = cause_paint(hole.cause)
    return html.Span(className="timeline-swatch", style={"background": f"light-dark({paint.light}, {paint.dark})"})


def _buttons() -> Component:
    buttons = (("previous", "previous"), ("next", "next"), ("zoom to it", "zoom"), ("copy link", "copy"))
    return html.Div([_button(words, action) for words, action in buttons], className="timeline-group")


def _button(words: str, action: str) -> Component:
    return _acting(html.Button(words, type="button"), action)


def _acting(component: Component, action: str) -> Component:
    """Return a component that does something on the canvas: assets/timeline.js knows the actions."""
    setattr(component, "data-timeline", action)
    return component


def _largest(shares: Mapping[Cause, int]) -> list[tuple[Cause, int]]:
    return sorted(shares.items(), key=lambda item: (-item[1], item[0]))


def _table(title: str, rows: Iterable[tuple[str, int]], total_ns: int) -> list[Component]:
    """Return parts that add up to the whole, which is the last row."""
    lines = [html.Tr([html.Td(text(words)), html.Td(text(format_duration(ns)))]) for words, ns in rows]
    total = html.Tr([html.Td("together"), html.Td(text(format_duration(total_ns)))], className="total")
    return [html.H3(title), html.Table(html.Tbody([*lines, total]))]


def _collective(profile: OpenProfile, seen: SeenCollective | None) -> list[Component]:
    if seen is None:
        return []
    rows = [html.Tr([html.Td(text(words)), html.Td(text(value))]) for words, value in collective_rows(seen)]
    late = []
    if seen.late_lane is not None:
        name = lane_name(profile.analysis, seen.late_lane)
        link = _link(
            profile, f"look at {name}", lane=seen.late_lane, start_ns=seen.start_ns, length_ns=seen.duration_ns
        )
        late = [html.P([text(f"{name} came last: "), link])]
    return [html.H3("The collective"), html.P(text(seen.operation)), html.Table(html.Tbody(rows)), *late]


def _neighbours(profile: OpenProfile, hole: HoleDetails) -> list[Component]:
    parts: list[Component] = []
    for title, one in (("Last before", hole.before), ("First after", hole.after)):
        if one is None:
            parts += [html.H3(title), html.P("the edge of the window")]
        else:
            parts += [html.H3(title), html.P(_operation_link(profile, one, lane=hole.lane))]
    return parts if hole.launch is None else [*parts, _launch(hole.launch)]


def _launch(launch: Launch) -> Component:
    sooner = "before" if launch.delay_ns >= 0 else "after"
    delay = format_duration(abs(launch.delay_ns))
    return html.P(
        text(f"launched by {call_name(launch.call.name)} {delay} {sooner} it began, thread {launch.thread}"),
        className="quiet",
    )


def _operation_link(profile: OpenProfile, one: NamedOperation, *, lane: int) -> Component:
    time = one.time
    return _link(
        profile, time.name, start_ns=time.start_ns, length_ns=time.duration_ns, lane=lane, row=str(one.row), op=one.op
    )


def _link(profile: OpenProfile, words: str, *, start_ns: int, length_ns: int, **chosen: str | int) -> Component:
    """Return a link to something on the timeline, with a little of what is around it; `chosen` is its lane, or it."""
    margin = max(round(_MARGIN * length_ns), _SHORTEST_MARGIN_NS)
    start = max(start_ns - margin, 0)
    end = max(min(start_ns + length_ns + margin, profile.trace.end_ns), start + 1)
    href = address(Page.TIMELINE, profile=profile.stored.id, start=start, end=end, **chosen)
    return _acting(html.A(text(words), href=href), "follow")


def _nested(title: str, names: Sequence[str]) -> list[Component]:
    """Return names, the outermost first, each further in than the one before."""
    items = [html.Li(text(name), style={"marginLeft": f"{depth * 0.6}rem"}) for depth, name in enumerate(names)]
    return [html.H3(title), html.Ol(items, className="nested")] if items else []


def _meanwhile(title: str, events: Sequence[Inside], *, count: int) -> list[Component]:
    rows = [
        html.Tr([html.Td(text(call_name(one.event.name))), html.Td(text(format_duration(one.inside_ns)))])
        for one in events
    ]
    left_out = [html.P(format_shown(len(events), count, "call"), className="quiet")] if len(events) < count else []
    return [html.H3(title), html.Table(html.Tbody(rows)), *left_out] if rows else []
