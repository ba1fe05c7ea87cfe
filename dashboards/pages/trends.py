"""How a metric develops over stored runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dash import html

from dashboards.components.graphs import graph
from dashboards.components.notices import empty, remarks, text
from dashboards.components.tables import framed
from dashboards.components.tabs import tabs
from dashboards.data.recording import profile_ids
from dashboards.figures.trends import trend_figure
from dashboards.ids import Page, address
from dashboards.pages.trend_runs import branches, record_prepared
from gapfinder.compare.history import trend
from gapfinder.compare.metrics import METRICS, find_metric
from gapfinder.render.history import trend_sheet
from gapfinder.render.table import NOTHING, Column, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dash import Dash
    from dash.development.base_component import Component

    from dashboards.components.palette import Theme
    from dashboards.ids import Asked
    from dashboards.pages.trend_runs import Branch
    from dashboards.view import View
    from gapfinder.compare.history import Run
    from gapfinder.render.table import Table

_METRIC = "overlap_ratio"


def layout(view: View, asked: Asked, *, theme: Theme) -> Component:
    """Return the page; the query chooses the metric (`metric`) and which runs (`runs`, a place among the branches)."""
    failed = record_prepared(view)
    places, unreadable = branches(view)
    content = _shown(view, places, asked, theme=theme) if places else iter((_without(),))
    return html.Article([html.H1("Trends"), *content, remarks("Worth knowing", [*failed, *unreadable])])


def register(app: Dash, view: View) -> None:
    """Add nothing: the page has no callbacks."""


def _shown(view: View, places: list[Branch], asked: Asked, *, theme: Theme) -> Iterator[Component]:
    number = asked.number("runs") or 0
    place = places[number] if number < len(places) else places[0]
    metric = find_metric(asked.query.get("metric", _METRIC))
    found = trend(place.file, metric=metric, branch=place.name)
    profiles = profile_ids(place.runs)
    names = {profile.id: profile.name for profile in view.store.profiles()}
    if len(places) > 1:
        yield tabs(
            "Runs",
            [
                (f"{one.name} in {one.file}", asked.address(runs=at, metric=metric.name), one is place)
                for at, one in enumerate(places)
            ],
        )
    else:
        yield html.P(text(f"Runs of {place.name} in {place.file}."), className="source")
    yield tabs(
        "Metric",
        [
            (one.words, asked.address(runs=places.index(place), metric=one.name), one is metric)
            for one in METRICS.values()
        ],
    )
    sheet = trend_sheet(found)
    yield html.P(text(sheet.paragraphs[1]), className="verdict")
    called = {run: names[profile] for run, profile in profiles.items() if profile in names}
    yield graph(
        trend_figure(found, names=called, theme=theme),
        name="trend",
        label=f"{metric.words} of each run, oldest first; the table below has the numbers.",
    )
    links = [
        address(Page.OVERVIEW, profile=profiles[point.run.id]) if point.run.id in called else None
        for point in found.points
    ]
    for table in sheet.tables:
        yield framed(_named(table, place.runs, called), links=links)


def _named(table: Table, found: tuple[Run, ...], called: Mapping[int, str]) -> Table:
    """Return the table with what each run is called in front."""
    names = [called.get(run.id) or run.label or NOTHING for run in found]
    rows = tuple((name, *row) for name, row in zip(names, table.rows, strict=True))
    return replace(table, columns=(Column("profile", Kind.LABEL), *table.columns), rows=rows)


def _without() -> Component:
    return empty(
        "No runs are stored yet",
        "Every profile with GPU work that was prepared here is a run; so is what gapfinder run and gapfinder check "
        "record where they find a history.",
    )
