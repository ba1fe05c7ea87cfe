"""What a person reads first and last: the verdict in words, and the notes on what could not be measured."""

from __future__ import annotations

from itertools import chain
from statistics import median
from typing import TYPE_CHECKING

from gapfinder.findings.words import lane_name, lane_names, listed, process_name
from gapfinder.processes import Phase
from gapfinder.render.words import (
    cause_words,
    computing,
    short_name,
    worst_holes,
    worst_lane,
)
from gapfinder.units import format_count, format_duration, format_share, format_time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.model import Analysis, Total

_NOTHING = (
    "No GPU operation was found in {files}, so nothing was measured. Check that the program reached its GPU work while "
    "nsys was recording, that CUDA was traced (nsys profile --trace=cuda,nvtx,osrt), and that nsys started the "
    "processes that use the GPUs: put it before the launcher or before each rank."
)

_WORTH_NAMING = 0.01
"""How far, as a share, the worst lane must lie below all lanes together to be named."""


def verdict(analysis: Analysis) -> str:
    """Return the paragraph a person reads first: what was computed, what was lost, most first, and where."""
    total = analysis.total
    if total is None:
        return _on_the_host(analysis) or _NOTHING.format(files=listed(analysis.source.files))
    sentences = (
        _computed(analysis, total),
        _losses(analysis, total),
        _overlap(analysis, total),
        _worst(analysis, total),
        _longest_hole(analysis),
    )
    return " ".join(sentence for sentence in sentences if sentence)


def notes(analysis: Analysis) -> tuple[str, ...]:
    """Return what could not be measured and what to know: the capture's own notes, then what they do not say yet."""
    own = analysis.coverage.notes
    reasons = (remark for remark, reason in _reasons(analysis) if not any(reason in note for note in own))
    return tuple(dict.fromkeys(chain(own, reasons, _shared_gpus(analysis))))


def _on_the_host(analysis: Analysis) -> str:
    """Return what the training processes did, where no GPU work was captured; empty where they have no steps."""
    all_steps = [process.steps for process in analysis.processes if process.steps]
    if not all_steps:
        return ""
    ranks = {process.rank for process in analysis.processes if process.steps}
    noun = "process" if None in ranks or len(ranks) < len(all_steps) else "rank"
    fewest, most = min(steps.count for steps in all_steps), max(steps.count for steps in all_steps)
    count = format_count(most, "step") if fewest == most else f"{format_count(fewest)} to {format_count(most, 'step')}"
    each = " each" if len(all_steps) > 1 else ""
    length = format_duration(round(median(steps.p50_ns for steps in all_steps)))
    waited = sum(steps.phases[Phase.DATA_LOADING] for steps in all_steps)
    share = waited / sum(sum(steps.phases.values()) for steps in all_steps)
    waiting = f"; {format_share(share)} of it was waiting for data" if waited else ""
    sentence = f"{format_count(len(all_steps), noun)} ran {count}{each} of {length} (p50){waiting}."
    slow = [process_name(analysis, one.process) for one in analysis.slow_ranks]
    slower = f" The others wait for {listed(slow)}." if slow else ""
    return f"No GPU work was captured. {sentence}{slower}"


def _computed(analysis: Analysis, total: Total) -> str:
    gpus = len({min(index, *lane.shares_gpu_with, index) for index, lane in enumerate(analysis.lanes)})
    subject = "The GPU" if total.lanes == 1 else f"The {format_count(total.lanes, 'GPU')}"
    if gpus < total.lanes:
        subject = f"The {format_count(total.lanes, 'lane')} on {format_count(gpus, 'GPU')}"
    at_least = "" if total.is_idle_known else "at least "
    return f"{subject} computed {at_least}{format_share(total.budget.compute_ns / total.budget.window_ns)} of the time."


def _losses(analysis: Analysis, total: Total) -> str:
    """Return the time without compute by kind, most first."""
    budget = total.budget
    exposed = " was exposed communication"
    if all(lane.steps for lane in analysis.lanes):
        exposed += f" ({format_duration(_exposed_in_mean_step(analysis))} in the mean step)"
    losses = [
        (budget.exposed_ns, exposed),
        (budget.graph_only_ns, " was spent in CUDA graphs (what is inside was not captured)"),
        (budget.copy_only_ns, " was copies alone"),
        (budget.idle_ns if total.is_idle_known else 0, " was idle"),
    ]
    told = [f"{format_share(ns / budget.window_ns)}{what}" for ns, what in sorted(losses, reverse=True) if ns]
    sentence = f"{listed(told)}." if told else ""
    if total.idle_reason:
        sentence = f"{sentence} Idle time was not measured: {_clause(total.idle_reason)}.".strip()
    return sentence


