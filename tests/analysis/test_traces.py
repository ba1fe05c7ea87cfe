"""A trace hands out every event of a process, nested as it was, and every operation with its launch call."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from profiles import G, K, M, N, R, S, V, profile

from gapfinder.analysis import trace_report
from gapfinder.analysis.traced_host import CUDA_CALL, OS_CALL, OVERHEAD, TracedProcess, nesting_depths
from gapfinder.analysis.traces import TracedLane
from gapfinder.settings import Settings


def traced(*rows: object) -> tuple[list[TracedProcess], list[TracedLane]]:
    pieces: list[TracedProcess | TracedLane] = []
    trace_report(profile(*rows), settings=Settings(), keep=pieces.append)
    return (
        [one for one in pieces if isinstance(one, TracedProcess)],
        [one for one in pieces if isinstance(one, TracedLane)],
    )


def test_operations_come_by_kind_in_order_of_start_with_their_launch_call() -> None:
    (process,), (lane,) = traced(
        K(500, 600, correlation=3, stream=9),
        K(100, 200, correlation=1),
        K(150, 180, "ncclDevKernel_AllReduce", correlation=2, stream=20),
        K(0, 0),
        M(300, 320, kind=2),
        G(700, 900),
        R(400, 410, 3, tid=101),
        R(10, 20, 1, tid=100),
        R(30, 40, 2, tid=100),
    )
    compute, communication, copies, graphs = lane.operations
    assert compute.starts.tolist() == [100, 500]
    assert compute.streams.tolist() == [7, 9]
    assert process.calls.starts[compute.calls].tolist() == [10, 400]
    assert process.calls.starts[communication.calls].tolist() == [30]
    assert (communication.streams.tolist(), communication.texts[communication.names[0]]) == (
        [20],
        "ncclDevKernel_AllReduce",
    )
    assert (copies.texts[copies.names[0]], copies.calls.tolist()) == ("memcpy device to host", [-1])
    assert graphs.texts[graphs.names[0]] == "CUDA graph"
    assert lane.shares.sum(axis=0).tolist() == (lane.holes.lengths - lane.holes.exposed).tolist()


def test_threads_come_one_after_the_other_and_the_longest_first() -> None:
    (process,), _ = traced(
        K(1_000, 1_100, correlation=1),
        R(50, 60, 1, tid=101),
        R(10, 20, 2, "cudaFree_v3020", tid=100),
        S(10, 18, "ioctl", tid=100),
        V(15, 17, tid=100),
        N(5, 80, "step 1", tid=101),
        N(5, 90, "outer", tid=101),
        N(60, None, "open", tid=101),
    )
    calls = process.calls
    assert [calls.texts[code] for code in calls.names.tolist()] == [
        "cudaFree_v3020",
        "ioctl",
        "CUPTI Buffer flush",
        "cudaLaunchKernel_v7000",
    ]
    assert calls.kinds.tolist() == [CUDA_CALL, OS_CALL, OVERHEAD, CUDA_CALL]
    assert calls.depths.tolist() == [0, 1, 2, 0]
    ranges = process.ranges
    assert [ranges.texts[code] for code in ranges.names.tolist()] == ["outer", "step 1", "open"]
    assert (ranges.depths.tolist(), ranges.ends.tolist()) == ([0, 1, 2], [90, 80, 90])
    assert process.launching_thread == calls.threads[-1]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), max_size=15))
def test_depth_counts_earlier_events_that_last(spans: list[tuple[int, int]]) -> None:
    spans = sorted(spans, key=lambda span: (span[0], -span[1]))
    expected = [
        sum(start + max(length, 1) > begin for start, length in spans[:place]) for place, (begin, _) in enumerate(spans)
    ]
    starts = np.array([start for start, _ in spans], np.int64)
    ends = starts + np.array([length for _, length in spans], np.int64)
    assert nesting_depths(starts, ends).tolist() == expected
