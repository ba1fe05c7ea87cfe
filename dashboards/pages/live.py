"""A training that is watched, as it runs: step times of its ranks, what was captured and why, and what happened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dash import Input, Output, State, dcc, html
from dash.exceptions import PreventUpdate

from dashboards import ids
from dashboards.components.graphs import graph
from dashboards.components.links import clicked
from dashboards.components.notices import empty, problem, remarks, text
from dashboards.components.palette import Theme
from dashboards.components.tables import section
from dashboards.components.tabs import tabs
from dashboards.data.watches import record_of, training_of, watches_in
from dashboards.figures.live import MOST_RANKS, course_change, course_figure, course_of
from dashboards.ids import Asked, Page
from dashboards.pages.live_captures import Opened, opened_captures, take_captures
from dashboards.pages.live_parts import (
    capture_words,
    captures_table,
    events_table,
    now_cards,
    shown_captures,
    training_words,
)
from gapfinder.units import format_count, format_moment
from gapfinder.watch.following import WatchRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dash import Dash
    from dash.development.base_component import Component
    from plotly.graph_objects import Figure

    from dashboards.data.watches import Watched
    from dashboards.view import View

_CHOICE, _SAID, _NOW, _COURSE, _BELOW = "live-choice", "live-said", "live-now", "live-course", "live-below"
_COURSE_PART, _SEEN, _POLL = "live-course-part", "live-seen", "live-poll"
_POLL_MS = 2_000
_SPANS: Mapping[str, tuple[str, float | None]] = {
    "10m": ("last 10 minutes", 600.0),
    "1h": ("last hour", 3_600.0),
    "1d": ("last day", 86_400.0),
    "all": ("everything", None),
}
_MOST_TABS = 12
_NOTHING, _NONE_OPENED = WatchRecord(state=None, times=(), events=()), Opened({}, {})
_CAPTION = (
    "Each rank's p50 over some seconds, with its p99 thin. Shaded is what a capture or its analysis disturbed; a "
    "flag is a capture, and a click on it leads to its timeline. Dragging zooms, a double click shows all."
)
_NO_TIMES = (
    "They come about every 5 s once steps end. Where they stay away, the hook sees no steps: gapfinder doctor says why."
)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Facts:
    """What the page is made of.

    Attributes:
        watches: all there are.
        chosen: the one that is shown; None where there is none, or none as the address says.
        record: of the chosen one.
        opened: its captures as profiles.
    """

    watches: Sequence[Watched]
    chosen: Watched | None = None
    record: WatchRecord = _NOTHING
    opened: Opened = _NONE_OPENED

    @property
    def seen(self) -> str:
        """All of it as one short text: while that stays the same, nothing need be made or sent again."""
        state = self.record.state
        training = "" if state is None else training_of(state)
        chosen = None if self.chosen is None else (self.chosen.key, self.chosen.mark)
        return repr((tuple(one.key for one in self.watches), chosen, training, self.opened))


def layout(view: View, asked: Asked, *, theme: Theme) -> Component:
    """Return the page; the query chooses the watch (`watch`) and how much of its time (`span`)."""
    facts = _facts(view, asked)
    choice, said, now, course, is_hidden, below = _shown(facts, asked, theme=theme)
    label = "The step time of each rank over time, with the captures; the cards and tables have the numbers."
    return html.Article(
        [
            html.H1("Live"),
            html.Div(choice, id=_CHOICE),
            html.Div(said, id=_SAID, role="status"),
            html.Div(now, id=_NOW),
            html.Section(
                [
                    html.H2("Step time"),
                    _span_tabs(asked),
                    html.P(_CAPTION, className="caption"),
                    graph(course, name=_COURSE, label=label),
                ],
                id=_COURSE_PART,
                hidden=is_hidden,
            ),
            html.Div(below, id=_BELOW),
            dcc.Store(id=ids.LIVE_SHOWN, data=asked.query),
            dcc.Store(id=_SEEN, data=facts.seen),
            dcc.Interval(id=_POLL, interval=_POLL_MS),
        ]
    )


def register(app: Dash, view: View) -> None:
    """Keep the page up to date, and lead from a capture's flag to its timeline."""

    @app.callback(
        Output(_CHOICE, "children"),
        Output(_SAID, "children"),
        Output(_NOW, "children"),
        Output(_COURSE, "figure"),
        Output(_COURSE_PART, "hidden"),
        Output(_BELOW, "children"),
        Output(_SEEN, "data"),
        Input(_POLL, "n_intervals"),
        State(ids.LIVE_SHOWN, "data"),
        State(_SEEN, "data"),
        State(ids.THEME, "data"),
    )
    def update(
        _: int | None, query: dict[str, object] | None, seen: str | None, theme: str | None
    ) -> tuple[object, ...]:
        asked = Asked(Page.LIVE, None, {name: told for name, told in (query or {}).items() if isinstance(told, str)})
        facts = _facts(view, asked)
        if facts.chosen is not None:
            take_captures(view, facts.chosen, facts.record.state)
            facts = replace(facts, opened=opened_captures(view, facts.chosen, facts.record.state))
        if facts.seen == seen:
            raise PreventUpdate
        theme = Theme.DARK if theme == Theme.DARK else Theme.LIGHT
        choice, said, now, course, is_hidden, below = _shown(facts, asked, theme=theme)
        return choice, said, now, course_change(course), is_hidden, below, facts.seen

    @app.callback(
        Output(ids.LOCATION, "href", allow_duplicate=True), Input(_COURSE, "clickData"), prevent_initial_call=True
    )
    def follow(click: object) -> object:
        return clicked(click)


