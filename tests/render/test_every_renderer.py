"""What holds for every renderer in every situation."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace

import analyses
import pytest
from analysis_values import host_steps

from gapfinder.model import Analysis
from gapfinder.processes import Phase
from gapfinder.render import render_html, render_json, render_markdown, render_text

Renderer = Callable[[Analysis], str]

RENDERERS: dict[str, Renderer] = {
    "text": render_text,
    "json": render_json,
    "markdown": render_markdown,
    "html": render_html,
}
FOR_PEOPLE = [name for name in RENDERERS if name != "json"]

every_renderer = pytest.mark.parametrize("renderer", RENDERERS)
for_people = pytest.mark.parametrize("renderer", FOR_PEOPLE)
every_situation = pytest.mark.parametrize("situation", analyses.SITUATIONS)


def rendered(renderer: str, situation: str) -> str:
    return RENDERERS[renderer](analyses.SITUATIONS[situation]())


def words(renderer: str, situation: str) -> str:
    """Return a report without the line breaks and no-break spaces of its layout."""
    return " ".join(rendered(renderer, situation).split())


@every_renderer
@every_situation
def test_the_same_analysis_gives_the_same_bytes(renderer: str, situation: str) -> None:
    assert rendered(renderer, situation).encode() == rendered(renderer, situation).encode()


@every_renderer
@every_situation
def test_a_report_is_lines_without_control_characters(renderer: str, situation: str) -> None:
    report = rendered(renderer, situation)
    assert report.endswith("\n")
    assert report.encode()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", report)


@for_people
@every_situation
def test_a_lane_is_a_rank_only_where_the_rank_is_known(renderer: str, situation: str) -> None:
    report = rendered(renderer, situation)
    analysis = analyses.SITUATIONS[situation]()
    lanes = analysis.lanes
    knows_ranks = any(one.rank is not None for one in (*lanes, *analysis.processes))
    assert bool(re.search(r"\brank[ \xa0]\d", report)) == knows_ranks
    assert bool(re.search(r"\blane[ \xa0]\d", report)) == (bool(lanes) and not knows_ranks)


@for_people
def test_idle_time_that_was_not_measured_has_no_number(renderer: str) -> None:
    report = words(renderer, "idle_unknown")
    assert "Idle time was not measured: CUDA graphs were launched, but the export holds no graph rows." in report
    assert "99.9 %" not in report
    assert "999.0 ms" not in report
    assert "900.0 ms" not in report
    assert "computed at least 0.1 %" in report
    assert "unknown" in report


@for_people
def test_overlap_that_was_not_measured_has_no_number(renderer: str) -> None:
    report = words(renderer, "graphs")
    assert "Overlap was not measured: communication may run inside CUDA graphs that were traced whole." in report
    assert "was exposed communication" not in report
    assert "none was hidden" not in report
    assert "unknown" in report


@for_people
def test_where_nothing_could_communicate_there_is_no_overlap_to_know(renderer: str) -> None:
    report = words(renderer, "no_communication")
    assert "Overlap was not measured: no communication operation ran." in report
    assert re.search(r"\bnone\b", report.partition("</style>")[2] or report)
    assert "unknown" not in (report.partition("</style>")[2] or report)


@for_people
def test_a_structural_zero_is_explained(renderer: str) -> None:
    assert (
        "None of the communication was hidden behind compute: communication and compute ran on one stream, so they cannot overlap."
        in words(renderer, "one_stream")
    )


@for_people
def test_a_shared_gpu_is_counted_once_and_said(renderer: str) -> None:
    report = words(renderer, "shared_gpu")
    assert "The 2 lanes on 1 GPU computed 30.0 % of the time." in report
    assert "one GPU is shared by lane 0 and lane 1" in report


@for_people
def test_without_gpu_work_the_report_says_what_to_do(renderer: str) -> None:
    report = words(renderer, "nothing")
    assert "No GPU operation was found in train.sqlite, so nothing was measured." in report
    assert "--trace=cuda,nvtx,osrt" in report
    assert "holds 1 CUDA API call and no kernel or copy" in report.replace("\\", "")
    assert not re.search(r"\d %|\d (?:ns|µs|ms|s)\b", report)


@for_people
def test_without_gpu_work_the_host_is_told(renderer: str) -> None:
    report = words(renderer, "host_only")
    assert (
        "No GPU work was captured. 2 ranks ran 3 steps each of 40.00 ms (p50); 30.0 % of it was waiting for data."
        in report
    )
    assert "The others wait for rank 1." in report
    assert "summed over 2 processes" in report
    assert "nothing was measured" not in report


def test_phases_of_a_lanes_process_are_told_beside_its_steps() -> None:
    healthy = analyses.healthy()
    plain, phased = (
        replace(healthy, processes=(replace(analyses.host_only().processes[0], lanes=(0,), steps=steps),))
        for steps in (host_steps({Phase.OTHER: 40}), host_steps({Phase.FORWARD: 30, Phase.OTHER: 10}))
    )
    assert render_text(plain) == render_text(healthy)
    assert "Training processes" in render_text(phased)
    assert "Longest steps on the host" not in render_text(phased)


@for_people
def test_a_long_list_says_how_much_of_it_is_there(renderer: str) -> None:
    report = words(renderer, "many_lanes")
    assert re.search(r"\b\d+ of 300 lanes shown", report)
    assert re.search(r"\b\d+ of 60 steps shown", report)
    assert re.search(r"\b\d+ of 3,000 holes shown", report)
    assert "Worst overlap: rank 299, which hid none of its communication" in report
    assert report.count("rank 299") > 2
    assert len(report) < 1_000_000


@for_people
def test_the_verdict_of_a_healthy_run(renderer: str) -> None:
    assert (
        "The 2 GPUs computed 77.0 % of the time. 13.1 % was exposed communication (13.33 ms in the mean step), 7.9 % "
        "was idle and 2.0 % was copies alone. 57.9 % of the communication was hidden behind compute. Worst overlap: "
        "rank 1, which hid 50.0 % of its communication and computed 74.2 % of the time. The longest hole is 24.00 ms "
        "on rank 1 at 60.280000 s (cause: exposed communication), after cutlass::Kernel2 and before layer_norm."
    ) in words(renderer, "healthy").replace("layer\\_norm", "layer_norm")


def test_without_colour_rich_is_not_loaded() -> None:
    code = (
        "import sys, analyses\n"
        "from gapfinder.render import render_html, render_json, render_markdown, render_text\n"
        "[render(analyses.healthy()) for render in (render_html, render_json, render_markdown, render_text)]\n"
        "sys.exit('rich' in sys.modules)\n"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, check=False).returncode
        == 0
    )
