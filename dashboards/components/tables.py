"""Tables of the reports as HTML: numbers to the right, names whole but folded, headings that stay in sight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from dashboards.components.notices import text
from dashboards.components.spoken import labelled
from gapfinder.render.table import Kind
from gapfinder.render.words import short_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dash.development.base_component import Component

    from gapfinder.render.table import Column, Table


def section(table: Table | None, *, links: Sequence[str | None] = ()) -> Component | None:
    """Return a table under its heading; None for no table."""
    if table is None:
        return None
    return html.Section([html.H2(text(table.title)), framed(table, links=links)])


def framed(table: Table, *, links: Sequence[str | None] = ()) -> Component:
    """Return a table in a frame that scrolls; `links` has, for each row, where its first cell leads to."""
    is_sorted = len(table.rows) > 1
    heads = [heading(column.header, kind=column.kind, is_sorted=is_sorted) for column in table.columns]
    rows = [
        placed(
            html.Tr(
                [
                    _cell(cell, column, is_first=not place, href=links[number] if links and not place else None)
                    for place, (cell, column) in enumerate(zip(row, table.columns, strict=True))
                ]
            ),
            number,
        )
        for number, row in enumerate(table.rows)
    ]
    caption = [html.P(text(table.caption), className="caption")] if table.caption else []
    grid = html.Table([html.Thead(html.Tr(heads)), html.Tbody(rows)])
    frame = html.Div(grid, className="scroll", role="region", tabIndex="0")
    return html.Div([*caption, labelled(frame, table.title)])


def heading(words: str, *, kind: Kind, is_sorted: bool) -> Component:
    """Return a column's heading; where the table can be sorted, a button that JavaScript listens to."""
    shown = html.Button(text(words), type="button", className="sort") if is_sorted else text(words)
    return html.Th(shown, scope="col", className=kind.value)


def placed(row: html.Tr, place: int) -> Component:
    """Return the row with where it stands when nothing is sorted, for JavaScript."""
    setattr(row, "data-place", str(place))
    return row


def _cell(words: str, column: Column, *, is_first: bool, href: str | None) -> Component:
    content = _name(words) if column.kind is Kind.NAME else text(words)
    shown = content if href is None else dcc.Link(content, href=href)
    if is_first:
        return html.Th(shown, scope="row", className=column.kind.value)
    return html.Td(shown, className=column.kind.value)


def _name(words: str) -> str | Component:
    """Return an operation's name: short, with the whole of it unfolded on demand."""
    short = short_name(words)
    return text(words) if short == words else html.Details([html.Summary(text(short)), text(words)])
