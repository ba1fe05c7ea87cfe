"""What a reader must know beside the numbers, in sentences: what was left out and what could not be measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.units import format_count, format_duration, format_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gapfinder.analysis.report import Report
    from gapfinder.budget import Window
    from gapfinder.model import Lane
    from gapfinder.settings import Settings

_MANY_DROPPED = 0.001


def report_notes(
    report: Report,
    *,
    settings: Settings,
    lanes: Sequence[Lane],
    spans: Sequence[Window],
    lanes_without_time: int,
) -> tuple[str, ...]:
    """Return one report's notes, those of the file first."""
    notes = [*report.profile.notes]
    if not spans:
        notes.append("no GPU operation that takes time was captured: none ran, or CUDA was not traced (-t cuda)")
    if lanes_without_time and spans:
        notes.append(f"{format_count(lanes_without_time, 'lane')} left out: no operation takes any time")
    notes += _asked_notes(settings)
    notes += _window_notes(settings, spans)
    notes += _dropped_notes(lanes)
    notes += _reasons(lanes)
    notes += _copy_notes(report)
    notes += _step_notes(report, lanes)
    return tuple(notes)


def payload_notes(undecoded: int) -> tuple[str, ...]:
    """Say how many payloads tell nothing."""
    return (f"{format_count(undecoded, 'NVTX payload')} could not be decoded",) if undecoded else ()


def _asked_notes(settings: Settings) -> Iterator[str]:
    """Say what part of the capture is measured: a settings file may have chosen it, or `gapfinder run` by itself."""
    if settings.window is not None:
        start, end = settings.window
        yield f"only the window from {format_time(start)} to {format_time(end)} was asked for"
    if settings.step_range is not None:
        first, end = settings.step_range
        yield f"only the steps {first} to {end - 1} are measured; --steps of gapfinder analyze chooses others"
    if settings.gpus:
        yield f"only GPU {', '.join(map(str, settings.gpus))} was asked for"


def _window_notes(settings: Settings, spans: Sequence[Window]) -> Iterator[str]:
    if settings.window is None or not spans:
        return
    start, end = settings.window
    first, last = min(s.start_ns for s in spans), max(s.end_ns for s in spans)
    captured = f"{format_time(first)} to {format_time(last)}"
    if not is_met(settings.window, spans):
        yield f"no lane of this report is in the window: its GPU work runs from {captured}, on its own clock"
    elif start < first or end > last:
        yield f"the window reaches beyond the captured GPU work ({captured}); the time outside counts as idle"


def is_met(window: tuple[int, int], spans: Sequence[Window]) -> bool:
    """Say whether any of the lanes' spans has time in common with [start, end)."""
    return any(span.start_ns < window[1] and window[0] < span.end_ns for span in spans)


def _dropped_notes(lanes: Sequence[Lane]) -> Iterator[str]:
    dropped = sum(lane.dropped_ops for lane in lanes)
    rows = dropped + sum(lane.ops for lane in lanes)
    if dropped:
        severity = "; the capture may be damaged" if dropped > _MANY_DROPPED * rows else ""
        verb = "was" if dropped == 1 else "were"
        yield f"{format_count(dropped, 'GPU row')} without usable times {verb} left out{severity}"


def _reasons(lanes: Sequence[Lane]) -> Iterator[str]:
    """Yield each reason why something could not be measured once, with the number of lanes it holds for."""
    idle = [lane.idle_reason for lane in lanes if lane.idle_reason]
    overlap = [lane.overlap_reason for lane in lanes if lane.overlap_reason and lane.is_idle_known]
    for what, reasons in (("idle time and overlap ratio", idle), ("overlap ratio", overlap)):
        for reason in sorted(set(reasons)):
            measured = any(lane.overlap_ratio is not None and lane.overlap_reason == reason for lane in lanes)
            label = f"{what} of 0" if measured else f"{what} not measured"
            yield f"{label} on {_of_lanes(reasons.count(reason), len(lanes))}: {reason}"


def _copy_notes(report: Report) -> Iterator[str]:
    peer = report.peer_copies & ~report.communication_copies
    if peer.any():
        copies = report.profile.copies[peer]
        time = format_duration(int((copies["end"] - copies["start"]).clip(lower=0).sum()))
        yield (
            f"peer-to-peer copies ({format_count(int(peer.sum()))} of them, {time} summed) count as copies, "
            f"not as communication; --count-copies peer counts them"
        )


def _step_notes(report: Report, lanes: Sequence[Lane]) -> Iterator[str]:
    for reason in sorted({lane.steps_reason for lane in lanes if lane.steps_reason}):
        count = sum(lane.steps_reason == reason for lane in lanes)
        yield f"steps not measured on {_of_lanes(count, len(lanes))}: {reason}"
    overlaps = sum(ranges.overlaps for ranges in report.steps.values())
    if overlaps:
        yield f"{format_count(overlaps, 'step range')} began before an earlier one had ended: steps overlap on the host"
    passed_over = sum(ranges.passed_over for ranges in report.steps.values())
    if passed_over:
        taken = next(iter(report.steps.values()))
        domain = f"the NVTX domain {taken.domain}" if taken.domain else "NVTX's default domain"
        yield (
            f'steps are the ranges such as "{taken.names[0]}" in {domain}; {format_count(passed_over, "range")} of '
            "another kind could be steps as well and are not counted (--step-pattern chooses by name)"
        )


def _of_lanes(count: int, total: int) -> str:
    if count == total:
        return "every lane" if total > 1 else "the only lane"
    return f"{format_count(count)} of {format_count(total, 'lane')}"
