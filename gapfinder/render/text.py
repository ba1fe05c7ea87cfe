"""The report for a terminal: plain text of a fixed width, coloured on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Severity
from gapfinder.render.finding_words import findings_to_act_on, findings_to_know, lost_words
from gapfinder.render.report_tables import report_tables
from gapfinder.render.text_layout import CAPTION, HEADING, INDENT, PLAIN, TITLE, joined, paragraph, table_lines
from gapfinder.render.verdict import notes, verdict
from gapfinder.render.words import source_words
from gapfinder.units import format_count, format_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis
    from gapfinder.render.table import Table
    from gapfinder.render.text_layout import Line

_LANES, _HOLES = 32, 10
_ACT_ON, _KNOW = 5, 5
_SEVERITIES = {Severity.CRITICAL: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: PLAIN}


def render_text(analysis: Analysis, *, width: int = 100, color: bool = False, height: int | None = None) -> str:
    """Return the report as text; with `color`, the same text with terminal colours.

    A report of more than `height` lines, whose beginning has left the screen, ends with it again in short.
    """
    lines = list(_lines(analysis, width))
    if height is not None and len(lines) >= height:  # the last line of a screen is the prompt's
        lines += _in_short(analysis, width)
    return joined(lines, width=width, color=color)


def render_tables(tables: Iterable[Table], *, width: int, color: bool) -> str:
    """Return tables alone, as a text report shows them; empty without any."""
    lines: list[Line] = []
    for table in tables:
        lines += [(PLAIN, PLAIN)] if lines else []
        lines += table_lines(table, width)
    return joined(lines, width=width, color=color)


def _lines(analysis: Analysis, width: int) -> Iterator[Line]:
    yield from paragraph(source_words(analysis), width, style=CAPTION)
    yield PLAIN, PLAIN
    yield from paragraph(verdict(analysis), width, style=TITLE)
    yield from _findings(analysis, width)
    for table in report_tables(analysis, lanes=_LANES, holes=_HOLES):
        yield PLAIN, PLAIN
        yield from table_lines(table, width)
    remarks = notes(analysis)
    if remarks:
        yield PLAIN, PLAIN
        yield "Not measured, and worth knowing", HEADING
        for remark in remarks:
            yield from paragraph(remark, width, first="- ", rest="  ")


def _findings(analysis: Analysis, width: int) -> Iterator[Line]:
    """Yield what to act on with its advice, and what is only to know in a line each: at most one screen."""
    act_on, know = findings_to_act_on(analysis), findings_to_know(analysis)
    if analysis.findings:
        yield PLAIN, PLAIN
        yield "Findings", HEADING
    for finding in act_on[:_ACT_ON]:
        yield from paragraph(_headline(finding), width, rest=INDENT, style=_SEVERITIES[finding.severity])
        lost = lost_words(analysis, finding)
        told = f"Lost: {lost}. {finding.detail}" if lost else finding.detail
        yield from paragraph(told, width, first=INDENT, rest=INDENT)
        yield from paragraph(f"Do: {finding.advice}", width, first=INDENT, rest=INDENT)
    for finding in know[:_KNOW]:
        yield from paragraph(_to_know(finding), width, rest=INDENT, style=CAPTION)
    more = len(act_on[_ACT_ON:]) + len(know[_KNOW:])
    if more:
        yield f"{format_count(more, 'finding')} more: see --format json or html", CAPTION
    if analysis.findings:
        yield from paragraph("`gapfinder explain CODE` says how each is measured and what else helps.", width)


def _in_short(analysis: Analysis, width: int) -> Iterator[Line]:
    """Yield what stands above the tables once more: the verdict, and what to act on in a line each."""
    yield PLAIN, PLAIN
    yield "In short", HEADING
    yield from paragraph(verdict(analysis), width, style=TITLE)
    for finding in findings_to_act_on(analysis)[:_ACT_ON]:
        cost = f": {format_share(finding.share)}" if finding.lost_ns else ""
        yield from paragraph(f"{_headline(finding)}{cost}", width, rest=INDENT, style=_SEVERITIES[finding.severity])


def _headline(finding: Finding) -> str:
    return f"{finding.severity.upper()} {finding.title} [{finding.code}]"


def _to_know(finding: Finding) -> str:
    if not finding.lost_ns:
        return f"{finding.severity} {finding.title} [{finding.code}]: {finding.detail}"
    return f"{finding.severity} {finding.title} [{finding.code}]: {format_share(finding.share)}"
