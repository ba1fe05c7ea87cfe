"""The report for a terminal: plain text of a fixed width, coloured on request."""

from __future__ import annotations

import io
import textwrap
from itertools import compress
from typing import TYPE_CHECKING

from gapfinder.errors import visible
from gapfinder.explanations import Severity
from gapfinder.render.finding_words import findings_to_act_on, findings_to_know, lost_words
from gapfinder.render.report_tables import report_tables
from gapfinder.render.table import Kind
from gapfinder.render.verdict import notes, verdict
from gapfinder.render.words import ELLIPSIS, NO_BREAK, short_name, source_words, unbroken
from gapfinder.units import format_count, format_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis
    from gapfinder.render.table import Column, Table

_LANES, _HOLES = 32, 10
_ACT_ON, _KNOW = 5, 5
_NARROWEST_LABEL = 8
_INDENT = "    "

_TITLE, _HEADING, _CAPTION, _PLAIN = "bold", "bold cyan", "dim", ""
_SEVERITIES = {Severity.CRITICAL: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: _PLAIN}
Line = tuple[str, str]


def render_text(analysis: Analysis, *, width: int = 100, color: bool = False) -> str:
    """Return the report as text; with `color`, the same text with terminal colours."""
    lines = list(_lines(analysis, width))
    return _coloured(lines, width) if color else "".join(f"{line}\n" for line, _ in lines)


def render_tables(tables: Iterable[Table], *, width: int, color: bool) -> str:
    """Return tables alone, as a text report shows them; empty without any."""
    lines: list[Line] = []
    for table in tables:
        lines += [(_PLAIN, _PLAIN)] if lines else []
        lines += _table(table, width)
    return _coloured(lines, width) if color else "".join(f"{line}\n" for line, _ in lines)


def _lines(analysis: Analysis, width: int) -> Iterator[Line]:
    yield from _paragraph(source_words(analysis), width, style=_CAPTION)
    yield _PLAIN, _PLAIN
    yield from _paragraph(verdict(analysis), width, style=_TITLE)
    yield from _findings(analysis, width)
    for table in report_tables(analysis, lanes=_LANES, holes=_HOLES):
        yield _PLAIN, _PLAIN
        yield from _table(table, width)
    remarks = notes(analysis)
    if remarks:
        yield _PLAIN, _PLAIN
        yield "Not measured, and worth knowing", _HEADING
        for remark in remarks:
            yield from _paragraph(remark, width, first="- ", rest="  ")


def _findings(analysis: Analysis, width: int) -> Iterator[Line]:
    """Yield what to act on with its advice, and what is only to know in a line each: at most one screen."""
    act_on, know = findings_to_act_on(analysis), findings_to_know(analysis)
    if analysis.findings:
        yield _PLAIN, _PLAIN
        yield "Findings", _HEADING
    for finding in act_on[:_ACT_ON]:
        headline = f"{finding.severity.upper()} {finding.title} [{finding.code}]"
        yield from _paragraph(headline, width, rest=_INDENT, style=_SEVERITIES[finding.severity])
        lost = lost_words(finding, lanes=len(analysis.lanes))
        yield from _paragraph(f"Lost: {lost}. {finding.detail}", width, first=_INDENT, rest=_INDENT)
        yield from _paragraph(f"Do: {finding.advice}", width, first=_INDENT, rest=_INDENT)
    for finding in know[:_KNOW]:
        yield from _paragraph(_to_know(finding), width, rest=_INDENT, style=_CAPTION)
    more = len(act_on[_ACT_ON:]) + len(know[_KNOW:])
    if more:
        yield f"{format_count(more, 'finding')} more: see --format json or html", _CAPTION
    if analysis.findings:
        yield from _paragraph("`gapfinder explain CODE` says how each is measured and what else helps.", width)


def _to_know(finding: Finding) -> str:
    if not finding.lost_ns:
        return f"{finding.severity} {finding.title} [{finding.code}]: {finding.detail}"
    return f"{finding.severity} {finding.title} [{finding.code}]: {format_share(finding.share)}"


