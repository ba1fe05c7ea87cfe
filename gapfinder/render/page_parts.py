"""The pieces that every section of the HTML page is made of; here every text is escaped."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from gapfinder.errors import visible
from gapfinder.render.table import Kind
from gapfinder.render.words import short_name, unbroken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.render.table import Column, Table


def section(table: Table | None) -> str:
    """Return a table under its heading; nothing for no table."""
    if table is None:
        return ""
    title = escape(table.title)
    return f"<section><h2>{title}</h2>\n{table_html(table)}\n</section>"


def table_html(table: Table, *, bars: Sequence[str] = ()) -> str:
    """Return a table in a frame that scrolls; `bars` is one further cell per row."""
    head = "".join(f'<th scope="col" class="{c.kind}">{escape(c.header)}</th>' for c in table.columns)
    head += '<th scope="col" class="label" aria-hidden="true">shape</th>' if bars else ""
    rows = []
    for position, row in enumerate(table.rows):
        cells = "".join(_cell(*item, is_first=not i) for i, item in enumerate(zip(row, table.columns, strict=True)))
        cells += f'<td class="shape" aria-hidden="true">{bars[position]}</td>' if bars else ""
        rows.append(f"<tr>{cells}</tr>")
    lines = "\n".join(rows)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(table.title)}"><table>\n'
        f"<caption><span>{unbroken(escape(table.caption))}</span></caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n"
        f"</table></div>"
    )


def _cell(text: str, column: Column, *, is_first: bool) -> str:
    if column.kind is not Kind.NAME:
        tag = 'th scope="row"' if is_first else "td"
        return f'<{tag} class="{column.kind}">{escape(text)}</{tag[:2]}>'
    short = short_name(text)
    if short == text:
        return f'<td class="name">{escape(text)}</td>'
    return f'<td class="name"><details><summary>{escape(short)}</summary>{escape(text)}</details></td>'


def escape(text: str) -> str:
    """Return a text from anywhere as HTML in which it can be no markup."""
    return html.escape(visible(text))
