"""Causes, collectives, stragglers and findings, as the reports for people show them."""

from __future__ import annotations

import re
from dataclasses import replace

import analyses
import pytest
from analysis_values import MS, hole

from gapfinder.explanations import Cause, Evidence, Severity
from gapfinder.model import Analysis
from gapfinder.render import render_html, render_markdown, render_text
from gapfinder.render.evidence import evidence_words

RENDERERS = {"text": render_text, "markdown": render_markdown, "html": render_html}
every_renderer = pytest.mark.parametrize("renderer", RENDERERS)
SCREEN = 50


def words(renderer: str, analysis: Analysis) -> str:
    report = RENDERERS[renderer](analysis).partition("</style>")[2] or RENDERERS[renderer](analysis)
    return " ".join(re.sub(r"\\(?=\W)|<[^>]*>", "", report).split())


@every_renderer
def test_findings_come_right_after_the_verdict_in_their_order(renderer: str) -> None:
    report = words(renderer, analyses.explained())
    places = [
        report.index(text)
        for text in (
            "The longest hole is",
            "Findings",
            "The GPU waits for data",
            "Rank 1 is slower than the others, which wait",
            "The GPU waits for copies from pageable memory",
            "Why the holes are there",
        )
    ]
    assert places == sorted(places)
    assert "6.5 % of the time, 13.00 ms summed over 2 lanes" in report
    assert "3.5 % of the time, 7.000 ms summed over 2 lanes" in report
    assert "Change what straggler says." in report


@every_renderer
def test_without_findings_there_is_no_section_of_them(renderer: str) -> None:
    assert "Findings" not in words(renderer, analyses.healthy())


@every_renderer
def test_collectives_and_stragglers_have_their_numbers(renderer: str) -> None:
    report = words(renderer, analyses.explained())
    assert "2 operations found no partner on other lanes." in report
    assert "On rank 0 gradient synchronisation (3 a step) starts when 40.0 % of backward is over" in report
    for text in ("0x7f01", "22.20 GB/s", "33.3 %", "50.00 MB", "4 of 5", "1.30 times", "27.00 ms"):
        assert text in report


@every_renderer
def test_holes_say_what_was_seen(renderer: str) -> None:
    report = words(renderer, analyses.explained())
    assert re.search("poll for 12.00 ms inside (`|&#x27;|)data loading", report)
    assert "AllReduce: rank 1 came late: 7.000 ms wait, 4.000 ms transfer" in report
    assert "8.000 MB copied at 4.000 GB/s from pageable memory" in report


def test_columns_that_nothing_fills_are_left_out() -> None:
    bare = replace(
        analyses.explained().collectives[0],
        per_step=None, bytes_total=None, wait_ns=None, transfer_ns=None, bus_bandwidth=None, ideal_ns=None,
        ideal_share=None, late_lane=None, late_share=None,
    )  # fmt: skip
    report = render_text(replace(analyses.explained(), collectives=(bare,), buckets=()))
    lines = report[report.index("Collectives") :].splitlines()
    header = next(index for index, line in enumerate(lines) if line.startswith("operation"))
    assert lines[header].split() == ["operation", "n", "exposed", "hidden"]
    assert lines[header + 1].split() == ["AllReduce", "6", "11.00", "ms", "67.6", "%"]


def test_what_to_act_on_fits_one_screen() -> None:
    one = analyses.explained().findings[0]
    long = replace(one, detail="Many numbers. " * 15, advice="Change this setting. " * 12)
    many = tuple(replace(long, code=f"code-{number}") for number in range(12))
    know = tuple(replace(long, severity=Severity.INFO, code=f"info-{number}") for number in range(12))
    lines = render_text(replace(analyses.explained(), findings=many + know)).splitlines()
    assert lines.index("Lanes") <= SCREEN + 5
    assert "14 findings more: see --format json or html" in lines


def test_the_bars_of_causes_share_one_scale_and_are_said_in_words() -> None:
    page = render_html(analyses.explained())
    bars = re.findall(r'<div class="bar causes" role="img" aria-label="([^"]*)">(.*?)</div>', page)
    assert bars[0][0] == (
        "rank 0: holes of 27.00 ms: data loading 48.1 %, exposed communication wait 25.9 %, exposed communication "
        "transfer 14.8 %, host to device copy 7.4 %, launch bound 3.7 %"
    )
    widths = [int(width) for width in re.findall(r"flex-grow:(\d+)", bars[0][1])]
    assert widths == [13 * MS, 7 * MS, 4 * MS, 2 * MS, 1 * MS]
    assert bars[1] == ("rank 1: holes of 0 ns: none", f'<span class="rest" style="flex-grow:{27 * MS}"></span>')


def test_every_cause_has_a_look_of_its_own() -> None:
    page = render_html(analyses.explained())
    tones = {cause: re.search(rf"\.{cause} {{ --tone: ([^;]+);", page) for cause in Cause}
    assert [cause for cause, tone in tones.items() if tone is None] == []
    assert len({tone[1] for tone in tones.values() if tone}) == len(Cause)


@pytest.mark.parametrize(
    ("cause", "evidence", "told"),
    [
        (Cause.SYNCHRONISATION, Evidence(call="cudaStreamSynchronize", call_ns=3 * MS, nvtx="loss.item"),
         "cudaStreamSynchronize for 3.000 ms inside `loss.item`"),
        (Cause.CHECKPOINT, Evidence(nvtx="checkpoint"), "inside `checkpoint`"),
        (Cause.LAUNCH_BOUND, Evidence(launch_delay_ns=2 * MS), "next launch 2.000 ms after its start"),
        (Cause.DEVICE_WAIT, Evidence(launch_delay_ns=-2 * MS), "next launch 2.000 ms before its start"),
        (Cause.DATA_LOADING, Evidence(launch_delay_ns=2 * MS), ""),
        (Cause.EXPOSED_TRANSFER, Evidence(operation="AllReduce", transfer_ns=4 * MS, wait_ns=0, late_lane=1),
         "AllReduce: 4.000 ms transfer"),
        (Cause.EXPOSED_WAIT, Evidence(operation="AllReduce", wait_ns=7_090_000, transfer_ns=4_020_000, late_lane=1),
         "AllReduce: rank 1 came late: 7.090 ms wait, 4.020 ms transfer"),
        (Cause.EXPOSED_TRANSFER, Evidence(transfer_ns=4 * MS, call="poll", call_ns=MS), "4.000 ms transfer"),
        (Cause.COPY, Evidence(copied_bytes=1_000, copy_bandwidth=None), "1.000 kB copied"),
        (Cause.UNKNOWN, Evidence(), ""),
    ],
)  # fmt: skip
def test_evidence_is_told_in_words(cause: Cause, evidence: Evidence, told: str) -> None:
    blank = hole(0, idle=10 * MS, cause=cause, evidence=replace(evidence, shares={cause: 10 * MS}))
    assert evidence_words(analyses.explained(), blank) == told


def test_a_hole_of_several_causes_says_how_it_divides() -> None:
    shares = {Cause.DATA_LOADING: 6 * MS, Cause.SYNCHRONISATION: 4 * MS, Cause.DEVICE_WAIT: 1_000}
    blank = hole(0, idle=10 * MS + 1_000, cause=Cause.DATA_LOADING, evidence=Evidence(shares=shares))
    assert evidence_words(analyses.explained(), blank) == "60.0 % data loading, 40.0 % synchronisation"