def _facts(view: View, asked: Asked) -> _Facts:
    watches = [] if view.watches is None else watches_in(view.watches.roots)
    wanted = asked.query.get("watch")
    chosen = next((one for one in watches if wanted in (None, one.key)), None)
    if chosen is None:
        return _Facts(watches=watches)
    record = record_of(chosen)
    return _Facts(watches=watches, chosen=chosen, record=record, opened=opened_captures(view, chosen, record.state))


def _shown(
    facts: _Facts, asked: Asked, *, theme: Theme
) -> tuple[list[Component], list[Component], list[Component], Figure, bool, list[Component]]:
    """Return the parts that change: choice, sentences, cards, the figure and whether it is hidden, and tables."""
    record, span = facts.record, _span(asked)
    key = "" if facts.chosen is None else facts.chosen.key
    course = course_of(record, last_s=_SPANS[span][1], links=facts.opened.links, view=f"{key}/{span}")
    return (
        list(_choice(facts, asked)),
        list(_said(facts)),
        [] if facts.chosen is None else [now_cards(record)],
        course_figure(course, theme=theme),
        not course.ranks,
        list(_below(facts, hidden_ranks=len({row.rank for row in record.times}) - MOST_RANKS)),
    )


def _choice(facts: _Facts, asked: Asked) -> Iterator[Component]:
    """Yield the watches to choose from: the newest ones, and where there are more, the others on demand."""
    choices = [
        (one.key, asked.address(**asked.query | {"watch": one.key}), one is facts.chosen) for one in facts.watches
    ]
    first, rest = choices[:_MOST_TABS], choices[_MOST_TABS:]
    if len(choices) > 1 or facts.chosen is None:
        yield tabs("Watches", first)
    if rest:
        yield html.Details(
            [html.Summary(f"Older watches ({format_count(len(rest))})"), tabs("Older watches", rest)],
            open=any(is_shown for _, _, is_shown in rest),
        )


def _said(facts: _Facts) -> Iterator[Component]:
    """Yield what is read out when it changes: the training's state and its captures, or why nothing is shown."""
    state = facts.record.state
    if facts.chosen is None:
        yield _without(facts)
        return
    if state is None:
        damaged = "watch.json is missing or damaged; what can be read beside it is shown."
        yield problem("This watch cannot be read", f"{facts.chosen.folder}: {damaged}")
        return
    began = f"since {format_moment(state.started_at)}, in {facts.chosen.folder}"
    yield html.P(text(f"{state.name}: {' '.join(state.command)}, {began}"), className="source")
    yield html.P(text(f"{training_words(state)} {capture_words(state)}"), className="verdict")
    if not facts.record.times:
        yield empty("No step times yet", _NO_TIMES)


def _without(facts: _Facts) -> Component:
    if facts.watches:
        return problem("No such watch", "The address names one that is not there any more; choose another one.")
    return empty(
        "No training is watched",
        "Start one under gapfinder watch, and name its folder, or the one that holds all runs, here:",
        html.Pre("gapfinder watch -- torchrun train.py\ngapfinder dashboard gapfinder-runs"),
    )


def _below(facts: _Facts, *, hidden_ranks: int) -> Iterator[Component]:
    """Yield the tables, and what is missing from the page."""
    record, state = facts.record, facts.record.state
    notes = []
    if hidden_ranks > 0:
        notes.append(f"The picture has the {MOST_RANKS} ranks with the longest steps now; {hidden_ranks} are left out.")
    if record.unread:
        notes.append(f"{format_count(record.unread, 'line')} of the record cannot be read, as after a full disk.")
    yield from filter(None, [remarks("Worth knowing", notes)])
    if state is not None and state.captures:
        table = captures_table(state, told=facts.opened.told)
        links = [facts.opened.links.get(one.number) for one in shown_captures(state.captures)]
        yield from filter(None, [section(table, links=links)])
    if record.events:
        yield from filter(None, [section(events_table(record.events))])


def _span(asked: Asked) -> str:
    span = asked.query.get("span", "")
    return span if span in _SPANS else "all"


def _span_tabs(asked: Asked) -> Component:
    shown = _span(asked)
    return tabs(
        "How much is shown",
        [(words, asked.address(**asked.query | {"span": span}), span == shown) for span, (words, _) in _SPANS.items()],
    )
