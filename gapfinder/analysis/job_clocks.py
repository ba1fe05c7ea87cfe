"""Which reports share a clock, and what is told about the clocks of a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.analysis.alignment import Clock, match_job
from gapfinder.analysis.apart import reports_apart
from gapfinder.hosts import HostClock
from gapfinder.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gapfinder.analysis.alignment import Matched
    from gapfinder.analysis.clock_refining import Alignment
    from gapfinder.analysis.measure import MeasuredLane, MeasuredReport
    from gapfinder.model import Lane

_PPB_PER_PPM = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class MatchedJob:
    """What the lanes of all reports have in common.

    Attributes:
        matched: who waited for whom on each lane.
        clocks: one for each host, or report whose host is not known; empty where all lanes share one.
        hosts: name of each lane's host, else of its report.
        notes: what to know about them, each one sentence.
    """

    matched: Matched
    clocks: tuple[HostClock, ...]
    hosts: list[str]
    notes: tuple[str, ...]


def match_reports(
    reports: Sequence[MeasuredReport],
    placed: Sequence[tuple[int, MeasuredLane]],
    *,
    lanes: Sequence[Lane],
    files: Sequence[str],
) -> MatchedJob:
    """Return the collectives that lanes have in common, and how far their clocks are apart.

    Args:
        reports: all of them.
        placed: the place of its report and the lane, for each lane.
        lanes: the same, as they are handed on.
        files: name of each report.

    Raises:
        InconclusiveError: the clocks of two hosts are more than a step apart.
    """
    numbers, clocks = _clocks(reports, [place for place, _ in placed], files=files)
    base = min((report.start_utc_ns for report in reports if report.start_utc_ns is not None), default=0)
    starts = [reports[place].start_utc_ns for place, _ in placed]
    communication = [one.communication.to_match(clock=numbers[place]) for place, one in placed]
    matched = match_job(
        communication,
        clocks,
        rebased=[0 if start is None else start - base for start in starts],
        step_ns=max((lane.steps.p50_ns for lane in lanes if lane.steps), default=None),
    )
    marks = [reports[place].rank_marks.get(one.process) for place, one in placed]
    hosts = [mark.host if mark and mark.host else files[place] for mark, (place, _) in zip(marks, placed, strict=True)]
    apart = reports_apart(
        communication, [own.instances for own in matched.times], reports=[place for place, _ in placed]
    )
    of_one_clock = tuple(_apart_notes(apart, clocks, files=files))
    if len(clocks) <= 1:
        return MatchedJob(matched=matched, clocks=(), hosts=hosts, notes=of_one_clock)
    found = tuple(
        _host_clock(
            clocks,
            number,
            alignment=alignment,
            lanes=tuple(at for at, (place, _) in enumerate(placed) if numbers[place] == number),
            base=base,
        )
        for number, alignment in enumerate(matched.alignments)
    )
    return MatchedJob(matched=matched, clocks=found, hosts=hosts, notes=(*_notes(found), *of_one_clock))


def _clocks(
    reports: Sequence[MeasuredReport], places: Sequence[int], *, files: Sequence[str]
) -> tuple[dict[int, int], list[Clock]]:
    """Return the number of its clock for each report that has lanes, and the clocks in order of their first lane."""
    keys: dict[str | int, int] = {}
    numbers: dict[int, int] = {}
    clocks: list[Clock] = []
    for place in dict.fromkeys(places):
        hosts = {mark.host for mark in reports[place].rank_marks.values() if mark.host}
        is_utc = reports[place].start_utc_ns is not None
        host = hosts.pop() if is_utc and len(hosts) == 1 else None
        key = place if host is None else host
        if key not in keys:
            keys[key] = len(clocks)
            clocks.append(Clock(name=files[place] if host is None else host, is_utc=is_utc))
        numbers[place] = keys[key]
    return numbers, clocks


def _host_clock(
    clocks: Sequence[Clock], number: int, *, alignment: Alignment, lanes: tuple[int, ...], base: int
) -> HostClock:
    clock, line = clocks[number], alignment.line
    is_related = alignment.collectives > 0
    return HostClock(
        host=clock.name,
        lanes=lanes,
        reference=clocks[alignment.root].name if is_related else None,
        is_utc=clock.is_utc,
        at_utc_ns=base + line.at_ns if clock.is_utc and is_related else None,
        offset_ns=line.offset_ns if is_related else None,
        drift_ppm=line.drift_ppb / _PPB_PER_PPM if is_related and line.drift_is_known else None,
        residual_ns=alignment.residual_ns if is_related else None,
        collectives=alignment.collectives,
    )


def _notes(clocks: Sequence[HostClock]) -> Iterator[str]:
    residuals = [clock.residual_ns for clock in clocks if clock.residual_ns is not None]
    if residuals:
        yield (
            f"what is compared between hosts is known to {format_duration(max(residuals))}: once their clocks are "
            "corrected, 95 % of their collectives end no further apart than that"
        )
    without = [clock.host for clock in clocks if not clock.is_utc and clock.reference is not None]
    if without:
        yield f"{_listed(without)} told no wall clock; matched by the order of collectives alone"
    alone = [clock.host for clock in clocks if clock.reference is None]
    if alone:
        yield f"the clock of {_listed(alone)} was not aligned: no collective was found there and elsewhere"


def _apart_notes(apart: Mapping[int, Sequence[int]], clocks: Sequence[Clock], *, files: Sequence[str]) -> Iterator[str]:
    for number, places in apart.items():
        yield (
            f"{_listed([files[place] for place in places])}: no collective in common with the other reports of "
            f"{clocks[number].name}, so nothing is said of who waited for whom there: another run, or was its wall "
            "clock set between their starts?"
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
