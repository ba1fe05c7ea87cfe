"""What a page says where it has nothing to show, could not measure something, or something went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from gapfinder.errors import visible
from gapfinder.render.words import unbroken

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dash.development.base_component import Component

    from dashboards.store.records import StoredProfile


def text(words: str) -> str:
    """Return words from anywhere as a page shows them: what does not print is spelled out, units stay with numbers."""
    return unbroken(visible(words))


def trouble(profile: StoredProfile) -> Component | None:
    """Return what became of a profile's files since it was prepared; None where they are as they were."""
    if profile.trouble is None:
        return None
    return html.P([html.B("The files of this profile: "), text(profile.trouble)], className="notice trouble")


def empty(title: str, *paragraphs: str | Component) -> Component:
    """Return what stands in place of something that is not there, with what to do about it."""
    return html.Section([html.H2(text(title)), *map(_paragraph, paragraphs)], className="notice empty")


def not_measured(what: str, *, reason: str) -> Component:
    """Return that something could not be measured, and why."""
    return html.P([html.B(f"{text(what)} not measured: "), text(reason)], className="notice unmeasured")


def problem(title: str, *paragraphs: str | Component) -> Component:
    """Return what went wrong, for a reader."""
    return _problem(html.H2(text(title)), paragraphs)


def no_page(title: str, *paragraphs: str | Component) -> Component:
    """Return what stands in place of a whole page that cannot be shown."""
    return _problem(html.H1(text(title)), paragraphs)


def _problem(heading: Component, paragraphs: Iterable[str | Component]) -> Component:
    return html.Section([heading, *map(_paragraph, paragraphs)], className="notice problem", role="alert")


def remarks(title: str, items: Iterable[str]) -> Component | None:
    """Return sentences as a list; None where there are none."""
    entries = [html.Li(text(item)) for item in items]
    return html.Section([html.H2(title), html.Ul(entries)], className="remarks") if entries else None


def _paragraph(content: str | Component) -> Component:
    return html.P(text(content)) if isinstance(content, str) else content
