"""Any window of the timeline is exact: held against raw rows that SQL reads and plain loops count."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from dashboard_data import RawFile, covered, files, needs_real, prepared, real, row, sample, window
from hypothesis import given
from hypothesis import strategies as st
from split_reports import WrongClock, split_report

from dashboards.data.covering import ALL, NEARLY_ALL, as_shares, column_edges, covered_before
from dashboards.data.trace import Busy, Clock
from dashboards.data.windows import MOST_MARKS, Row, WindowRequest, answer
from gapfinder.analysis.intervals import union
from gapfinder.errors import InputError
from gapfinder.explanations import Cause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dashboards.data.opening import OpenProfile

FILES = files(samples=["broken_overlap"], reals=["job128_ranks_0_1", "h100x2_sendrecv_after"])


@pytest.fixture(scope="module", params=FILES)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple]:
    profile, raw = prepared([request.param], tmp_path_factory.mktemp("windows") / "a"), RawFile(request.param)
    yield profile, raw
    raw.close()


def _windows(profile: OpenProfile) -> list[tuple[int, int]]:
    rng, whole = np.random.default_rng(7), profile.trace.end_ns
    lengths = [max(1, whole // 10**zoom) for zoom in range(6)]
    return [(0, whole), *((start := int(rng.integers(whole - length + 1)), start + length) for length in lengths)]


def _check_shares(share: np.ndarray, spans: list[tuple[int, int]], edges: list[int]) -> None:
    for got, start, end in zip(share.tolist(), edges, edges[1:], strict=False):
        part, length = covered(spans, start, end), end - start
        if part in (0, length):
            assert got == (ALL if part else 0)
        else:
            assert 1 <= got <= NEARLY_ALL
            assert abs(got / NEARLY_ALL - part / length) <= 1 / NEARLY_ALL


def test_shares_and_marks_are_those_of_the_raw_rows(opened: tuple[OpenProfile, RawFile]) -> None:
    profile, raw = opened
    origin, modes = profile.trace.origin_ns, set()
    for start, end in _windows(profile):
        answered = window(profile, start, end, columns=37)
        columns = answered["columns"]
        edges = [origin + start + k * (end - start) // columns for k in range(columns + 1)]
        for place, lane in enumerate(profile.analysis.lanes):
            for name, nccl in (("compute", False), ("communication", True)):
                rows = raw.kernels(lane.pid, lane.device, nccl=nccl)
                if not rows:
                    assert name not in [one["row"] for one in answered["lanes"][place]["rows"]]
                    continue
                got = row(answered, place, name)
                modes.add(got["mode"])
                if got["mode"] == "share":
                    _check_shares(got["share"], [(one.start, one.end) for one in rows], edges)
                    continue
                seen = sorted(
                    (one.start - origin - start, one.end - origin - start, one.name[:40])
                    for one in rows
                    if one.start < origin + end and one.end > origin + start
                )
                names = [answered["names"][str(code)][:40] for code in got["names"].tolist()]
                assert sorted(zip(got["starts"].tolist(), got["ends"].tolist(), names, strict=True)) == seen
    assert "marks" in modes


def test_one_column_tells_the_share_of_any_window(opened: tuple[OpenProfile, RawFile]) -> None:
    profile, raw = opened
    lane, origin = profile.analysis.lanes[0], profile.trace.origin_ns
    spans = [(one.start, one.end) for one in raw.kernels(lane.pid, lane.device, nccl=False)]
    busy = profile.trace.lanes[0].busy[0]
    for start, end in _windows(profile):
        edges = column_edges(start + origin, end + origin, columns=1)
        assert np.diff(covered_before(busy, edges)).tolist() == [covered(spans, start + origin, end + origin)]


def test_every_mark_is_counted(opened: tuple[OpenProfile, RawFile]) -> None:
    profile, raw = opened
    origin = profile.trace.origin_ns
    for start, end in _windows(profile):
        answered = window(profile, start, end, rows=(Row.COMPUTE, Row.COMMUNICATION))
        (of,) = raw.rows(
            'SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE start < ? AND "end" > ?',
            origin + end,
            origin + start,
        )[0]
        assert answered["marks"]["of"] == of
        assert answered["marks"]["shown"] in (0, of)


def test_holes_are_where_no_compute_is(opened: tuple[OpenProfile, RawFile]) -> None:
    profile, raw = opened
    origin = profile.trace.origin_ns
    for start, end in _windows(profile):
        answered = window(profile, start, end, columns=23)
        columns = answered["columns"]
        edges = [origin + start + k * (end - start) // columns for k in range(columns + 1)]
        for place, lane in enumerate(profile.analysis.lanes):
            spans = sorted((one.start, one.end) for one in raw.kernels(lane.pid, lane.device, nccl=False))
            holes, reached = [], lane.window.start_ns
            for first, last in [*spans, (lane.window.end_ns, lane.window.end_ns)]:
                if first - reached >= 100_000:
                    holes.append((reached, first))
                reached = max(reached, last)
            seen = [hole for hole in holes if hole[0] < origin + end and hole[1] > origin + start]
            got = answered["lanes"][place]["holes"]
            assert got["of"] == len(seen)
            shown = [(a - origin - start, b - origin - start) for a, b in seen]
            drawn = list(zip(got["starts"].tolist(), got["ends"].tolist(), strict=True))
            assert set(drawn) <= set(shown)
            assert len(drawn) == got["shown"]
            _check_shares(got["lost"], holes, edges)
            for cause, first, last in zip(got["longest"].tolist(), edges, edges[1:], strict=False):
                lengths = [b - a for a, b in seen if a < last and b > first]
                assert (cause != 255) == bool(lengths)
                if lengths:
                    every = profile.trace.lanes[place].holes
                    at = (every.starts < last) & (every.ends > first) & (every.ends - every.starts == max(lengths))
                    assert cause in every.causes[at].tolist()


def test_holes_pass_filters(opened: tuple[OpenProfile, RawFile]) -> None:
    profile, _ = opened
    holes = profile.trace.lanes[0].holes
    cause = tuple(Cause)[int(holes.causes[0])]
    asked = window(profile, 0, profile.trace.end_ns, lanes=(0,), causes=(cause,), min_hole_ns=200_000)
    pairs = zip(holes.causes.tolist(), (holes.ends - holes.starts).tolist(), strict=True)
    expected = sum(tuple(Cause)[code] is cause and length >= 200_000 for code, length in pairs)
    assert asked["lanes"][0]["holes"]["of"] == expected
    assert set(asked["lanes"][0]["holes"]["causes"].tolist()) <= {list(Cause).index(cause)}


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> OpenProfile:
    """A sample with each kernel and call 30 times over, one period after the other."""
    folder = tmp_path_factory.mktemp("many")
    file = folder / "many.sqlite"
    file.write_bytes((sample("broken_overlap")).read_bytes())
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE times (n INTEGER)")
        database.executemany("INSERT INTO times VALUES (?)", [(n,) for n in range(1, 30)])
        for table in ("KERNEL", "RUNTIME"):
            columns = [r[1] for r in database.execute(f"PRAGMA table_info(CUPTI_ACTIVITY_KIND_{table})")]
            moved = {"start": '"start" + n * 300000000', "end": '"end" + n * 300000000'}
            moved["correlationId"] = "correlationId + n * 1000000"
            values = ", ".join(moved.get(name, f'"{name}"') for name in columns)
            database.execute(
                f"INSERT INTO CUPTI_ACTIVITY_KIND_{table} SELECT {values} FROM CUPTI_ACTIVITY_KIND_{table}, times"
            )
        database.execute("DROP TABLE times")
    database.close()
    return prepared([file], folder / "a")


@pytest.mark.parametrize("repeat", [1, 8])
def test_the_answer_is_never_large(many: OpenProfile, repeat: int) -> None:
    lanes = tuple(range(8)) * repeat
    whole = many.trace.end_ns
    for length in (whole, whole // 7, whole // 100, whole // 1000):
        request = WindowRequest(start_ns=whole // 3, end_ns=whole // 3 + length, columns=1500, lanes=lanes)
        assert len(answer(many.trace, request)) < 300_000
        answered = window(many, whole // 3, whole // 3 + length, columns=1500, lanes=lanes)
        holes = [lane["holes"] for lane in answered["lanes"]]
        assert answered["marks"]["shown"] + sum(one["shown"] for one in holes) <= MOST_MARKS
        drawn = sum(len(one["ids"]) for lane in answered["lanes"] for one in lane["rows"] if one["mode"] == "marks")
        assert drawn == answered["marks"]["shown"] <= answered["marks"]["of"]


def test_the_longest_of_too_many_holes_stay(many: OpenProfile) -> None:
    answered = window(many, 0, many.trace.end_ns, columns=300)
    for lane, trace in zip(answered["lanes"], many.trace.lanes, strict=True):
        lengths = trace.holes.ends - trace.holes.starts
        assert lane["holes"]["of"] == len(lengths)
        drawn = lane["holes"]["ends"] - lane["holes"]["starts"]
        assert drawn.max() == lengths.max()


def test_a_window_is_clamped_to_the_profile(opened: tuple[OpenProfile, RawFile]) -> None:
    profile, _ = opened
    answered = window(profile, -5, profile.trace.end_ns * 3)
    assert (answered["start"], answered["end"]) == (0, profile.trace.end_ns)
    narrow = window(profile, 10, 13)
    assert narrow["columns"] == 3
    outside = window(profile, profile.trace.end_ns + 5, profile.trace.end_ns + 9)
    assert outside["end"] - outside["start"] == 1


@pytest.mark.parametrize("asked", [{"columns": 0}, {"columns": 5000}, {"lanes": (99,)}, {"lanes": (0,) * 129}])
def test_what_cannot_be_answered_is_told(opened: tuple[OpenProfile, RawFile], asked: dict[str, object]) -> None:
    profile, _ = opened
    with pytest.raises(InputError):
        window(profile, 0, 10, **asked)
    with pytest.raises(InputError, match="empty"):
        window(profile, 10, 10)


@needs_real
@pytest.mark.parametrize("utc", [True, False])
def test_lanes_on_clocks_of_their_own_are_shown_on_one(tmp_path: Path, *, utc: bool) -> None:
    report, half_a_second = real("job128_ranks_0_1"), 500_000_000
    wrong = {4000: WrongClock(), 4001: WrongClock(ahead_ns=half_a_second, drift_ppm=20)}
    reports = split_report(report, tmp_path, clocks=wrong, utc=utc)
    if utc:  # the second report began half a second earlier
        with sqlite3.connect(reports[1]) as database:
            database.execute("UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs - ?", (half_a_second,))
        database.close()
    split = prepared(reports, tmp_path / "split")
    one, other = split.trace.lanes
    assert one.clock != other.clock
    with RawFile(report) as raw:
        ends = [
            {kernel.end for kernel in raw.kernels(lane.pid, lane.device, nccl=True)} for lane in split.analysis.lanes
        ]
    expected = np.sort([*ends[0]]) - np.sort([*ends[1]])
    answered = window(split, 0, split.trace.end_ns, rows=(Row.COMMUNICATION,))
    shown = [np.sort(row(answered, place, "communication")["ends"]) for place in range(2)]
    assert np.abs(shown[0] - shown[1] - expected).max() < 100_000


_INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=12)


@given(_INTERVALS, st.lists(st.integers(-5, 80), min_size=1, max_size=20))
def test_what_is_covered_before_a_moment_is_a_count_of_cells(
    intervals: list[tuple[int, int]], times: list[int]
) -> None:
    starts = np.array([start for start, _ in intervals], np.int64)
    ends = starts + np.array([length for _, length in intervals], np.int64)
    found = union(starts, ends)
    busy = Busy(found.starts, found.ends, np.cumsum(found.lengths) - found.lengths)
    cells = {cell for start, length in intervals for cell in range(start, start + length)}
    times = sorted(times)
    expected = [sum(cell < time for cell in cells) for time in times]
    assert covered_before(busy, np.array(times, np.int64)).tolist() == expected


@given(st.integers(1, 2**45), st.data())
def test_a_share_reads_as_all_or_nothing_only_where_it_is(length: int, data: st.DataObject) -> None:
    part = data.draw(st.integers(0, length))
    (share,) = as_shares(np.array([part]), np.array([length])).tolist()
    assert (share == 0, share == ALL) == (part == 0, part == length)


@given(st.integers(-(10**15), 10**15), st.integers(0, 10**13), st.floats(-200, 200))
def test_clocks_lead_there_and_back(offset: int, moment: int, drift: float) -> None:
    clock = Clock(offset_ns=offset, drift_ppm=drift, at_ns=offset)
    own = clock.own(moment)
    assert abs(clock.shared(own) - moment) <= 1
    assert clock.all_own(np.array([moment])).tolist() == [own]
    assert clock.all_shared(np.array([own])).tolist() == [clock.shared(own)]
