"""The pieces that every section of the HTML page is made of; here every text is escaped."""

from __future__ import annotations

import html
from importlib import resources
from typing import TYPE_CHECKING

from gapfinder.errors import visible
from gapfinder.render.parts import IDLE
from gapfinder.render.table import Kind
from gapfinder.render.words import UNKNOWN, short_name, unbroken
from gapfinder.units import format_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gapfinder.budget import Budget
    from gapfinder.render.parts import Part
    from gapfinder.render.table import Column, Table

_LABELLED_FROM = 0.12


def page(title: str, *, body: Iterable[str]) -> str:
    """Return a whole page of these sections; it needs no other file and no network."""
    style = resources.files("gapfinder.render").joinpath("page.css").read_text(encoding="utf-8")
    content = "\n".join(body)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
{content}
</body>
</html>
"""


def budget_bar(
    budget: Budget, *, shown: Iterable[Part], is_idle_known: bool = True, label: str = "", full_ns: int = 0
) -> str:
    """Return the parts side by side, each as wide as it is long; `full_ns` is the length of the whole width."""
    segments = []
    for part in shown:
        ns = part.measure(budget)
        if not ns:
            continue
        known = is_idle_known or part is not IDLE
        ratio = ns / max(budget.window_ns, full_ns)
        text = (format_share(ns / budget.window_ns) if known else "not measured") if label else ""
        inner = f"<i>{text}</i>" if text and ratio >= _LABELLED_FROM else ""
        segments.append(f'<span class="{part.key if known else UNKNOWN}" style="flex-grow:{ns}">{inner}</span>')
    if full_ns > budget.window_ns:
        segments.append(f'<span class="rest" style="flex-grow:{full_ns - budget.window_ns}"></span>')
    role = f'role="img" aria-label="{escape(label)}"' if label else 'aria-hidden="true"'
    return f'<div class="bar" {role}>{"".join(segments)}</div>'


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
