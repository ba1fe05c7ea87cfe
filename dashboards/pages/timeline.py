"""The timeline of one profile, which JavaScript draws, and beside it what is known of what was chosen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from dash import Input, Output, dcc, html

from dashboards import ids
from dashboards.components.notices import empty, text
from dashboards.components.palette import palette_data
from dashboards.components.spoken import labelled
from dashboards.components.tables import section
from dashboards.ids import Page, address
from dashboards.pages.timeline_panel import nothing_chosen, panel
from gapfinder.errors import GapfinderError
from gapfinder.render.process_tables import process_tables
from gapfinder.render.verdict import notes

if TYPE_CHECKING:
    from dash import Dash
    from dash.development.base_component import Component

    from dashboards.components.palette import Theme
    from dashboards.data.opening import OpenProfile
    from dashboards.ids import Asked
    from dashboards.view import View

_PROCESSES, _STEPS = 64, 10


def layout(view: View, asked: Asked, *, theme: Theme) -> Component:
    """Return the page; InputError where its profile cannot be shown. What is in view is in the address."""
    profile = view.profiles.get(asked.profile or "")
    title = html.H1(["Timeline ", html.Small(text(profile.stored.name))])
    if not profile.trace.lanes:
        return html.Article([title, *_without_lanes(profile)])
    whole = address(Page.TIMELINE, profile=profile.stored.id)
    canvas = html.Section(id=ids.TIMELINE, className="timeline")
    read_by_javascript = {
        "data-profile": profile.stored.id,
        "data-base": whole.removesuffix(f"/{Page.TIMELINE}"),
        "data-palette": json.dumps(palette_data()),
    }
    for name, value in read_by_javascript.items():
        setattr(canvas, name, value)
    beside = html.Aside(nothing_chosen(), id=ids.TIMELINE_PANEL, className="timeline-panel", tabIndex="-1")
    return html.Article(
        [
            title,
            dcc.Store(id=ids.TIMELINE_SELECTION),
            html.Div(
                [labelled(canvas, "Timeline"), labelled(beside, "Details of what is chosen")], className="timeline-page"
            ),
        ]
    )


def register(app: Dash, view: View) -> None:
    """Let a choice on the canvas show its details."""

    @app.callback(
        Output(ids.TIMELINE_PANEL, "children"), Input(ids.TIMELINE_SELECTION, "data"), prevent_initial_call=True
    )
    def show(chosen: dict[str, object] | None) -> list[Component]:
        if chosen is None:
            return nothing_chosen()
        try:
            return panel(view.profiles.get(str(chosen.get("profile"))), chosen)
        except GapfinderError as error:
            return [html.P(text(str(error)), role="alert")]


def _without_lanes(profile: OpenProfile) -> list[Component]:
    """Return why there is nothing to draw, and what the host did all the same."""
    told = [
        empty(
            "No GPU work was captured",
            *notes(profile.analysis),
            "What the training processes did on the host is below, where it was captured.",
        )
    ]
    tables = process_tables(profile.analysis, limit=_PROCESSES, steps=_STEPS)
    return [*told, *filter(None, (section(table) for table in tables))]