def _paragraph(text: str, width: int, *, first: str = "", rest: str = "", style: str = _PLAIN) -> Iterator[Line]:
    """Wrap at spaces, but not between a number and its unit."""
    whole = unbroken(visible(text))
    wrapped = textwrap.wrap(whole, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    for line in wrapped:
        yield line.replace(NO_BREAK, " "), style


def _table(table: Table, width: int) -> Iterator[Line]:
    """Lay out a table; several columns of names go on a line of their own below each row, and so do remarks."""
    yield table.title, _HEADING
    yield from _paragraph(table.caption, width, style=_CAPTION)
    if not table.rows:
        return
    kinds = [column.kind for column in table.columns]
    is_note = [kind is Kind.NOTE for kind in kinds]
    is_apart = [kind is Kind.NAME and kinds.count(Kind.NAME) > 1 for kind in kinds]
    is_beside = [not (note or apart) for note, apart in zip(is_note, is_apart, strict=True)]
    columns = list(compress(table.columns, is_beside))
    cells = [[_cell(*item) for item in zip(row, table.columns, strict=True)] for row in table.rows]
    headers = _header_lines(columns)
    aligned = _align(columns, [*headers, *(list(compress(row, is_beside)) for row in cells)], width)
    for line in aligned[: len(headers)]:
        yield line, _CAPTION
    if any(is_apart):
        yield _names_line([column.header for column in compress(table.columns, is_apart)], width), _CAPTION
    for row, line in zip(cells, aligned[len(headers) :], strict=True):
        yield line, _PLAIN
        if any(is_apart):
            yield _names_line(list(compress(row, is_apart)), width), _CAPTION
        for note in filter(None, compress(row, is_note)):
            yield from _paragraph(note, width, first=_INDENT, rest=_INDENT)


def _cell(text: str, column: Column) -> str:
    return visible(short_name(text) if column.kind is Kind.NAME else text)


def _names_line(names: list[str], width: int) -> str:
    """Return "a → b", each given the same room."""
    arrow = " → "
    room = (width - len(_INDENT) - len(arrow) * (len(names) - 1)) // len(names)
    return _INDENT + arrow.join(_shorten(name, room) for name in names)


def _header_lines(columns: list[Column]) -> list[list[str]]:
    """Return the headings word by word, the last word on the last line."""
    words = [column.header.split() for column in columns]
    height = max(map(len, words))
    return [[([""] * (height - len(w)) + w)[row] for w in words] for row in range(height)]


def _align(columns: list[Column], grid: list[list[str]], width: int) -> list[str]:
    """Return rows of cells as lines.

    What is too wide loses space between columns, then free text, and at last the space before units.
    """
    gap, widths = _fit(columns, grid, width)
    if _total(widths, gap) > width:
        grid = [[_squeezed(*item) for item in zip(row, columns, strict=True)] for row in grid]
        gap, widths = _fit(columns, grid, width)
    return [(" " * gap).join(_pad(*item) for item in zip(row, columns, widths, strict=True)).rstrip() for row in grid]


def _fit(columns: list[Column], grid: list[list[str]], width: int) -> tuple[int, list[int]]:
    """Return the space between columns and each column's width."""
    widths = [max(map(len, cells)) for cells in zip(*grid, strict=True)]
    gap = 2 if _total(widths, 2) <= width else 1
    for index, column in enumerate(columns):
        excess = _total(widths, gap) - width
        if column.kind in (Kind.LABEL, Kind.NAME) and excess > 0:
            widths[index] = max(widths[index] - excess, _NARROWEST_LABEL)
    return gap, widths


def _total(widths: list[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _squeezed(text: str, column: Column) -> str:
    return text.replace(" ", "") if column.kind is Kind.NUMBER else text


def _pad(text: str, column: Column, width: int) -> str:
    return text.rjust(width) if column.kind is Kind.NUMBER else _shorten(text, width).ljust(width)


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + ELLIPSIS


def _coloured(lines: Iterable[Line], width: int) -> str:
    from rich.console import Console
    from rich.text import Text

    # Told no width, rich asks the terminal, which may say 0, and then prints nothing.
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        color_system="standard",
        no_color=False,
        legacy_windows=False,
        width=width,
    )
    with console.capture() as capture:
        for line, style in lines:
            console.print(Text(line, style), soft_wrap=True)
    return capture.get()
