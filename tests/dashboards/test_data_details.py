"""What the side panel says is what the file's rows say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from dashboard_data import RawFile, files, prepared

from dashboards.data.details import hole_details, operation_details
from dashboards.data.windows import Row
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dashboards.data.opening import OpenProfile

FILES = files(samples=["data_starved"], reals=["job128_ranks_0_1"])
ON_THREAD = "((globalTid >> 24) & 0xFFFFFF) = ? AND (globalTid & 0xFFFFFF) = ?"


@pytest.fixture(scope="module", params=FILES)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple]:
    profile, raw = prepared([request.param], tmp_path_factory.mktemp("details") / "a"), RawFile(request.param)
    yield profile, raw
    raw.close()


def _ranges_at(raw: RawFile, pid: int, thread: int, moment: int) -> list[str]:
    """Texts of the ranges of a thread at a moment, the outermost first."""
    found = raw.rows(
        'SELECT coalesce(text, (SELECT value FROM StringIds WHERE id = textId)) FROM NVTX_EVENTS WHERE "end" > ? '
        f'AND start <= ? AND eventType IN (59, 60, 70, 71) AND {ON_THREAD} ORDER BY start, "end" DESC',
        moment,
        moment,
        pid,
        thread,
    )
    return [text for (text,) in found]


def test_a_hole_is_told_in_full(opened: tuple[OpenProfile, RawFile]) -> None:
    profile, raw = opened
    origin = profile.trace.origin_ns
    for place, lane in enumerate(profile.analysis.lanes[:2]):
        holes = profile.trace.lanes[place].holes
        at = {start: number for number, start in enumerate(holes.starts.tolist())}
        for hole in lane.holes.top[:10]:
            got = hole_details(profile, lane=place, hole=at[hole.start_ns])
            assert (got.start_ns + origin, got.duration_ns) == (hole.start_ns, hole.duration_ns)
            assert got.idle_ns + got.exposed_ns + got.copy_only_ns == sum(got.shares.values()) == got.duration_ns
            assert (got.measured, got.cause, got.shares) == (hole, hole.cause, hole.evidence.shares)
            assert (got.before.time.name if got.before else None) == hole.before
            assert (got.after.time.name if got.after else None) == hole.after
            calls = raw.rows(
                f'SELECT start, "end" FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE {ON_THREAD} AND start < ? AND "end" > ?',
                lane.pid,
                got.thread,
                hole.end_ns,
                hole.start_ns,
            )
            inside = [min(end, hole.end_ns) - max(start, hole.start_ns) for start, end in calls]
            cuda = [one.inside_ns for one in got.calls if one.event.name.startswith("cuda")]
            assert sorted(cuda) == sorted(sorted(inside)[-len(cuda) :] if cuda else [])
            assert [one.inside_ns for one in got.calls] == sorted((one.inside_ns for one in got.calls), reverse=True)
            if got.launch is not None:
                moment = got.launch.call.start_ns + origin
                assert list(got.ranges) == _ranges_at(raw, lane.pid, got.launch.thread, moment)
                assert got.launch.delay_ns == hole.end_ns - moment


def test_an_operation_is_told_in_full(opened: tuple[OpenProfile, RawFile]) -> None:
    profile, raw = opened
    lane, origin = profile.analysis.lanes[1], profile.trace.origin_ns
    for nccl, name in ((False, Row.COMPUTE), (True, Row.COMMUNICATION)):
        rows = raw.rows(
            'SELECT k.start, k."end", k.streamId, s.value, r.start, r.globalTid & 0xFFFFFF FROM CUPTI_ACTIVITY_KIND_KERNEL k '
            "JOIN StringIds s ON s.id = k.demangledName JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = "
            "k.correlationId AND (r.globalTid >> 24) & 0xFFFFFF = ? WHERE (k.globalPid >> 24) & 0xFFFFFF = ? "
            "ORDER BY k.start",
            lane.pid,
            lane.pid,
        )
        rows = [one for one in rows if one[3].startswith("nccl") == nccl]
        for op in {0, len(rows) // 2, len(rows) - 1}:
            start, end, stream, text, launched, thread = rows[op]
            got = operation_details(profile, lane=1, row=name, op=op)
            assert (got.time.start_ns + origin, got.time.duration_ns) == (start, end - start)
            assert (got.time.name, got.stream, got.thread) == (text, stream, thread)
            assert got.launch is not None
            assert got.launch.delay_ns == start - launched
            assert list(got.ranges) == _ranges_at(raw, lane.pid, thread, launched)
            assert (got.collective is not None) == nccl
            if got.collective is not None:
                assert (got.collective.start_ns, got.collective.duration_ns) == (got.time.start_ns, end - start)
                assert got.collective.hidden_ns + got.collective.exposed_ns == end - start


def test_ranges_calls_and_steps_can_be_chosen_as_well(opened: tuple[OpenProfile, RawFile]) -> None:
    profile, raw = opened
    process = profile.trace.processes[profile.trace.lanes[0].process]
    for name, events in ((Row.RANGES, process.ranges), (Row.CALLS, process.calls)):
        got = operation_details(profile, lane=0, row=name, op=len(events.starts) - 1)
        assert got.time.start_ns + profile.trace.origin_ns == events.starts[-1]
    step = operation_details(profile, lane=0, row=Row.STEPS, op=1) if len(profile.trace.lanes[0].steps.starts) else None
    if step is not None:
        assert raw.rows(
            "SELECT 1 FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId WHERE coalesce(text, value) = ?",
            step.time.name,
        )


@pytest.mark.parametrize(("row", "op"), [(Row.COMPUTE, -1), (Row.COMPUTE, 10**9), (Row.STEPS, 999), (Row.HOLES, 0)])
def test_what_is_not_there_is_an_error(opened: tuple[OpenProfile, RawFile], row: Row, op: int) -> None:
    with pytest.raises(InputError):
        operation_details(opened[0], lane=0, row=row, op=op)
    with pytest.raises(InputError, match="no lane"):
        hole_details(opened[0], lane=99, hole=0)
    with pytest.raises(InputError, match="no hole"):
        hole_details(opened[0], lane=0, hole=-1)
