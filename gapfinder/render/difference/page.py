"""A comparison as one self-contained HTML page: both budgets as bars, then the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.render.difference.tables import difference_tables, shown_lanes, shown_parts
from gapfinder.render.difference.words import difference_verdict, title_words
from gapfinder.render.page_parts import budget_bar, escape, page, section
from gapfinder.render.parts import IDLE
from gapfinder.render.words import unbroken
from gapfinder.units import format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.compare.difference import Difference, Side

_LANES, _ROWS = 64, 50


def render_difference_html(difference: Difference) -> str:
    """Return the comparison as an HTML page in which no name from a profile can be markup."""
    return page(f"gapfinder: {title_words(difference)}", body=_body(difference))


def _body(difference: Difference) -> Iterator[str]:
    yield f"<header><h1>gapfinder</h1><p>{escape(title_words(difference))}</p></header>\n<main>"
    yield f'<p class="verdict">{unbroken(escape(difference_verdict(difference)))}</p>'
    yield from _bars(difference)
    for table in difference_tables(difference, lanes=_LANES, rows=_ROWS):
        yield section(table)
    if difference.notes:
        items = "\n".join(f"<li>{escape(note)}</li>" for note in difference.notes)
        yield f"<section><h2>Worth knowing</h2>\n<ul>\n{items}\n</ul></section>"
    yield "</main>"


def _bars(difference: Difference) -> Iterator[str]:
    """Yield both sides of everything and of each lane, to one scale."""
    legend = "".join(
        f'<li><span class="swatch {part.key}"></span>{part.label}<small>{part.meaning}</small></li>'
        for part in shown_parts(difference)
    )
    lanes = [(one.label, one.before, one.after) for one in shown_lanes(difference, limit=_LANES)]
    groups = [("all lanes", difference.before, difference.after), *(lanes if len(lanes) > 1 else ())]
    longest = max(side.budget.window_ns for _, *sides in groups for side in sides if side is not None)
    yield f'<section><h2>Before and after</h2>\n<ul class="legend">{legend}</ul>\n<div class="budgets">'
    for label, *sides in groups:
        for when, side in zip(("before", "after"), sides, strict=True):
            if side is not None:
                yield _bar(difference, side, label=f"{label}, {when}", full_ns=longest)
    yield "</div></section>"


def _bar(difference: Difference, side: Side, *, label: str, full_ns: int) -> str:
    shares = (
        f"{part.label} {format_share(part.measure(side.budget) / side.budget.window_ns)}"
        for part in shown_parts(difference)
        if part is not IDLE or side.is_idle_known
    )
    bar = budget_bar(
        side.budget,
        shown=shown_parts(difference),
        is_idle_known=side.is_idle_known,
        label=f"{label}: {', '.join(shares)}",
        full_ns=full_ns,
    )
    length = format_duration(side.budget.window_ns) if side.steps else ""
    return f"<div><b>{escape(label)}</b>{bar}<span>{length}</span></div>"
