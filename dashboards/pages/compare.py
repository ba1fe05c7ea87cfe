"""Two profiles side by side: what changed from one to the other, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import Input, Output, State, dcc, html, no_update

from dashboards import ids
from dashboards.components.graphs import graph
from dashboards.components.legends import part_legend
from dashboards.components.notices import empty, problem, remarks, text
from dashboards.components.tables import framed, section
from dashboards.data.recording import snapshot_of
from dashboards.figures.budgets import Bar, budget_figure
from dashboards.ids import Page, address, asked_for
from dashboards.pages.metric_table import metric_table
from gapfinder.compare.comparable import Aspect, differences
from gapfinder.compare.diff import REFUSED, diff
from gapfinder.compare.difference import Unit
from gapfinder.render.difference.tables import difference_tables, shown_parts
from gapfinder.render.difference.words import difference_verdict, title_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dash import Dash
    from dash.development.base_component import Component

    from dashboards.components.palette import Theme
    from dashboards.data.opening import OpenProfile
    from dashboards.ids import Asked
    from dashboards.store.records import StoredProfile
    from dashboards.view import View
    from gapfinder.compare.difference import Difference

_LANES, _ROWS, _BARS = 64, 50, 16
_FEWEST = 2
_BEFORE, _AFTER = "compare-before", "compare-after"


def layout(view: View, asked: Asked, *, theme: Theme) -> Component:
    """Return the page; the query names both profiles (`before`, `after`) and what may differ (`allow`)."""
    ready = [profile for profile in view.store.profiles() if profile.is_ready]
    chosen = asked.query.get("before"), asked.query.get("after")
    head = [html.H1("Compare"), _choice(ready, chosen)]
    before, after = chosen
    if len(ready) < _FEWEST:
        missing = "Two prepared profiles are needed: upload another one, or open it with gapfinder dashboard."
        return html.Article([*head, empty("Nothing to compare yet", missing)])
    if not before or not after:
        return html.Article(
            [*head, empty("Choose two profiles", "What changed from the first to the second is shown.")]
        )
    opened = view.profiles.get(before), view.profiles.get(after)
    return html.Article([*head, *_compared(opened, asked, theme=theme)])


def register(app: Dash, view: View) -> None:
    """Show what was chosen."""

    @app.callback(
        Output(ids.LOCATION, "href", allow_duplicate=True),
        Input(_BEFORE, "value"),
        Input(_AFTER, "value"),
        State(ids.LOCATION, "pathname"),
        State(ids.LOCATION, "search"),
        prevent_initial_call=True,
    )
    def choose(before: str | None, after: str | None, pathname: str | None, search: str | None) -> object:
        chosen = {name: value for name, value in (("before", before), ("after", after)) if value}
        asked = asked_for(pathname, search)
        shown = {} if asked is None else {name: asked.query.get(name) for name in chosen}
        return no_update if shown == chosen else address(Page.COMPARE, **chosen)


def _choice(ready: Sequence[StoredProfile], chosen: tuple[str | None, str | None]) -> Component:
    options = [{"label": text(" ".join((one.name, *one.labels))), "value": one.id} for one in ready]
    known = {one.id for one in ready}
    fields = [
        html.Label(
            [
                html.Span(words),
                dcc.Dropdown(
                    id=name,
                    options=options,
                    value=value if value in known else None,
                    clearable=False,
                    placeholder="Choose a profile",
                ),
            ]
        )
        for name, words, value in ((_BEFORE, "Before", chosen[0]), (_AFTER, "After", chosen[1]))
    ]
    return html.Div(fields, className="choice")


def _compared(opened: tuple[OpenProfile, OpenProfile], asked: Asked, *, theme: Theme) -> Iterator[Component]:
    before, after = map(snapshot_of, opened)
    names = opened[0].stored.name, opened[1].stored.name
    allowed = {aspect for aspect in Aspect if aspect.value in asked.query.get("allow", "").split(",")}
    reasons = differences(after, before) if before.lanes and after.lanes else ()
    refused = [one for one in reasons if one.aspect in REFUSED - allowed]
    if refused:
        aspects = sorted({one.aspect.value for one in refused if one.aspect} | {one.value for one in allowed})
        target = asked.address(before=opened[0].stored.id, after=opened[1].stored.id, allow=",".join(aspects))
        told: list[str | Component] = [
            f"The baseline is {names[0]}, and this capture is {names[1]}.",
            html.Ul([html.Li(text(one.sentence)) for one in refused]),
        ]
        yield problem("Not comparable", *told, html.P(dcc.Link("Compare all the same", href=target)))
        return
    difference = diff(before, after, names=names, allowed=allowed)
    yield html.P(text(title_words(difference)), className="source")
    yield html.P(text(difference_verdict(difference)), className="verdict")
    yield html.Section([html.H2("Metrics"), framed(metric_table(before, after))])
    yield _bars(difference, theme=theme)
    for table in difference_tables(difference, lanes=_LANES, rows=_ROWS):
        yield from filter(None, [section(table)])
    yield from filter(None, [remarks("Worth knowing", difference.notes)])


def _bars(difference: Difference, *, theme: Theme) -> Component:
    """Return both sides of everything and of each lane, to one scale."""
    lanes = [(one.label, one.before, one.after) for one in difference.lanes[:_BARS]]
    groups = [("all lanes", difference.before, difference.after), *(lanes if len(lanes) > 1 else ())]
    bars = [
        Bar(f"{label}, {when}", side.budget, is_idle_known=side.is_idle_known)
        for label, *sides in groups
        for when, side in zip(("before", "after"), sides, strict=True)
        if side is not None
    ]
    parts = shown_parts(difference)
    unit = "The mean step of a GPU" if difference.unit is Unit.STEP else "Shares of the lanes' windows"
    left = f"; the first {_BARS} of {len(difference.lanes)} lanes" if len(difference.lanes) > _BARS else ""
    figure = budget_figure(bars, parts=parts, theme=theme, full_ns=max(bar.budget.window_ns for bar in bars))
    return html.Section(
        [
            html.H2("Before and after"),
            html.P(f"{unit}, all to one scale{left}.", className="caption"),
            part_legend(parts, theme=theme),
            graph(figure, name="compare-budgets", label="Where a step went before and after, as stacked bars."),
        ]
    )
