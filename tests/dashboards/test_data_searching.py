"""Holes, steps and names of real files are found as a plain search over all of them finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from dashboard_data import RawFile, files, prepared

from dashboards.data.searching import find_step, search
from dashboards.data.walking import HoleFilter, Walk, next_hole
from gapfinder.explanations import Cause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dashboards.data.opening import OpenProfile
    from dashboards.data.trace import Trace

FILES = files(samples=["data_starved"], reals=["job128_ranks_0_1"])


@pytest.fixture(scope="module", params=FILES)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple]:
    profile, raw = prepared([request.param], tmp_path_factory.mktemp("searching") / "a"), RawFile(request.param)
    yield profile, raw
    raw.close()


def _walked(trace: Trace, among: HoleFilter, *, is_back: bool) -> list[tuple[int, int, int]]:
    """All holes in the order of a walk, as (start, lane, place)."""
    found, after, edge = [], None, trace.end_ns + 1 if is_back else 0
    while (after := next_hole(trace, Walk(after=after, from_ns=edge, is_back=is_back), among=among)) is not None:
        found.append((after.start_ns, after.lane, after.hole))
    return found


def test_holes_are_gone_through_in_order(opened: tuple[OpenProfile, RawFile]) -> None:
    trace = opened[0].trace
    lanes = tuple(range(len(trace.lanes)))
    for among in (HoleFilter(lanes), HoleFilter((1,), (Cause.HOST_CODE,), 150_000)):
        expected = sorted(
            (int(start) - trace.origin_ns, lane, hole)
            for lane in among.lanes
            for hole, (start, end, code) in enumerate(
                zip(*(getattr(trace.lanes[lane].holes, name) for name in ("starts", "ends", "causes")), strict=True)
            )
            if end - start >= among.min_ns and (not among.causes or tuple(Cause)[code] in among.causes)
        )
        assert _walked(trace, among, is_back=False) == _walked(trace, among, is_back=True)[::-1] == expected


def test_a_step_reaches_over_all_its_lanes(opened: tuple[OpenProfile, RawFile]) -> None:
    trace = opened[0].trace
    for lane in opened[0].analysis.lanes:
        for step in lane.steps.items[:2] if lane.steps else ():
            found = find_step(trace, number=step.number)
            assert found.start_ns <= step.window.start_ns - trace.origin_ns
            assert step.window.end_ns - trace.origin_ns <= found.end_ns
    assert find_step(trace, number=10**6) is None


@pytest.mark.parametrize("text", ["no such name", "NCCL", "gemm", "["])
def test_names_are_found_whatever_their_case(opened: tuple[OpenProfile, RawFile], text: str) -> None:
    profile, raw = opened
    trace, middle = profile.trace, profile.trace.end_ns // 2
    kernels = [
        one.start - trace.origin_ns
        for lane in profile.analysis.lanes
        for nccl in (True, False)
        for one in raw.kernels(lane.pid, lane.device, nccl=nccl)
        if text.lower() in one.name.lower()
    ]
    for is_back in (False, True):
        got = search(trace, text=text, from_ns=middle, is_back=is_back, lanes=range(len(trace.lanes)))
        assert got.count >= len(kernels)
        sides = [start for start in kernels if (start < middle if is_back else start > middle)]
        assert (got.found is None) <= (not sides)
        if got.found is None:
            continue
        assert text.lower() in got.found.name.lower()
        assert got.found.start_ns < middle if is_back else got.found.start_ns > middle
        if sides:
            nearest = max(sides) if is_back else min(sides)
            assert abs(got.found.start_ns - middle) <= abs(nearest - middle)
