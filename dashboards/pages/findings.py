"""The findings of one profile: what each costs, what to change, what it rests on, and where to see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from dashboards.components.legends import cause_chip, severity_chip
from dashboards.components.notices import empty, text
from dashboards.pages.finding_links import CAUSES_OF, finding_link
from gapfinder.errors import InputError
from gapfinder.findings.explain import explain
from gapfinder.findings.registry import PAGES
from gapfinder.findings.words import lane_name
from gapfinder.render.finding_words import lost_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dash import Dash
    from dash.development.base_component import Component

    from dashboards.components.palette import Theme
    from dashboards.data.opening import OpenProfile
    from dashboards.ids import Asked
    from dashboards.view import View
    from gapfinder.explanations import Finding
    from gapfinder.findings.page import Page


def layout(view: View, asked: Asked, *, theme: Theme) -> Component:
    """Return the page."""
    profile = view.profiles.get(asked.profile or "")
    findings = profile.analysis.findings
    content = (
        html.Ol([_finding(profile, one, theme=theme) for one in findings], className="findings")
        if findings
        else empty(
            "Nothing was found",
            "No rule has anything to say about this capture. What could not be measured is on the overview.",
        )
    )
    return html.Article([html.H1("Findings"), html.P(text(profile.stored.name), className="source"), content])


def register(app: Dash, view: View) -> None:
    """Add nothing: the page has no callbacks."""


def _finding(profile: OpenProfile, finding: Finding, *, theme: Theme) -> Component:
    analysis = profile.analysis
    target = finding_link(profile, finding)
    lost = lost_words(analysis, finding)
    where = "" if finding.lane is None or not analysis.lanes else f"It is about {lane_name(analysis, finding.lane)}."
    chips = [cause_chip(cause, theme=theme) for cause in CAUSES_OF.get(finding.code, ())] if target else []
    link = [] if target is None else [dcc.Link("The longest of these holes on the timeline", href=target), *chips]
    return html.Li(
        [
            html.H2([severity_chip(finding.severity, theme=theme), text(finding.title), html.Code(text(finding.code))]),
            html.P([html.B(text(f"{lost}. ")) if lost else "", text(finding.detail), " ", text(where)]),
            html.P(text(finding.advice), className="advice"),
            html.P(link, className="links"),
            html.Details([html.Summary("What it means"), *_explained(finding.code)]),
        ],
        id=finding.code,
        className=finding.severity.value,
    )


def _explained(code: str) -> Iterator[Component]:
    """Yield what is written about a rule; a plug-in's in its own words."""
    if code in PAGES:
        yield from _page(PAGES[code])
        return
    try:
        yield html.Pre(text(explain([code])))
    except InputError as error:
        yield html.P(text(str(error)))


def _page(page: Page) -> Iterator[Component]:
    yield html.P(text(page.meaning))
    yield html.P([html.I("Measured: "), text(page.measured)])
    yield html.P(html.I("Change:"))
    yield html.Ul([html.Li(text(item)) for item in page.change])
    yield html.P([html.I("It does not mean: "), text(page.beware)])
