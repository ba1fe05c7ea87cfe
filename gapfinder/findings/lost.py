"""What was lost to which cause, and the one way from there to a finding.

The ledger: every ns of a hole has one cause, and each cause is charged to one rule (docs/rules.md says which), so no ns
is lost twice. Blanks too short to be holes are a pot of their own.
"""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from gapfinder.explanations import EXPOSED_CAUSES, IDLE_CAUSES, Cause, Evidence, Finding, Severity
from gapfinder.findings.words import call_name, capitalised, range_name
from gapfinder.units import format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gapfinder.findings.page import Page
    from gapfinder.model import Analysis, Hole, Lane

CRITICAL_SHARE = 0.10
WARNING_SHARE = 0.02
MENTIONED_SHARE = 0.001
"""Shares of all lanes' windows from which a finding is critical, a warning, or worth a word; see `share_of`."""

_ADVICE_SENTENCES = 2
_MOST = 0.5


def severity_of(share: float) -> Severity:
    """Return how much a loss of this share of the time matters."""
    if share >= CRITICAL_SHARE:
        return Severity.CRITICAL
    return Severity.WARNING if share >= WARNING_SHARE else Severity.INFO


def finding(  # noqa: PLR0913 (all but the first two by name; each is a field of the result)
    analysis: Analysis,
    page: Page,
    *,
    lost_ns: int,
    detail: str,
    title: str | None = None,
    advice: str | None = None,
    lane: int | None = None,
    always: bool = False,
) -> Finding | None:
    """Return the page's finding; None where too little was lost to mention it, unless `always`."""
    share = share_of(analysis, lost_ns)
    if share < MENTIONED_SHARE and not always:
        return None
    return Finding(
        code=page.code,
        severity=severity_of(share),
        title=title or page.title,
        detail=capitalised(detail),
        advice=advice or " ".join(page.change[:_ADVICE_SENTENCES]),
        lost_ns=lost_ns,
        share=share,
        lane=lane,
    )


def share_of(analysis: Analysis, ns: int) -> float:
    """Return `ns`, summed over lanes, as a share of all lanes' windows; without lanes, of all processes' steps."""
    window = sum(lane.window.duration_ns for lane in analysis.lanes) if analysis.lanes else step_time(analysis)
    return ns / window if window else 0.0


def step_time(analysis: Analysis) -> int:
    """Return the length of all steps on the host, summed over processes."""
    return sum(sum(process.steps.phases.values()) for process in analysis.processes if process.steps)


def lost_by_lane(analysis: Analysis, *causes: Cause) -> dict[int, int]:
    """Return the hole time charged to any of `causes`, by lane; lanes without any are left out."""
    lost = {
        index: sum(lane.causes.get(cause, 0) for cause in causes) for index, lane in analysis.measured_lanes().items()
    }
    return {index: ns for index, ns in lost.items() if ns}


def lost_to(analysis: Analysis, *causes: Cause) -> int:
    """Return the hole time charged to any of `causes`, summed over lanes."""
    return sum(lost_by_lane(analysis, *causes).values())


def idle_in_short_blanks(lane: Lane) -> int:
    """Return the idle time that is not in holes, because each blank was too short for one."""
    return lane.budget.idle_ns - sum(ns for cause, ns in lane.causes.items() if cause in IDLE_CAUSES)


def exposed_in_short_blanks(lane: Lane) -> int:
    """Return the exposed communication that is not in holes, because each blank was too short for one."""
    return lane.budget.exposed_ns - sum(ns for cause, ns in lane.causes.items() if cause in EXPOSED_CAUSES)


def mostly_of(analysis: Analysis, lost: Mapping[int, int]) -> int | None:
    """Return the lane that lost more than half of it all; None where there is none, or only one lane at all."""
    if len(analysis.lanes) == 1 or not lost:
        return None
    worst = max(lost, key=lambda index: (lost[index], -index))
    return worst if lost[worst] > _MOST * sum(lost.values()) else None


def amount(analysis: Analysis, lost_ns: int) -> str:
    """Return a loss in terms of a step where there are steps, else of one GPU."""
    if not lost_ns:
        return "no GPU time lost"
    means = [lane.steps.mean_ns for lane in analysis.lanes if lane.steps]
    if means:
        step = median(means)
        lost_in_step = round(share_of(analysis, lost_ns) * step)
        return f"about {format_duration(lost_in_step)} of a step of {format_duration(round(step))}"
    each = format_duration(round(lost_ns / max(len(analysis.lanes), 1)))
    return f"{each} on each GPU" if len(analysis.lanes) > 1 else f"{each} in all"


def holes_of(analysis: Analysis, *causes: Cause) -> list[tuple[int, Hole]]:
    """Return (lane, hole) of the kept holes with one of `causes` as main cause, the longest first."""
    holes = [(index, hole) for index, lane in analysis.measured_lanes().items() for hole in lane.holes.top]
    mine = [(index, hole) for index, hole in holes if hole.cause in causes]
    return sorted(mine, key=lambda item: (-item[1].duration_ns, item[1].start_ns, item[0]))


def seen_in(analysis: Analysis, *causes: Cause) -> str:
    """Return where the launching threads were for half of the longest holes of these causes, in brackets."""
    evidence = [(hole.evidence, hole.duration_ns) for _, hole in holes_of(analysis, *causes)]
    weighed = sum(ns for _, ns in evidence)
    calls = ((one.call and call_name(one.call), one.call_ns or 0) for one, _ in evidence)
    call = _heaviest(calls, at_least=weighed / 2)
    nvtx = _heaviest(((one.nvtx, ns) for one, ns in evidence), at_least=weighed / 2)
    places = [f"in `{call}`" if call else "", f"inside `{range_name(nvtx)}`" if nvtx else ""]
    words = " ".join(filter(None, places))
    return f" (in the longest holes mostly {words})" if words else ""


def _heaviest(named: Iterator[tuple[str | None, int]], *, at_least: float) -> str | None:
    weights: Counter[str] = Counter()
    for name, ns in named:
        if name:
            weights[name] += ns
    heavy = [name for name, weight in weights.items() if weight >= at_least]
    return min(heavy, key=lambda name: (-weights[name], name), default=None)


def evidence_of(analysis: Analysis, *causes: Cause) -> list[Evidence]:
    """Return what was seen in the longest holes of these causes."""
    return [hole.evidence for _, hole in holes_of(analysis, *causes)]


def shares_by_lane(analysis: Analysis, lost: Mapping[int, int]) -> str:
    """Return between which shares of its window each lane loses, as a clause; empty where all lose the same."""
    shares = [lost.get(index, 0) / lane.window.duration_ns for index, lane in analysis.measured_lanes().items()]
    low, high = format_share(min(shares)), format_share(max(shares))
    return f", between {low} and {high} of a lane's time" if low != high else ""
