"""Findings as every report for people words them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Severity
from gapfinder.units import format_count, format_duration, format_share

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis


def findings_to_act_on(analysis: Analysis) -> list[Finding]:
    """Return the findings above info, in their order."""
    return [finding for finding in analysis.findings if finding.severity is not Severity.INFO]


def findings_to_know(analysis: Analysis) -> list[Finding]:
    """Return the findings of severity info, in their order."""
    return [finding for finding in analysis.findings if finding.severity is Severity.INFO]


def lost_words(analysis: Analysis, finding: Finding) -> str:
    """Return what a finding cost ("17.6 % of the time, 389.1 ms summed over 8 lanes"); empty where it cost nothing."""
    if not finding.lost_ns:
        return ""
    count, noun = len(analysis.lanes), "lane"
    if not analysis.lanes:
        count, noun = sum(process.steps is not None for process in analysis.processes), "process"
    over = f" summed over {format_count(count, noun)}" if count > 1 else ""
    return f"{format_share(finding.share)} of the time, {format_duration(finding.lost_ns)}{over}"
