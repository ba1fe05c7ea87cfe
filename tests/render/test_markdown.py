"""The report for pull requests, read back with a CommonMark parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import analyses
import pytest
from analysis_values import MS, analysis, budget, hole, lane, total
from markdown_it import MarkdownIt

from gapfinder.explanations import Cause
from gapfinder.render import render_markdown

if TYPE_CHECKING:
    from markdown_it.token import Token


def tokens(situation: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(render_markdown(analyses.SITUATIONS[situation]()))


@pytest.mark.parametrize("situation", analyses.SITUATIONS)
def test_only_headings_tables_lists_and_text(situation: str) -> None:
    kinds = {token.type.removesuffix("_open").removesuffix("_close") for token in tokens(situation)}
    assert kinds <= {
        "heading", "paragraph", "inline", "table", "thead", "tbody", "tr", "th", "td", "bullet_list", "list_item",
    }  # fmt: skip
    inline = {child.type for token in tokens(situation) for child in token.children or []}
    assert inline <= {"text", "text_special"}


@pytest.mark.parametrize("situation", [name for name in analyses.SITUATIONS if name != "nothing"])
def test_every_row_has_a_cell_for_every_column(situation: str) -> None:
    lines = render_markdown(analyses.SITUATIONS[situation]()).splitlines()
    tables = "\n".join(line if line.startswith("|") else "" for line in lines).split("\n\n")
    rows = [[line.replace("\\|", "").count("|") for line in table.split("\n") if line] for table in tables]
    assert any(rows)
    assert all(len(set(counts)) == 1 for counts in rows if counts)


def test_a_hostile_name_reads_as_itself() -> None:
    cells = ["".join(child.content for child in token.children or []) for token in tokens("hostile")]
    assert analyses.HOSTILE_SHOWN in cells
    assert analyses.HOSTILE_SHOWN + "1" in cells
    assert f"note about {analyses.HOSTILE_SHOWN}" in cells


def test_a_long_kernel_name_is_cut() -> None:
    spent = budget(compute=MS)
    name = "k" * 500
    blank = hole(0, idle=MS, cause=Cause.UNKNOWN, before=name)
    only = lane(spent, overlap_reason="none", holes=(blank,))
    report = render_markdown(analysis(only, total=total(1, spent, reason="none")))
    assert f"| {'k' * 59}… |" in report
