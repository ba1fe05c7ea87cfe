"""What is said of a watched training: its state, how it does now, its captures and what happened."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from dashboards.components.cards import card, cards
from dashboards.data.watches import Training, training_of
from dashboards.figures.live import MOST_CAPTURES
from gapfinder.capture.outcome import code_words
from gapfinder.render.table import NOTHING, Column, Kind, Table, left_out
from gapfinder.units import format_count, format_duration, format_growth, format_moment
from gapfinder.watch.model import CaptureState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dash.development.base_component import Component

    from gapfinder.watch.following import WatchRecord
    from gapfinder.watch.model import CaptureRecord, Event, TimesRow, WatchState

_MOST_EVENTS = 200


def training_words(state: WatchState) -> str:
    """Return what became of the training, in one sentence or two."""
    match training_of(state):
        case Training.RUNNING:
            return f"The training is running on {state.host}."
        case Training.ENDED:
            code = state.training_exit_code or 0
            return f"The training {'failed' if code else 'has ended'} with {code_words(code)}."
        case Training.UNKNOWN:
            return "The watch has ended; what became of the training is not known."
        case Training.WATCH_GONE:
            return (
                f"The watch vanished: its process {state.pid} is not alive. The training goes on without it, unless it "
                "has ended as well; nothing more is recorded."
            )
        case Training.ELSEWHERE:
            return f"Not said to have ended. It runs on {state.host}: only there can be seen whether it still does."


def capture_words(state: WatchState) -> str:
    """Return how many captures there are, and what asked for the last one."""
    if not state.captures:
        return "No capture yet." if is_under_way(state) else "No capture was taken."
    last = state.captures[-1]
    doing = {CaptureState.CAPTURING: " It is being taken now.", CaptureState.ANALYSING: " It is being analysed."}
    now = doing.get(last.state, "") if is_under_way(state) else ""
    asked = last.trigger.sentence.rstrip(".")
    return f"{format_count(len(state.captures), 'capture')}, the last one because: {asked}.{now}"


def is_under_way(state: WatchState) -> bool:
    """Say whether the watch works, for all that can be seen from here."""
    return state.ended_at is None and training_of(state) is not Training.WATCH_GONE


def now_cards(record: WatchRecord) -> Component:
    """Return the numbers of now: the step, its time against what is usual, and the slowest rank."""
    last: dict[int, TimesRow] = {row.rank: row for row in record.times}
    usual_ns = None if record.state is None else record.state.usual_ns
    if not last:
        return cards(card("Step time", NOTHING, "no step times yet"))
    middle = round(median(row.p50_ns for row in last.values()))
    usual = "usual not known" if record.state is None else "usual is being learnt"
    if usual_ns is not None:
        usual = f"usual {format_duration(usual_ns)}, {format_growth(usual_ns, middle)}"
    newest = max(last.values(), key=lambda row: row.at)
    return cards(
        card("Step", format_count(newest.step), format_moment(newest.at, is_exact=True)),
        card("Step time, p50", format_duration(middle), usual),
        card("Step time, p99", format_duration(max(row.p99_ns for row in last.values())), "of the worst rank"),
        _slowest(last),
    )


def _slowest(last: Mapping[int, TimesRow]) -> Component | None:
    """Return the rank that computes longest: ranks that wait for it take as long for a step, but not apart."""
    if len(last) == 1:
        return None
    apart = {rank: row.apart_ns for rank, row in last.items()}
    slowest = max(apart, key=lambda rank: (apart[rank], -rank))
    usual = round(median(apart.values()))
    return card(
        "Slowest rank",
        f"rank {slowest}",
        f"{format_growth(usual, apart[slowest])} outside backward against the median",
    )


def shown_captures(captures: Sequence[CaptureRecord]) -> Sequence[CaptureRecord]:
    """Return the captures that are listed: the newest ones, newest first."""
    return captures[-MOST_CAPTURES:][::-1]


def captures_table(state: WatchState, *, told: Mapping[int, str]) -> Table:
    """Return the captures, newest first; `told` says of done ones what became of their profiles, by their number."""
    captures, is_going_on = state.captures, is_under_way(state)
    shown = shown_captures(captures)
    return Table(
        title="Captures",
        caption="The newest first; where the number is a link, it leads to the capture's timeline."
        + left_out(len(shown), len(captures), "capture", "the newest"),
        columns=(
            Column("capture"),
            Column("when", Kind.WORD),
            Column("why", Kind.NOTE),
            Column("steps", Kind.WORD),
            Column("what costs most", Kind.LABEL),
            Column("what changed", Kind.LABEL),
            Column("state", Kind.LABEL),
        ),
        rows=tuple(_capture_row(one, told.get(one.number, ""), is_going_on=is_going_on) for one in shown),
    )


def _capture_row(capture: CaptureRecord, told: str, *, is_going_on: bool) -> tuple[str, ...]:
    state = ": ".join(filter(None, (capture.state.value, capture.trouble)))
    if not is_going_on and capture.state in {CaptureState.CAPTURING, CaptureState.ANALYSING}:
        state = f"was {state} when the watch ended"
    return (
        str(capture.number),
        format_moment(capture.started_at, is_exact=True),
        f"{capture.trigger.kind}: {capture.trigger.sentence}",
        _steps(capture),
        capture.headline or NOTHING,
        capture.change or NOTHING,
        ", ".join(filter(None, (state, told))),
    )


def _steps(capture: CaptureRecord) -> str:
    if capture.first_step is None or capture.end_step is None or capture.end_step <= capture.first_step:
        return NOTHING
    last = capture.end_step - 1
    first = format_count(capture.first_step)
    return first if last == capture.first_step else f"{first} to {format_count(last)}"


def events_table(events: Sequence[Event]) -> Table:
    """Return what happened, newest first."""
    shown = events[-_MOST_EVENTS:][::-1]
    return Table(
        title="Events",
        caption="The newest first." + left_out(len(shown), len(events), "event", "the newest"),
        columns=(Column("when", Kind.WORD), Column("capture"), Column("what happened", Kind.NOTE)),
        rows=tuple(
            (format_moment(one.at, is_exact=True), NOTHING if one.capture is None else str(one.capture), one.text)
            for one in shown
        ),
    )
