"""Puts reports, lanes and totals together: the stage's one entry point."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gapfinder.analysis.collective_instances import collective_frame, step_communication
from gapfinder.analysis.collective_rows import CollectiveRows, Job, Kind, collective_rows
from gapfinder.analysis.collectives import summarise_collectives
from gapfinder.analysis.compare_hosts import compare_hosts
from gapfinder.analysis.job_clocks import match_reports
from gapfinder.analysis.kernel_totals import merged_totals
from gapfinder.analysis.link import find_link
from gapfinder.analysis.measure import MeasuredLane, MeasuredReport, measure_report
from gapfinder.analysis.notes import is_met
from gapfinder.analysis.processes import join_processes
from gapfinder.analysis.ranks import RankMark, common_world_size, missing_ranks, several_runs
from gapfinder.analysis.slow_ranks import find_slow_ranks, slow_rank_notes
from gapfinder.analysis.step_waits import Waits, lane_steps
from gapfinder.analysis.stragglers import compare_steps, find_stragglers, spread_of_steps, straggler_notes
from gapfinder.analysis.totals import decided_names, joined_coverage, total_of
from gapfinder.errors import InconclusiveError, InputError
from gapfinder.model import Analysis, Lane, Source
from gapfinder.settings import Settings
from gapfinder.tables import COLLECTIVES, machine_of
from gapfinder.units import format_count, format_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from gapfinder.analysis.communication import KeptCommunication
    from gapfinder.analysis.job_clocks import MatchedJob
    from gapfinder.analysis.matching import CommunicationTimes
    from gapfinder.links import Link
    from gapfinder.load import Profile


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Joined:
    """All reports put together, and the communication that the results were made from.

    Attributes:
        placed: the place of its report and the lane as measured, for each lane.
        job: what the lanes have in common.
        kept: communication of each lane.
        rows: all operations of it; None where there is none.
        kinds: what `rows.keys` counts.
    """

    analysis: Analysis
    placed: Sequence[tuple[int, MeasuredLane]]
    job: MatchedJob
    kept: Sequence[KeptCommunication]
    rows: CollectiveRows | None
    kinds: Sequence[Kind]

    def collectives(self) -> pd.DataFrame:
        """Return the frame COLLECTIVES."""
        if self.rows is None:
            return COLLECTIVES.empty()
        return collective_frame(self.rows, self.kinds, kept=self.kept)


def analyze(profiles: Iterable[Profile], *, settings: Settings | None = None) -> Analysis:
    """Measure every lane of every report.

    Reports are taken one after the other, so that only one is in memory when `profiles` is a generator. Each report
    stays on its own clock; `Analysis.clocks` tells how far those are apart.

    Raises:
        InputError: the window, steps, GPUs or ranks asked for are not in the reports.
        InconclusiveError: steps were asked for, but the reports have none.
    """
    settings = settings or Settings()
    return join_reports([measure_report(profile, settings=settings) for profile in profiles], settings=settings)


def join_reports(reports: Sequence[MeasuredReport], *, settings: Settings) -> Analysis:
    """Return what `analyze` returns for reports that were measured with the same settings, wherever that was.

    Raises:
        InputError: the window, steps, GPUs or ranks asked for are not in the reports.
        InconclusiveError: steps were asked for, but the reports have none.
    """
    return join(reports, settings=settings).analysis


def join_collectives(reports: Sequence[MeasuredReport], *, settings: Settings) -> tuple[Analysis, pd.DataFrame]:
    """Return what `join_reports` does, and every single collective as each of its lanes saw it (frame COLLECTIVES)."""
    found = join(reports, settings=settings)
    return found.analysis, found.collectives()


def join(reports: Sequence[MeasuredReport], *, settings: Settings) -> Joined:
    """Return all that is known of the measured reports together, and raise what `join_reports` raises."""
    _check_found(reports, settings=settings)
    files = _file_names([report.profile_path for report in reports])
    placed, lanes = _joined_lanes(reports, files=files, settings=settings)
    kept = [one.communication for _, one in placed]
    job = match_reports(reports, placed, lanes=lanes, files=files)
    times = job.matched.times
    lanes = _explained(lanes, placed, times)
    table = compare_steps(lanes, host=[one.host_steps for _, one in placed])
    processes = join_processes(
        [report.processes for report in reports],
        files=files,
        lanes=[(place, one.process, lane) for (place, one), lane in zip(placed, lanes, strict=True)],
        settings=settings,
    )
    uncompared = straggler_notes(lanes, table) if lanes else slow_rank_notes(processes)
    mixed = several_runs([report.rank_marks.values() for report in reports])
    about_all = mixed + _missing_ranks(reports, settings=settings) + job.notes + uncompared
    machines = [(report, machine_of(one.process)) for report, one in placed]
    link = find_link(settings.link_bandwidth, lanes=lanes, machines=machines)
    rows, kinds = _rows(kept, times, lanes=lanes, link=link, reports=reports)
    collectives = summarise_collectives(rows, kinds, kept=kept) if rows is not None else ()
    waits = Waits.of(kept, times)
    caused, clocks = waits.caused_by(lanes=len(lanes)), [one.clock for _, one in placed]
    analysis = Analysis(
        source=Source(
            files=tuple(files),
            nsys_version=_common([report.nsys_version for report in reports]),
            export_schema_version=_common([report.export_schema_version for report in reports]),
        ),
        lanes=lanes,
        total=total_of(lanes) if lanes else None,
        coverage=joined_coverage(reports, files=files, notes=about_all),
        decided_names=decided_names(reports),
        clocks=job.clocks,
        link=link if rows is not None else None,
        collectives=collectives,
        collective_steps=step_communication(lanes, rows) if rows is not None else (),
        buckets=tuple(replace(one.buckets, lane=at) for at, (_, one) in enumerate(placed) if one.buckets),
        step_spreads=spread_of_steps(table),
        stragglers=find_stragglers(table, caused=caused, clocks=clocks, has_communication=any(map(len, kept))),
        hosts=compare_hosts(job.hosts, table, collectives=collectives, caused=caused),
        lane_steps=lane_steps(table, waits),
        processes=processes,
        slow_ranks=find_slow_ranks(processes),
        world_size=common_world_size(_marks(reports)),
        kernels=merged_totals((report.kernels, report.decisions) for report in reports),
    )
    return Joined(analysis=analysis, placed=placed, job=job, kept=kept, rows=rows, kinds=kinds)


def _explained(
    lanes: Sequence[Lane], placed: Sequence[tuple[int, MeasuredLane]], times: Sequence[CommunicationTimes]
) -> tuple[Lane, ...]:
    """Return the lanes with their exposed communication charged to who waited for whom."""
    return tuple(
        one.holes.explain(lane, communication=one.communication, times=own)
        for lane, (_, one), own in zip(lanes, placed, times, strict=True)
    )


def _rows(
    kept: Sequence[KeptCommunication],
    times: Sequence[CommunicationTimes],
    *,
    lanes: Sequence[Lane],
    link: Link,
    reports: Sequence[MeasuredReport],
) -> tuple[CollectiveRows | None, Sequence[Kind]]:
    """Return all communication operations and their kinds; None where there is none."""
    if not any(len(lane) for lane in kept):
        return None, ()
    ranks = max((mark.world_size for mark in _marks(reports)), default=0)
    job = Job(files=[lane.file for lane in lanes], link=link, is_whole=ranks <= len(lanes))
    return collective_rows(kept, times, job=job)


def _marks(reports: Sequence[MeasuredReport]) -> list[RankMark]:
    return [mark for report in reports for mark in report.rank_marks.values()]


def _missing_ranks(reports: Sequence[MeasuredReport], *, settings: Settings) -> tuple[str, ...]:
    busy = [report.rank_marks.get(process) for report in reports for process in report.busy_processes]
    return missing_ranks(_marks(reports), busy=busy, told=settings.ranks, reports=len(reports))


def _check_found(reports: Sequence[MeasuredReport], *, settings: Settings) -> None:
    """Raise when what was asked for is not there, naming what is."""
    devices = sorted({device for report in reports for device in report.devices})
    unknown = [gpu for gpu in settings.gpus if gpu not in devices]
    if unknown and devices:
        raise InputError(f"no GPU {unknown[0]} in the report; it has GPU {', '.join(map(str, devices))}")
    spans = [span for report in reports for span in report.spans]
    if settings.window is not None and spans:
        start, end = settings.window
        if not is_met(settings.window, spans):
            first, last = min(s.start_ns for s in spans), max(s.end_ns for s in spans)
            raise InputError(
                f"no GPU work between {format_time(start)} and {format_time(end)}; "
                f"the capture's GPU work runs from {format_time(first)} to {format_time(last)}"
            )
    numbers = sorted({number for report in reports for number in report.step_numbers})
    if settings.step_range is not None and not _has_steps(reports):
        if spans and not numbers:
            raise InconclusiveError("no steps were found, so --steps cannot be answered; see --step-pattern")
        first, last = settings.step_range
        if numbers and not any(first <= number < last for number in numbers):
            which = "the steps with GPU work" if spans else "the steps"
            raise InputError(f"no step in {first}:{last}; {which} are {numbers[0]} to {numbers[-1]}")


def _has_steps(reports: Sequence[MeasuredReport]) -> bool:
    """Say whether some lane, or where there is no GPU work some process, has steps that were asked for."""
    if any(report.spans for report in reports):
        return any(report.lanes for report in reports)
    return any(process.steps for report in reports for process in report.processes.values())


def _joined_lanes(
    reports: Sequence[MeasuredReport], *, files: Sequence[str], settings: Settings
) -> tuple[list[tuple[int, MeasuredLane]], tuple[Lane, ...]]:
    """Return all lanes in order of rank where all ranks are known, else of file, process and device.

    Each comes twice: as measured, with the place of its report, and as it is handed on.
    """
    placed = [(place, one) for place, report in enumerate(reports) for one in report.lanes]
    lanes_of = Counter((place, one.process) for place, one in placed)
    ranks = [one.lane.rank if lanes_of[place, one.process] == 1 else None for place, one in placed]
    if settings.ranks:
        if len(settings.ranks) != len(placed):
            lanes = format_count(len(placed), "lane")
            raise InputError(f"--ranks names {format_count(len(settings.ranks), 'rank')}, the reports have {lanes}")
        ranks = list(settings.ranks)
    known = [rank for rank in ranks if rank is not None]
    order = list(range(len(placed)))
    if len(set(known)) == len(placed):
        order.sort(key=lambda at: known[at])  # every rank is known, so that both lists are one
    in_order = [placed[at] for at in order]
    sharing = _sharing(in_order)
    return in_order, tuple(
        replace(one.lane, file=files[report], rank=ranks[at], shares_gpu_with=shared)
        for at, (report, one), shared in zip(order, in_order, sharing, strict=True)
    )


def _sharing(placed: Sequence[tuple[int, MeasuredLane]]) -> list[tuple[int, ...]]:
    """Return for each lane the places of the other lanes on its GPU, as far as the reports tell."""
    by_gpu: dict[tuple[int, int], list[int]] = {}
    for at, (report, one) in enumerate(placed):
        if one.gpu is not None:
            by_gpu.setdefault((report, one.gpu), []).append(at)
    groups = [by_gpu.get((report, one.gpu), []) if one.gpu is not None else [] for report, one in placed]
    return [tuple(other for other in group if other != at) for at, group in enumerate(groups)]


def _file_names(paths: Sequence[tuple[str, ...]]) -> list[str]:
    """Return each path's shortest ending that tells it from the others, so that no folder is named without need."""
    names = []
    for path in paths:
        length = 1
        while length < len(path) and sum(other[-length:] == path[-length:] for other in paths) > 1:
            length += 1
        names.append("/".join(path[-length:]))
    return names


def _common(values: Sequence[str | None]) -> str | None:
    """Return the value that all reports share, else None."""
    return values[0] if len(set(values)) == 1 else None
