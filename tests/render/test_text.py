"""The report for a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import analyses
import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

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
