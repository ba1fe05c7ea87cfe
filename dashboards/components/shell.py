"""What is around every page: navigation, the choice of a profile, the theme, and room for a notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from dashboards import ids
from dashboards.components.notices import text
from dashboards.components.spoken import current, labelled
from dashboards.ids import Asked, Page, address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from dashboards.store.records import StoredProfile

_LOOKS_EVERY_MS = 5_000
_GENERAL = (Page.LIVE, Page.COMPARE, Page.TRENDS, Page.PROFILES)


def shell() -> Component:
    """Return the frame that pages are shown in."""
    return html.Div(
        [
            dcc.Location(id=ids.LOCATION, refresh="callback-nav"),
            dcc.Store(id=ids.THEME),
            dcc.Store(id=ids.TITLE),
            dcc.Store(id=ids.KNOWN),
            dcc.Interval(id=ids.LOOK, interval=_LOOKS_EVERY_MS),
            html.A("Skip to the page", href=f"#{ids.CONTENT}", className="skip"),
            html.Header(
                [
                    dcc.Link("gapfinder", href="/", className="brand"),
                    labelled(html.Nav(id=ids.NAVIGATION), "Pages"),
                    html.Button("Light", id=ids.THEME_BUTTON, type="button", title="Switch between light and dark"),
                ]
            ),
            html.Div(id=ids.NOTICE, role="alert"),
            html.Main(id=ids.CONTENT, tabIndex="-1"),
        ],
        className="app",
    )


def known(profiles: Sequence[StoredProfile]) -> str:
    """Return what the choice of a profile is made of as one text: while that stays, the choice need not be sent."""
    return "\n".join(f"{one.id} {one.name!r} {one.labels}" for one in profiles)


def navigation(asked: Asked | None, profiles: Sequence[StoredProfile]) -> list[Component]:
    """Return the choice of a profile, the pages of the chosen one, and the pages about several."""
    page, chosen = (None, None) if asked is None else (asked.page, asked.profile)
    parts = [_switcher(page, chosen, profiles)] if profiles else []
    if chosen is not None and any(one.id == chosen for one in profiles):
        parts.append(_links(ids.OF_ONE_PROFILE, page, profile=chosen))
    parts.append(_links(_GENERAL, page, profile=None))
    return parts


def _links(pages: Sequence[Page], shown: Page | None, *, profile: str | None) -> Component:
    items = [
        current(
            html.Li(
                dcc.Link(
                    page.value.title(),
                    href=address(page, profile=profile),
                    className="current" if page is shown else "",
                )
            ),
            is_current=page is shown,
        )
        for page in pages
    ]
    return html.Ul(items, className="pages")


def _switcher(page: Page | None, chosen: str | None, profiles: Sequence[StoredProfile]) -> Component:
    """Return a menu of the profiles that can be opened; each leads to the same page of another one."""
    target = page if page in ids.OF_ONE_PROFILE else Page.OVERVIEW
    name = next((one.name for one in profiles if one.id == chosen), "Choose a profile")
    items = [
        html.Li(
            dcc.Link(
                [text(one.name), html.Small(" ".join(map(text, one.labels)))],
                href=address(target, profile=one.id),
                className="current" if one.id == chosen else "",
            )
        )
        for one in profiles
    ]
    # a new key closes the menu when another page is shown
    return html.Details(
        [html.Summary(text(name), title=text(name)), html.Ul(items)], className="switcher", key=f"{page}/{chosen}"
    )
