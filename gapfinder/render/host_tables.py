"""The tables about the hosts of a job: their clocks, what each adds to a step, and who each step waited for."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gapfinder.findings.words import lane_name
from gapfinder.render.table import NOTHING, Column, Kind, Table, filled, left_out
from gapfinder.units import (
    format_change,
    format_count,
    format_duration,
    format_numbers,
    format_share,
    format_times,
    runs_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.hosts import Host, HostClock
    from gapfinder.model import Analysis

_FEWEST_LANES = 3
"""Of two lanes, the one that came last is told with each collective."""


def clock_table(analysis: Analysis, *, limit: int) -> Table | None:
    """Return how far the clocks of the hosts are apart; None where all lanes share one."""
    clocks = analysis.clocks
    if not clocks:
        return None
    return Table(
        title="Clocks",
        caption="How far each clock is ahead of the reference by the ends of the collectives that both saw. 95 % of "
        "those end no further apart than the residual once offset and drift are taken out: what is said of several "
        "hosts is known no better." + left_out(min(limit, len(clocks)), len(clocks), "clock", "the first ones"),
        columns=(
            Column("host", Kind.LABEL),
            *(Column(header) for header in ("lanes", "collectives", "ahead by", "drift", "residual")),
            Column("reference", Kind.LABEL),
        ),
        rows=tuple(map(_clock_row, clocks[:limit])),
    )


def _clock_row(clock: HostClock) -> tuple[str, ...]:
    counts = (clock.host, format_count(len(clock.lanes)), format_count(clock.collectives))
    if clock.reference is None or clock.offset_ns is None or clock.residual_ns is None:
        return (*counts, *[NOTHING] * 3, "not aligned")
    if clock.reference == clock.host:
        return (*counts, *[NOTHING] * 3, "itself")
    drift = NOTHING if clock.drift_ppm is None else f"{clock.drift_ppm:+.1f} ppm"
    offset = format_change(clock.offset_ns) if clock.is_utc else "no wall clock"
    return (*counts, offset, drift, format_duration(clock.residual_ns), clock.reference)


def host_table(analysis: Analysis, *, limit: int) -> Table | None:
    """Return the hosts side by side, those that hold up the others first to stay; None where there is one."""
    shown = _shown(analysis.hosts, limit=limit)
    if not shown:
        return None
    return filled(
        Table(
            title="Hosts",
            caption="Compute and own time (the step without exposed communication) are medians over lanes and steps; "
            "the fastest lane, and transfers with some other hosts, are compared with those of the other hosts."
            + left_out(len(shown), len(analysis.hosts), "host", "those that others wait for longest"),
            columns=(
                Column("host", Kind.LABEL),
                *(
                    Column(header)
                    for header in ("lanes", "compute", "own time", "fastest lane", "transfers", "others waited")
                ),
                Column("seems", Kind.WORD),
            ),
            rows=tuple(map(_host_row, shown)),
        )
    )


def _shown(hosts: Sequence[Host], *, limit: int) -> list[Host]:
    order = sorted(hosts, key=lambda host: (not (host.is_slow or host.has_slow_nic), -host.caused_wait_ns))
    kept = {host.host for host in order[:limit]}
    return [host for host in hosts if host.host in kept]


def _host_row(host: Host) -> tuple[str, ...]:
    seems = [words for words, is_so in (("slow", host.is_slow), ("slow NIC", host.has_slow_nic)) if is_so]
    return (
        host.host,
        format_count(len(host.lanes)),
        *(NOTHING if ns is None else format_duration(ns) for ns in (host.compute_ns, host.own_ns)),
        *(NOTHING if ratio is None else format_times(ratio) for ratio in (host.own_ratio, host.transfer_ratio)),
        format_duration(host.caused_wait_ns),
        ", ".join(seems) or NOTHING,
    )


def critical_table(analysis: Analysis, *, limit: int) -> Table | None:
    """Return the lanes that steps waited for, most steps first; None where no step waited, or there are two lanes."""
    steps = analysis.lane_steps
    if steps is None or len(analysis.lanes) < _FEWEST_LANES:
        return None
    counts = Counter(lane for lane in steps.critical_lanes if lane is not None)
    lanes = sorted(counts, key=lambda lane: (-counts[lane], lane))
    if not lanes:
        return None
    waited: Counter[int] = Counter()
    for lane, ns in zip(steps.critical_lanes, steps.critical_wait_ns, strict=True):
        waited[-1 if lane is None else lane] += ns
    total = len(steps.numbers)
    return Table(
        title="Who steps waited for",
        caption="The lane that the others waited for longest in each step, and their waits summed."
        + left_out(min(limit, len(lanes)), len(lanes), "lane", "those with most steps"),
        columns=(
            Column("lane", Kind.WORD),
            *(Column(header) for header in ("steps", "share", "others waited")),
            Column("which", Kind.LABEL),
        ),
        rows=tuple(
            (
                lane_name(analysis, lane),
                format_count(counts[lane]),
                format_share(counts[lane] / total),
                format_duration(waited[lane]),
                format_numbers(
                    runs_of(n for n, of in zip(steps.numbers, steps.critical_lanes, strict=True) if of == lane)
                ),
            )
            for lane in lanes[:limit]
        ),
    )
