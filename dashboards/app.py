"""Makes the app: the frame around the pages, and which address shows which page."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dash import ClientsideFunction, Dash, Input, Output, State, html, set_props
from dash.exceptions import PreventUpdate

from dashboards import ids
from dashboards.components.notices import no_page, problem
from dashboards.components.palette import Theme
from dashboards.components.shell import known, navigation, shell
from dashboards.ids import Asked, Page, address, asked_for
from dashboards.pages import collectives, compare, findings, live, overview, profiles, steps, timeline, trends
from gapfinder.errors import GapfinderError

if TYPE_CHECKING:
    from dash.development.base_component import Component

    from dashboards.store.records import StoredProfile
    from dashboards.view import View

_YEAR_S = 31_536_000
_LOG = logging.getLogger(__name__)
_PAGES = {
    Page.PROFILES: profiles,
    Page.OVERVIEW: overview,
    Page.TIMELINE: timeline,
    Page.STEPS: steps,
    Page.COLLECTIVES: collectives,
    Page.FINDINGS: findings,
    Page.COMPARE: compare,
    Page.TRENDS: trends,
    Page.LIVE: live,
}


def create_app(view: View) -> Dash:
    """Return an app that shows what is in `view`; nothing of it is fetched from anywhere else."""
    app = Dash(
        "dashboards",
        serve_locally=True,
        suppress_callback_exceptions=True,
        title="gapfinder",
        update_title="",
        on_error=_told,
        meta_tags=[{"name": "viewport", "content": "width=device-width, initial-scale=1"}],
    )
    app.server.config["SEND_FILE_MAX_AGE_DEFAULT"] = _YEAR_S  # Dash asks for an asset with its time of change
    app.layout = shell()
    _register(app, view)
    for page in _PAGES.values():
        page.register(app, view)
    return app


def _register(app: Dash, view: View) -> None:
    @app.callback(
        Output(ids.CONTENT, "children"),
        Output(ids.NAVIGATION, "children"),
        Output(ids.TITLE, "data"),
        Output(ids.NOTICE, "children"),
        Input(ids.LOCATION, "pathname"),
        Input(ids.LOCATION, "search"),
        Input(ids.THEME, "data"),
    )
    def show(
        pathname: str | None, search: str | None, theme: str | None
    ) -> tuple[Component, list[Component], str, None]:
        asked = asked_for(pathname, search)
        ready = _ready(view)
        content = shown(view, asked, theme=Theme.DARK if theme == Theme.DARK else Theme.LIGHT)
        return content, navigation(asked, ready), title(asked, ready), None

    @app.callback(
        Output(ids.NAVIGATION, "children", allow_duplicate=True),
        Output(ids.KNOWN, "data"),
        Input(ids.LOOK, "n_intervals"),
        State(ids.LOCATION, "pathname"),
        State(ids.LOCATION, "search"),
        State(ids.KNOWN, "data"),
        prevent_initial_call=True,
    )
    def look(_: int | None, pathname: str | None, search: str | None, seen: str | None) -> tuple[list[Component], str]:
        ready = _ready(view)
        if known(ready) == seen:
            raise PreventUpdate
        return navigation(asked_for(pathname, search), ready), known(ready)

    app.clientside_callback(
        ClientsideFunction("gapfinder", "theme"),
        Output(ids.THEME, "data"),
        Output(ids.THEME_BUTTON, "children"),
        Input(ids.THEME_BUTTON, "n_clicks"),
        State(ids.THEME, "data"),
    )
    app.clientside_callback(
        ClientsideFunction("gapfinder", "title"), Output(ids.TITLE, "modified_timestamp"), Input(ids.TITLE, "data")
    )


def _ready(view: View) -> list[StoredProfile]:
    return [profile for profile in view.store.profiles() if profile.is_ready]


def shown(view: View, asked: Asked | None, *, theme: Theme) -> Component:
    """Return the page that was asked for, or why it cannot be shown."""
    profiles_link = html.P(html.A("All profiles", href=address(Page.PROFILES)))
    if asked is None:
        return no_page("No such page", "The address leads nowhere; perhaps a part of it was lost.", profiles_link)
    try:
        page: Component = _PAGES[asked.page].layout(view, asked, theme=theme)
    except GapfinderError as error:
        return no_page("This page cannot be shown", str(error), profiles_link)
    return page


def title(asked: Asked | None, profiles: list[StoredProfile]) -> str:
    """Return what the browser calls the page."""
    page = "No such page" if asked is None else asked.page.value.title()
    names = [profile.name for profile in profiles if asked is not None and profile.id == asked.profile]
    return " · ".join((page, *names, "gapfinder"))


def _told(error: Exception) -> None:
    """Show that a callback failed; what failed is in the log, for it may hold anything."""
    is_known = isinstance(error, GapfinderError)
    if not is_known:
        _LOG.error("a callback failed", exc_info=error)
    told = str(error) if is_known else "An error in gapfinder; the log of the server tells more."
    set_props(ids.NOTICE, {"children": problem("That did not work", told)})
