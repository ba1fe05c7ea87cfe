"""data-wait: training processes spend much of their steps waiting for data, as the host saw it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gapfinder.explanations import Severity
from gapfinder.findings.lost import finding, share_of
from gapfinder.findings.page import Page
from gapfinder.findings.rules import data_starved
from gapfinder.findings.words import process_name
from gapfinder.processes import Phase
from gapfinder.units import format_duration, format_share

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

MUCH = 0.10

PAGE = Page(
    code="data-wait",
    title="Steps wait for data",
    meaning=(
        "The training process itself stood in data loading for a good part of its steps. No GPU work was captured, so "
        "what the GPU did meanwhile is not known; data-starved tells it where there is."
    ),
    measured=(
        "Time of the complete steps in data loading ranges of the thread that steps, over all processes; told from "
        "10 % of the step time upwards, and only where no GPU work was captured."
    ),
    change=data_starved.PAGE.change,
    beware=(
        "that a GPU stood still as long: work that was launched before may have gone on. Capture with --trace=cuda to "
        "know."
    ),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where no GPU work was captured and steps wait for data; a warning, as the GPU is not seen."""
    if analysis.lanes:
        return None
    waited = {
        index: process.steps.phases[Phase.DATA_LOADING] / sum(process.steps.phases.values())
        for index, process in enumerate(analysis.processes)
        if process.steps
    }
    total = sum(process.steps.phases[Phase.DATA_LOADING] for process in analysis.processes if process.steps)
    if share_of(analysis, total) < MUCH:
        return None
    count = sum(process.steps.count for process in analysis.processes if process.steps)
    worst = max(waited, key=lambda index: (waited[index], -index))
    where = f"; most on {process_name(analysis, worst)}: {format_share(waited[worst])}" if len(waited) > 1 else ""
    told = finding(
        analysis, PAGE, lost_ns=total, detail=f"{format_duration(total // count)} of a step on average{where}."
    )
    return told and replace(told, severity=Severity.WARNING)