def _exposed_in_mean_step(analysis: Analysis) -> int:
    steps = [lane.steps for lane in analysis.lanes if lane.steps]
    return sum(one.total.exposed_ns for one in steps) // sum(one.count for one in steps)


def _overlap(analysis: Analysis, total: Total) -> str:
    if total.overlap_ratio is None:
        return f"Overlap was not measured: {_clause(total.overlap_reason)}."
    if total.overlap_ratio > 0:
        return f"{format_share(total.overlap_ratio)} of the communication was hidden behind compute."
    measured = [lane for lane in analysis.lanes if lane.overlap_ratio is not None]
    reasons = dict.fromkeys(_clause(lane.overlap_reason) for lane in measured if lane.overlap_reason)
    return f"None of the communication was hidden behind compute{': ' if reasons else ''}{'; '.join(reasons)}."


def _worst(analysis: Analysis, total: Total) -> str:
    """Name the worst lane, unless all are alike."""
    index = worst_lane(analysis)
    lane, name = analysis.lanes[index], lane_name(analysis, index)
    verb = "ran compute or graphs" if lane.budget.graph_only_ns else "computed"
    computed = f"{verb} {format_share(computing(lane.budget))} of the time"
    if lane.overlap_ratio is not None and total.overlap_ratio is not None:
        if total.overlap_ratio - lane.overlap_ratio < _WORTH_NAMING:
            return ""
        hidden = format_share(lane.overlap_ratio) if lane.overlap_ratio else "none"
        return f"Worst overlap: {name}, which hid {hidden} of its communication and {computed}."
    if computing(total.budget) - computing(lane.budget) < _WORTH_NAMING or not total.is_idle_known:
        return ""
    return f"Worst: {name}, which {computed}."


def _longest_hole(analysis: Analysis) -> str:
    holes = worst_holes(analysis)
    if not holes:
        return ""
    index, hole = holes[0]
    where = f" on {lane_name(analysis, index)}" if len(analysis.lanes) > 1 else ""
    start = "from the start of the window" if hole.before is None else f"after {short_name(hole.before)}"
    end = "to the end of the window" if hole.after is None else f"before {short_name(hole.after)}"
    return (
        f"The longest hole is {format_duration(hole.duration_ns)}{where} at {format_time(hole.start_ns)} "
        f"(cause: {cause_words(hole.cause)}), {start} and {end}."
    )


def _reasons(analysis: Analysis) -> Iterator[tuple[str, str]]:
    """Yield (sentence, the reason in it); lanes that share a reason share a sentence, and so do other processes."""
    lanes: dict[tuple[str, str], list[int]] = {}
    for index, lane in enumerate(analysis.lanes):
        overlap = "overlap not measured on" if lane.overlap_ratio is None else "no overlap was possible on"
        told = (
            ("idle time, gaps and holes not measured on", lane.idle_reason),
            (overlap, lane.overlap_reason),
            ("no steps on", lane.steps_reason),
        )
        for what, reason in told:
            if reason is not None:
                lanes.setdefault((what, reason), []).append(index)
    for (what, reason), indices in lanes.items():
        yield f"{what} {lane_names(analysis, indices)}: {reason}", reason
    processes: dict[str, list[str]] = {}
    for index, process in enumerate(analysis.processes):
        if process.steps_reason is not None and not process.lanes:
            processes.setdefault(process.steps_reason, []).append(process_name(analysis, index))
    for reason, names in processes.items():
        yield f"no steps of {listed(names)}: {reason}", reason


def _shared_gpus(analysis: Analysis) -> Iterator[str]:
    for index, lane in enumerate(analysis.lanes):
        if lane.shares_gpu_with and index < min(lane.shares_gpu_with):
            names = lane_names(analysis, (index, *lane.shares_gpu_with))
            yield f"one GPU is shared by {names}: what is idle for one may be the work of another"


def _clause(reason: str | None) -> str:
    """Return a reason as the end of a sentence."""
    return (reason or "no reason was given").strip().rstrip(".")
