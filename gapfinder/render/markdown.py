"""The report for a pull request or a job's summary page: GitHub-flavoured Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gapfinder.errors import visible
from gapfinder.render.finding_words import findings_to_know, lost_words
from gapfinder.render.report_tables import report_tables
from gapfinder.render.table import Kind
from gapfinder.render.verdict import notes, verdict
from gapfinder.render.words import ELLIPSIS, short_name, source_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.model import Analysis
    from gapfinder.render.table import Column, Table

_LANES, _HOLES = 16, 5
_LONGEST_NAME = 60
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&!$])")


def render_markdown(analysis: Analysis) -> str:
    """Return the report as Markdown in which no name from the profile can be markup."""
    return "\n\n".join(_blocks(analysis)) + "\n"


def _blocks(analysis: Analysis) -> Iterator[str]:
    yield "## gapfinder"
    yield escape(verdict(analysis))
    if analysis.findings:
        yield "### Findings"
        yield "\n".join(f"- {escape(words)}" for words in _findings(analysis))
    for table in report_tables(analysis, lanes=_LANES, holes=_HOLES):
        yield f"### {escape(table.title)}"
        if table.rows:
            yield table_markdown(table)
        yield escape(table.caption)
    remarks = notes(analysis)
    if remarks:
        yield "### Not measured, and worth knowing"
        yield "\n".join(f"- {escape(remark)}" for remark in remarks)
    yield f"Source: {escape(source_words(analysis))}"


def _findings(analysis: Analysis) -> Iterator[str]:
    """Yield each finding as one paragraph; what is only to know comes without advice."""
    to_know = findings_to_know(analysis)
    for finding in analysis.findings:
        lost = lost_words(analysis, finding)
        advice = "" if finding in to_know else f" Do: {finding.advice}"
        yield (
            f"{finding.severity.upper()}: {finding.title} [{finding.code}]. {f'Lost: {lost}. ' if lost else ''}"
            f"{finding.detail}{advice}"
        )


def table_markdown(table: Table) -> str:
    """Return a table as Markdown."""
    header = [escape(column.header) for column in table.columns]
    rule = ["---:" if column.kind is Kind.NUMBER else ":---" for column in table.columns]
    rows = [[_cell(*item) for item in zip(row, table.columns, strict=True)] for row in table.rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def _cell(text: str, column: Column) -> str:
    """Return a cell's text; an operation's name without its signature, and not without end."""
    if column.kind is Kind.NAME:
        text = short_name(text)
        text = text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + ELLIPSIS
    return escape(text)


def escape(text: str) -> str:
    """Return text in which nothing is Markdown or HTML markup."""
    return _MARKUP.sub(r"\\\1", visible(text))
