"""The steps of one profile: every lane in every step, how their lengths are distributed, and each lane's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import Input, Output, html

from dashboards import ids
from dashboards.components.graphs import graph
from dashboards.components.links import clicked, stretch_address
from dashboards.components.notices import empty, text
from dashboards.components.tables import framed, section
from dashboards.components.tabs import tabs
from dashboards.figures.steps import Lengths, heat_figure, length_figure
from dashboards.pages.step_grids import Value, host_grid, lane_grid
from gapfinder.findings.words import lane_name, process_name
from gapfinder.render.host_tables import critical_table
from gapfinder.render.lane_tables import lane_steps, shown_lanes, shown_steps, step_table
from gapfinder.render.process_tables import process_tables
from gapfinder.render.spread_table import spread_table
from gapfinder.render.table import left_out
from gapfinder.render.words import worst_lane

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dash import Dash
    from dash.development.base_component import Component

    from dashboards.components.palette import Theme
    from dashboards.data.opening import OpenProfile
    from dashboards.figures.steps import Grid
    from dashboards.ids import Asked
    from dashboards.view import View
    from gapfinder.model import Analysis

_LANES, _STEPS, _ROWS = 64, 200, 100
_HEAT = "steps-heat"


def layout(view: View, asked: Asked, *, theme: Theme) -> Component:
    """Return the page; the query chooses the number (`show`) and the lane (`lane`)."""
    profile = view.profiles.get(asked.profile or "")
    analysis = profile.analysis
    if any(lane.steps for lane in analysis.lanes):
        content = _of_lanes(profile, asked, theme=theme)
    elif any(process.steps for process in analysis.processes):
        content = _of_processes(analysis, theme=theme)
    else:
        content = iter((_without(analysis),))
    return html.Article([html.H1("Steps"), html.P(text(profile.stored.name), className="source"), *content])


def register(app: Dash, view: View) -> None:
    """Lead from a cell of the heat map into the timeline."""

    @app.callback(
        Output(ids.LOCATION, "href", allow_duplicate=True),
        Input(_HEAT, "clickData"),
        prevent_initial_call=True,
    )
    def follow(click: object) -> object:
        return clicked(click)


def _of_lanes(profile: OpenProfile, asked: Asked, *, theme: Theme) -> Iterator[Component]:
    analysis = profile.analysis
    values = [value for value in Value if value is not Value.WAIT or analysis.lane_steps is not None]
    chosen = next((value for value in values if value.value == asked.query.get("show")), Value.STEP_TIME)
    lane = _chosen_lane(analysis, asked.number("lane"))
    grid, of = lane_grid(profile, chosen, lanes=shown_lanes(analysis, limit=_LANES), most_steps=_STEPS)
    choices = [(value.words, asked.address(show=value.value, lane=lane), value is chosen) for value in values]
    yield html.Section(
        [html.H2("Every lane in every step"), tabs("What is shown", choices), *_heat(grid, of, theme=theme)]
    )
    yield _lengths(_lane_lengths(analysis), theme=theme)
    for table in (
        step_table(analysis, limit=_LANES),
        spread_table(analysis, limit=_ROWS),
        critical_table(analysis, limit=_ROWS),
    ):
        yield from filter(None, [section(table)])
    yield _own_steps(profile, lane, asked, show=chosen)


def _heat(grid: Grid, of: int, *, theme: Theme) -> Iterator[Component]:
    """Yield the heat map; `of` is how many steps there are."""
    has_links = any(link for row in grid.links for link in row)
    caption = "A click leads to the step on the timeline. " if has_links else ""
    caption += "What has no colour was not measured, or is no complete step."
    caption += left_out(len(grid.numbers), of, "step", "the longest")
    yield html.P(text(caption), className="caption")
    label = f"{grid.title} of each lane in each step, as colours; the tables below have the numbers."
    yield graph(heat_figure(grid, theme=theme), name=_HEAT, label=label)


def _lengths(lengths: list[Lengths], *, theme: Theme) -> Component:
    return html.Section(
        [
            html.H2("How long steps take"),
            html.P("Each point is a step; the axis does not begin at 0.", className="caption"),
            graph(
                length_figure(lengths, theme=theme),
                name="steps-lengths",
                label="The lengths of the steps, one row of points for each lane, with p50, mean and p99.",
            ),
        ]
    )


def _lane_lengths(analysis: Analysis) -> list[Lengths]:
    return [
        Lengths(
            label=lane_name(analysis, index),
            each_ns=tuple(step.window.duration_ns for step in steps.items),
            p50_ns=steps.p50_ns,
            mean_ns=steps.mean_ns,
            p99_ns=steps.p99_ns,
        )
        for index in shown_lanes(analysis, limit=_LANES)
        if (steps := analysis.lanes[index].steps)
    ]


def _chosen_lane(analysis: Analysis, asked: int | None) -> int:
    """Return the lane whose steps are listed: the one asked for, else the worst one that has steps."""
    candidates = [index for index, lane in enumerate(analysis.lanes) if lane.steps]
    if asked in candidates and asked is not None:
        return asked
    worst = worst_lane(analysis)
    return worst if worst in candidates else candidates[0]


def _own_steps(profile: OpenProfile, lane: int, asked: Asked, *, show: Value) -> Component:
    """Return one lane's steps, each with its link."""
    analysis = profile.analysis
    table = lane_steps(analysis, lane, limit=_ROWS)
    links = [
        stretch_address(profile, lane=lane, start_ns=step.window.start_ns, end_ns=step.window.end_ns)
        for step in shown_steps(analysis.lanes[lane], limit=_ROWS)
    ]
    choices = [
        (lane_name(analysis, index), asked.address(show=show.value, lane=index), index == lane)
        for index, one in enumerate(analysis.lanes)
        if one.steps
    ]
    return html.Section([html.H2(text(table.title)), tabs("Lane", choices[:_LANES]), framed(table, links=links)])


def _of_processes(analysis: Analysis, *, theme: Theme) -> Iterator[Component]:
    """Yield the steps as the host saw them, where no GPU work was captured."""
    yield empty(
        "Steps on the host",
        "No step with GPU work was captured, so these are the training processes' own ranges: there is no overlap, "
        "wait or idle time, and nothing to see on a lane of the timeline.",
    )
    grid, of = host_grid(analysis, most_steps=_STEPS)
    yield html.Section([html.H2("Every process in every step"), *_heat(grid, of, theme=theme)])
    lengths = [
        Lengths(
            label=process_name(analysis, index),
            each_ns=tuple(step.duration_ns for step in steps.items),
            p50_ns=steps.p50_ns,
            mean_ns=steps.mean_ns,
            p99_ns=steps.p99_ns,
        )
        for index, process in enumerate(analysis.processes)
        if (steps := process.steps)
    ]
    yield _lengths(lengths, theme=theme)
    for table in process_tables(analysis, limit=_LANES, steps=_ROWS):
        yield from filter(None, [section(table)])


def _without(analysis: Analysis) -> Component:
    """Return why there are no steps, and what marks them."""
    reasons = [lane.steps_reason for lane in analysis.lanes] + [one.steps_reason for one in analysis.processes]
    return empty(
        "No steps were found",
        *dict.fromkeys(filter(None, reasons)),
        "gapfinder run marks the steps of a PyTorch training by itself; elsewhere an NVTX range around each step, such "
        "as “step 12”, does it. Ranges of another name are found with gapfinder analyze --step-pattern.",
    )
