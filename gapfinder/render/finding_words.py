"""Findings as every report for people words them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Severity
from gapfinder.units import format_duration, format_share

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis


def findings_to_act_on(analysis: Analysis) -> list[Finding]:
    """Return the findings above info, in their order."""
    return [finding for finding in analysis.findings if finding.severity is not Severity.INFO]


def findings_to_know(analysis: Analysis) -> list[Finding]:
    """Return the findings of severity info, in their order."""
    return [finding for finding in analysis.findings if finding.severity is Severity.INFO]


def lost_words(finding: Finding, *, lanes: int) -> str:
    """Return what a finding cost ("17.6 % of the time, 389.1 ms over 8 GPUs"); empty where it cost nothing."""
    if not finding.lost_ns:
        return ""
    over = f" summed over {lanes} lanes" if lanes > 1 else ""
    return f"{format_share(finding.share)} of the time, {format_duration(finding.lost_ns)}{over}"
