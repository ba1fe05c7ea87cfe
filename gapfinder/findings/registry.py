"""All rules: gapfinder's own, and those of plug-ins (entry points of the group `gapfinder.rules`)."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from gapfinder.explanations import Finding, Severity
from gapfinder.findings.rules import (
    accumulation_not_skipping_sync,
    allocator_churn,
    blocking_call,
    capture_quality,
    checkpoint_pause,
    data_starved,
    data_wait,
    device_wait,
    exposed_collective,
    exposed_copies,
    gc_pause,
    graph_opaque,
    host_code,
    late_buckets,
    launch_bound,
    many_small_collectives,
    offload_copies,
    overlap_broken,
    pageable_copies,
    pipeline_bubble,
    single_stream,
    slow_link,
    slow_nic,
    slow_node,
    slow_rank,
    step_time_drift,
    straggler,
    sync_stall,
    unbalanced_input,
    zero_overlap_off,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from importlib.metadata import EntryPoint

    from gapfinder.findings.page import Page
    from gapfinder.model import Analysis

    Rule = Callable[[Analysis], Finding | Iterable[Finding] | None]

PLUGINS = "gapfinder.rules"

_OWN = (
    overlap_broken,
    late_buckets,
    single_stream,
    exposed_collective,
    slow_nic,
    slow_link,
    slow_node,
    straggler,
    slow_rank,
    unbalanced_input,
    data_starved,
    data_wait,
    sync_stall,
    pageable_copies,
    exposed_copies,
    offload_copies,
    allocator_churn,
    launch_bound,
    host_code,
    blocking_call,
    device_wait,
    graph_opaque,
    many_small_collectives,
    accumulation_not_skipping_sync,
    checkpoint_pause,
    gc_pause,
    zero_overlap_off,
    pipeline_bubble,
    step_time_drift,
    capture_quality,
)
PAGES: dict[str, Page] = {module.PAGE.code: module.PAGE for module in _OWN}
"""The page of each own rule, by code, in the order docs/rules.md has them."""

RULES: tuple[Rule, ...] = tuple(module.rule for module in _OWN)

_ON_THE_HOST: tuple[Rule, ...] = (slow_rank.rule, data_wait.rule)
"""The rules that need no lane."""


def explained(analysis: Analysis) -> Analysis:
    """Return `analysis` with its findings, most lost time first; a plug-in that does not work becomes a note."""
    findings, broken = _found(analysis)
    coverage = replace(analysis.coverage, notes=analysis.coverage.notes + broken)
    return replace(analysis, findings=findings, coverage=coverage)


def plugins() -> dict[str, EntryPoint]:
    """Return the entry points of rules in other packages, by name."""
    return {point.name: point for point in sorted(entry_points(group=PLUGINS), key=lambda point: point.name)}


def _found(analysis: Analysis) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Return all findings, and what is wrong with plug-ins."""
    if not analysis.lanes:
        return _in_order(finding for rule in _ON_THE_HOST for finding in _as_list(rule(analysis))), ()
    found = [finding for rule in RULES for finding in _as_list(rule(analysis))]
    broken = []
    for name, point in plugins().items():
        try:
            theirs = _as_list(point.load()(analysis))
        except Exception as error:  # noqa: BLE001 (whatever a stranger's rule raises, the report must appear)
            broken.append(f"the rule {name} ({point.value}) failed: {type(error).__name__}: {error}")
        else:
            found += theirs
    return _in_order(found), tuple(broken)


def _in_order(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings, most lost time first and what is only to know last."""
    return tuple(sorted(found, key=lambda one: (one.severity is Severity.INFO, -one.lost_ns, one.code, one.lane or 0)))


def _as_list(result: Finding | Iterable[Finding] | None) -> list[Finding]:
    """Return a rule's result as a list of findings; TypeError where it is none."""
    found = [] if result is None else [result] if isinstance(result, Finding) else list(result)
    for one in found:
        if not isinstance(one, Finding):
            raise TypeError(f"returned {type(one).__name__}, not Finding")
    return found
