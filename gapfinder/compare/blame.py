"""Why a metric got worse: the finding that grew most and can explain it, else the cause that did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from gapfinder.compare.changes import cause_changes, finding_changes
from gapfinder.compare.scaled import scaled_alike
from gapfinder.units import format_duration, format_share

if TYPE_CHECKING:
    from gapfinder.compare.metrics import Metric
    from gapfinder.compare.snapshot import FindingTotal, Snapshot
    from gapfinder.explanations import Cause


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """What explains that a metric got worse.

    Attributes:
        finding, cause: what it is; one of them at most.
        words: it as the end of a sentence; empty where nothing explains it.
    """

    finding: str | None = None
    cause: Cause | None = None
    words: str = ""


class Blame:
    """What a candidate lost more time to than a baseline, by the numbers of `gapfinder diff`."""

    def __init__(self, candidate: Snapshot, *, baseline: Snapshot | None) -> None:
        """Without a baseline, what counts is what costs most."""
        self._candidate = candidate
        self._baseline = baseline

    def explain(self, metric: Metric) -> Explanation:
        """Return what explains the metric; nothing where nothing fitting was found or grew."""
        found = [one for one in self._candidate.findings if metric.can_be_explained_by(one.code)]
        worst = max(found, key=lambda one: (self._findings[one.code], one.lost_ns), default=None)
        if worst is not None and self._findings[worst.code] > 0:
            return Explanation(finding=worst.code, words=f": {self._finding_words(worst)}")
        causes = {cause: ns for cause, ns in self._causes.items() if cause in metric.causes}
        cause = max(causes, key=causes.__getitem__, default=None)
        if cause is None or causes[cause] <= 0:
            return Explanation()
        return Explanation(cause=cause, words=f": no finding explains it; {self._cause_words(cause)}")

    def _finding_words(self, finding: FindingTotal) -> str:
        known = () if self._baseline is None else self._baseline.findings
        is_new = self._baseline is not None and finding.code not in {one.code for one in known}
        new = ", new since the baseline" if is_new else ""
        return f"{finding.code} ({finding.title}; {format_share(finding.share)} of all time{new})"

    def _cause_words(self, cause: Cause) -> str:
        name, ns = cause.replace("_", " "), format_duration(self._causes[cause])
        if self._baseline is None:
            return f"most of the blanks is {name} ({ns} in all)"
        return f"of the blanks, {name} grew most (by {ns} a {self._changes[0]})"

    @cached_property
    def _changes(self) -> tuple[str, Counter[str], Counter[Cause]]:
        """What findings and causes grew by in which unit; without a baseline what they cost."""
        findings: Counter[str] = Counter()
        causes: Counter[Cause] = Counter()
        if self._baseline is None:
            for one in self._candidate.findings:
                findings[one.code] += one.lost_ns
            for lane in self._candidate.lanes:
                causes.update(lane.causes)
            return "capture", findings, causes
        alike = scaled_alike(self._baseline, self._candidate)
        for finding in finding_changes(*alike.scaled):
            findings[finding.code] += (finding.after_ns or 0) - (finding.before_ns or 0)
        for change in cause_changes(*alike.scaled):
            if change.cause is not None:
                causes[change.cause] += change.after_ns - change.before_ns
        return alike.unit.value, findings, causes

    @property
    def _findings(self) -> Counter[str]:
        return self._changes[1]

    @property
    def _causes(self) -> Counter[Cause]:
        return self._changes[2]
