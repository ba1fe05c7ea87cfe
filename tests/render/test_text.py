"""The report for a terminal."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import analyses
import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from gapfinder.explanations import Severity
from gapfinder.render import render_text

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

SMALL = [name for name in analyses.SITUATIONS if name != "many_lanes"]
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Report(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.mark.parametrize("situation", SMALL)
def test_text_reads_as_before(situation: str, snapshot: SnapshotAssertion) -> None:
    assert render_text(analyses.SITUATIONS[situation]()) == snapshot(extension_class=Report)


@pytest.mark.parametrize("situation", analyses.SITUATIONS)
def test_no_line_is_wider_than_100_columns(situation: str) -> None:
    assert max(map(len, render_text(analyses.SITUATIONS[situation]()).splitlines())) <= 100


def test_paragraphs_follow_the_width() -> None:
    lines = render_text(analyses.nothing(), width=40).splitlines()
    assert max(map(len, lines)) <= 40
    assert len(lines) > len(render_text(analyses.nothing()).splitlines())


@pytest.mark.parametrize("situation", SMALL)
def test_colour_changes_nothing_but_colour(situation: str) -> None:
    analysis = analyses.SITUATIONS[situation]()
    coloured = render_text(analysis, color=True)
    assert ANSI.search(coloured)
    assert ANSI.sub("", coloured) == render_text(analysis)


@pytest.mark.parametrize("width", range(50, 110))
def test_no_line_breaks_between_a_number_and_its_unit(width: int) -> None:
    for line in render_text(analyses.healthy(), width=width).splitlines():
        assert not re.match(r"\s*(%|ns|µs|ms|s)\b", line)
        assert not re.search(r"\b(rank|lane)$", line)


def test_columns_of_numbers_end_at_the_same_place() -> None:
    lines = render_text(analyses.healthy()).splitlines()
    first = lines.index("Lanes") + 4
    rows = lines[first : first + 2]
    assert [row.partition("  ")[0] for row in rows] == ["rank 0", "rank 1"]
    ends = [[match.end() for match in re.finditer(r"\S+ (?:%|ms)", row)] for row in rows]
    assert ends[0] == ends[1]
    assert len(ends[0]) == 8


def test_a_terminal_cannot_be_driven_by_a_name() -> None:
    report = render_text(analyses.hostile())
    assert r"\x1b[2J\x1b]0;owned\x07 \r\n" in report
    assert "\x1b" not in report


def test_a_report_that_leaves_the_screen_ends_with_what_began_it() -> None:
    analysis = analyses.explained()
    report = render_text(analysis)
    lines = report.splitlines()
    assert render_text(analysis, height=len(lines) + 1) == report
    longer = render_text(analysis, height=len(lines))
    assert longer.startswith(report)
    end = longer.removeprefix(report).splitlines()
    assert end[:2] == ["", "In short"]
    paragraph = lines[lines.index("") + 1 : lines.index("Findings") - 1]
    assert end[2 : 2 + len(paragraph)] == paragraph
    headlines = [line for line in lines if re.match("(CRITICAL|WARNING) ", line)]
    ends = end[2 + len(paragraph) :]
    assert [line.partition("]")[0] for line in ends] == [line.partition("]")[0] for line in headlines]
    assert headlines
    assert all(re.fullmatch(r": \d+\.\d %", line.partition("]")[2]) for line in ends)


def test_a_finding_that_cost_nothing_measured_is_told_without_a_loss() -> None:
    explained = analyses.explained()
    finding = replace(
        explained.findings[0], severity=Severity.WARNING, lost_ns=0, share=0.0, detail="Seen on the host."
    )
    lines = render_text(replace(explained, findings=(finding,)), height=1).splitlines()
    headline = f"WARNING {finding.title} [{finding.code}]"
    assert lines[lines.index(headline) + 1] == "    Seen on the host."
    assert lines[-1] == headline
