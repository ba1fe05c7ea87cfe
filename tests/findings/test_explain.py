"""`gapfinder explain`: pages by code and by words."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from gapfinder.cli.app import commands
from gapfinder.errors import InputError
from gapfinder.findings.explain import explain, listing
from gapfinder.findings.faults import FAULTS
from gapfinder.findings.page import Page
from gapfinder.findings.registry import PAGES


def heading(*words: str) -> str:
    return explain(words).partition("\n")[0]


@pytest.mark.parametrize("code", [*PAGES, *FAULTS])
def test_a_code_shows_its_own_page(code):
    assert heading(code) == heading(code.replace("-", "_").upper()) == heading(*code.split("-")) == f"## {code}"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("NCCL timeout", "nccl-timeout"),
        ("watchdog caught collective operation timeout", "nccl-timeout"),
        ("unused parameter", "unused-parameter"),
        ("why are 8 GPUs slower than one", "slower-than-one-gpu"),
        ("loss jumps after resume", "loss-jumps-after-resume"),
        ("one card out of memory", "one-gpu-out-of-memory"),
        ("OOM", "one-gpu-out-of-memory"),
        ("silent hang", "silent-hang"),
        ("NIC at 100 Mb/s", "slow-network-card"),
        ("tmp full", "temporary-folder-full"),
        ("slower in the second week", "slower-week-by-week"),
        ("num_workers", "data-starved"),
        ("bucket_cap_mb", "late-buckets"),
        ("tokens routed to experts", "unbalanced-input"),
        ("garbage collector", "gc-pause"),
        ("pin_memory", "pageable-copies"),
        ("loss.item()", "sync-stall"),
        ("connection refused", "nccl-timeout"),
        ("dataloader workers", "data-starved"),
        ("no_sync micro-steps", "accumulation-not-skipping-sync"),
    ],
)
def test_words_find_the_page_that_fits(words, code):
    assert heading(*words.split()) == f"## {code}"


def test_other_pages_are_named():
    assert re.search(r"^See also: .*silent-hang", explain(["log", "folders"]), re.MULTILINE)


def test_nothing_found_names_the_nearest_codes():
    with pytest.raises(InputError, match=r"nothing is written about 'stragler'; the nearest codes are straggler"):
        explain(["stragler"])
    result = CliRunner().invoke(commands, ["explain", "xylophone"])
    assert result.exit_code == 2
    assert "nearest codes" in result.stderr
    assert result.stdout == ""


def test_a_short_word_is_no_beginning_of_another():
    with pytest.raises(InputError, match="nothing is written about 'nan'"):
        explain(["nan"])


def test_without_words_every_code_is_listed():
    result = CliRunner().invoke(commands, ["explain"])
    assert result.exit_code == 0
    assert result.stdout == listing()
    assert {line.split()[0] for line in listing().splitlines() if line.startswith("  ")} == {*PAGES, *FAULTS}


def test_faults_name_findings_that_exist():
    assert {code for fault in FAULTS.values() for code in fault.findings} <= set(PAGES)


def test_the_fault_table_is_whole():
    """The eight faults and crashes that the project promises, by what a person would call them."""
    promised = {
        "nccl-timeout", "unused-parameter", "slower-than-one-gpu", "loss-jumps-after-resume", "one-gpu-out-of-memory",
        "silent-hang", "slow-network-card", "temporary-folder-full",
    }  # fmt: skip
    assert promised <= set(FAULTS)
    assert all(fault.causes and fault.checks and fault.remedies for fault in FAULTS.values())


def test_a_page_is_laid_out_for_a_terminal():
    page = Page(
        code="my-code",
        title="It waits",
        meaning="word " * 40,
        measured="m.",
        change=("do " * 50, "then"),
        beware="b.",
    )
    lines = page.markdown().splitlines()
    assert lines[:2] == ["## my-code", ""]
    assert lines[2].startswith("**It waits.** word word")
    assert max(map(len, lines)) <= 100
    assert [line[:4] for line in lines if "do do" in line] == ["- do", "  do"]
    assert lines[-1] == "*It does not mean:* b."
