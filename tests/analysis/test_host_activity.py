"""How a process drove its GPU: each number on a profile of a few rows."""

from __future__ import annotations

import pytest
from profiles import HOST_TO_DEVICE, G, K, M, N, R, V, profile

from gapfinder.analysis import analyze
from gapfinder.explanations import HostActivity
from gapfinder.settings import Settings

MS = 1_000_000
DEVICE_TO_HOST = 2
PAGEABLE, PINNED, DEVICE = 0, 1, 2
GRAPH = "cudaGraphLaunch_v10000"


def activity(*rows: object, **choices: object) -> HostActivity:
    """Return the activity of a lane that has a kernel from 0 to 1 ms, and one from 9 to 10 ms."""
    made = profile(K(0, MS, correlation=1), K(9 * MS, 10 * MS, correlation=2), *rows)
    return analyze([made], settings=Settings(**choices)).lanes[0].host


def test_a_report_without_calls_tells_nothing_but_the_kernels() -> None:
    assert activity() == HostActivity(launched_ns=2 * MS, unlaunched_ops=2)


def test_launches_are_calls_and_a_graph_is_one() -> None:
    found = activity(
        R(0, 5, 1),
        R(10, 17, 2),
        R(20, 50, 7, GRAPH),
        K(3 * MS, 4 * MS, correlation=7),
        K(4 * MS, 6 * MS, correlation=7),
    )
    assert (found.launches, found.launch_ns, found.launched_ns, found.unlaunched_ops) == (3, 42, 5 * MS, 0)


def test_a_graph_traced_whole_is_work_that_its_launch_gave() -> None:
    found = activity(R(0, 5, 1), R(10, 17, 2), R(20, 50, 7, GRAPH), G(3 * MS, 8 * MS, correlation=7))
    assert (found.launches, found.launched_ns) == (3, 7 * MS)


def test_copies_are_not_launches_but_may_be_unlaunched() -> None:
    found = activity(
        R(0, 5, 1), R(10, 17, 2), R(20, 90, 3, "cudaMemcpyAsync"), M(MS, 2 * MS, correlation=3), M(MS, 2 * MS)
    )
    assert (found.launches, found.launch_ns, found.unlaunched_ops) == (2, 12, 1)


def test_synchronising_calls_by_name_and_their_time_in_holes() -> None:
    found = activity(
        R(0, 5, 1),
        R(10, 17, 2),
        R(MS // 2, 3 * MS, 4, "cudaStreamSynchronize_v3020"),
        R(4 * MS, 5 * MS, 5, "cudaStreamSynchronize_v3020"),
        R(9 * MS, 10 * MS, 6, "cudaDeviceSynchronize_v3020"),
        R(4 * MS, 5 * MS, 6, "cudaDeviceSynchronize_v3020", pid=101, tid=101),
    )
    assert found.sync_calls == {"cudaStreamSynchronize_v3020": (2, 3 * MS), "cudaDeviceSynchronize_v3020": (1, 0)}


STEPS = (N(0, 2 * MS, "step 0"), N(2 * MS, 10 * MS, "step 1"), R(0, 5, 1), R(2 * MS, 2 * MS + 7, 2))


@pytest.mark.parametrize(("steps", "calls", "time"), [((), 3, 900), (STEPS, 1, 500)])
def test_allocations_count_after_the_first_step(steps: tuple[object, ...], calls: int, time: int) -> None:
    found = activity(
        *steps,
        R(100, 200, 10, "cudaMalloc_v3020"),
        R(MS, MS + 300, 11, "cudaHostAlloc_v3020"),
        R(3 * MS, 3 * MS + 500, 12, "cudaFree_v3020"),
        R(4 * MS, 5 * MS, 13, "cudaMallocHost_v3020", pid=101, tid=101),
    )
    assert (found.allocator_calls, found.allocator_ns) == (calls, time)


@pytest.mark.parametrize(("steps", "offloaded"), [((), 3_000), (STEPS, 2_000)])
def test_copies_to_the_host_count_after_the_first_step(steps: tuple[object, ...], offloaded: int) -> None:
    found = activity(
        *steps,
        M(MS, MS + 10, DEVICE_TO_HOST, size=1_000, from_memory=DEVICE, to_memory=PINNED),
        M(3 * MS, 3 * MS + 40, DEVICE_TO_HOST, size=2_000, from_memory=DEVICE, to_memory=PAGEABLE),
        M(4 * MS, 4 * MS + 500, HOST_TO_DEVICE, from_memory=PAGEABLE, to_memory=DEVICE),
        M(5 * MS, 5 * MS + 70, HOST_TO_DEVICE, from_memory=PINNED, to_memory=DEVICE),
    )
    assert (found.offload_bytes, found.pageable_copies, found.pageable_ns) == (offloaded, 1, 500)


def test_ranges_and_overhead_are_unions_inside_the_window() -> None:
    found = activity(
        N(2 * MS, 4 * MS, "gc"), N(3 * MS, 5 * MS, "gc"), N(8 * MS, 30 * MS, "checkpoint"), N(6 * MS, None, "gc"),
        V(3 * MS, 4 * MS), V(3 * MS, 5 * MS), V(6 * MS, 7 * MS, "Lazy Function Loading"), V(7 * MS, 8 * MS, pid=101),
    )  # fmt: skip
    assert (found.gc_ns, found.checkpoint_ns, found.overhead_ns) == (3 * MS, 2 * MS, 2 * MS)


def test_a_window_leaves_out_what_lies_outside() -> None:
    found = activity(
        R(0, 5, 1), R(10, 17, 2), R(2 * MS, 3 * MS, 4, "cudaFree"), N(2 * MS, 4 * MS, "gc"), window=(5 * MS, 10 * MS)
    )
    assert found == HostActivity(launches=1, launch_ns=7, launched_ns=MS)
