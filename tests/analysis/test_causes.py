"""Each cause on a profile of a few rows, quiet and firing; times in the pictures are in steps of 100 µs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import GEMM, HOST_TO_DEVICE, NCCL, G, K, M, N, R, S, V, profile

from gapfinder.analysis import analyze
from gapfinder.explanations import Cause
from gapfinder.model import Hole, Lane
from gapfinder.settings import Settings

MS = 1_000_000
US = 1_000
MAIN, AUTOGRAD, WATCHDOG = 100, 158, 144
SEND_RECEIVE = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
DEVICE_TO_HOST, DEVICE_TO_DEVICE = 2, 8
LAUNCH = 10 * US
"""The last launch of `hole` and its latency."""
PAGEABLE, PINNED, DEVICE = 0, 1, 2


def lanes(*rows: object, **choices: object) -> tuple[Lane, ...]:
    return analyze([profile(*rows)], settings=Settings(top=1000, **choices)).lanes


def hole(*between: object, launch: int = 9_990 * US, ends: int = 10 * MS, tid: int = MAIN, **choices: object) -> Hole:
    """Return the one hole from 1 ms to `ends`, whose last kernel is launched at `launch`; `between` is what happened."""
    (lane,) = lanes(
        R(0, 5 * US, 1),
        K(10 * US, MS, correlation=1),
        R(launch, launch + 5 * US, 2, tid=tid),
        K(ends, ends + MS, correlation=2),
        *between,
        **choices,
    )
    (found,) = lane.holes.top
    assert sum(found.evidence.shares.values()) == found.duration_ns == ends - MS
    assert lane.causes == found.evidence.shares
    return found


def host_code(ns: int) -> dict[Cause, int]:
    """Return what is charged for silence up to the last launch of `hole`: its call and its latency are launching."""
    return {Cause.HOST_CODE: ns - LAUNCH, Cause.LAUNCH_BOUND: LAUNCH}


def test_a_long_silence_that_nothing_explains_is_host_code() -> None:
    found = hole()
    assert found.evidence.shares == host_code(9 * MS)
    assert found.cause is Cause.HOST_CODE
    assert found.evidence.launch_delay_ns == 8_990 * US


def calls_every(ns: int, *, tid: int = MAIN) -> list[R]:
    """Return calls of 5 µs that begin `ns` apart, from before the hole until its end's launch."""
    return [
        R(start, start + 5 * US, number, "cudaEventRecord_v3020", tid=tid)
        for number, start in enumerate(range(9_990 * US - ns, 0, -ns), start=10)
    ]


@pytest.mark.parametrize(
    ("apart", "shares"),
    [
        (105 * US, {Cause.LAUNCH_BOUND: 9 * MS}),  # 100 µs from the end of one to the next
        (100 * US, {Cause.LAUNCH_BOUND: 9 * MS}),
    ],
)
def test_calls_close_together_are_launch_bound(apart: int, shares: dict[Cause, int]) -> None:
    assert hole(*calls_every(apart)).evidence.shares == shares


def test_calls_far_apart_are_host_code_but_for_the_calls() -> None:
    found = hole(*calls_every(110 * US))
    inside = [start for start in range(9_990 * US - 110 * US, 0, -110 * US) if start >= MS]
    assert found.evidence.shares == {
        Cause.HOST_CODE: 9 * MS - 5 * US * len(inside) - LAUNCH,
        Cause.LAUNCH_BOUND: 5 * US * len(inside) + LAUNCH,
    }
    assert found.cause is Cause.HOST_CODE


def test_calls_of_a_thread_that_launches_nothing_tell_nothing_of_the_one_that_does() -> None:
    assert hole(*calls_every(50 * US, tid=WATCHDOG)).evidence.shares == host_code(9 * MS)


@pytest.mark.parametrize(
    ("event", "cause"),
    [
        (N(2 * MS, 8 * MS, "data loading"), Cause.DATA_LOADING),
        (N(2 * MS, 8 * MS, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"), Cause.DATA_LOADING),
        (N(2 * MS, 8 * MS, "next_batch"), Cause.DATA_LOADING),
        (N(2 * MS, 8 * MS, "checkpoint"), Cause.CHECKPOINT),
        (N(2 * MS, 8 * MS, "save_checkpoint step 400"), Cause.CHECKPOINT),
        (N(2 * MS, 8 * MS, "garbage collection", domain="gapfinder"), Cause.GARBAGE_COLLECTION),
        (N(2 * MS, 8 * MS, "gc.collect"), Cause.GARBAGE_COLLECTION),
        (R(2 * MS, 8 * MS, 9, "cudaStreamSynchronize_v3020"), Cause.SYNCHRONISATION),
        (R(2 * MS, 8 * MS, 9, "cudaDeviceSynchronize"), Cause.SYNCHRONISATION),
        (R(2 * MS, 8 * MS, 9, "cudaMemcpy_v3020"), Cause.SYNCHRONISATION),
        (R(2 * MS, 8 * MS, 9, "cudaFree_v3020"), Cause.ALLOCATOR),
        (R(2 * MS, 8 * MS, 9, "cudaHostRegister_v4000"), Cause.ALLOCATOR),
        (R(2 * MS, 8 * MS, 9, "cuMemMap"), Cause.ALLOCATOR),
        (R(2 * MS, 8 * MS, 9, "cuModuleLoadDataEx"), Cause.WARM_UP),
        (S(2 * MS, 8 * MS, "read"), Cause.OS_CALL),
        (V(2 * MS, 8 * MS, "CUPTI Buffer flush"), Cause.PROFILER_OVERHEAD),
        (V(2 * MS, 8 * MS, "Lazy Function Loading"), Cause.WARM_UP),
    ],
    ids=str,
)
def test_what_the_launching_thread_did_explains_the_time_until_its_launch(event: object, cause: Cause) -> None:
    found = hole(event)
    assert found.evidence.shares == {cause: 6 * MS, **host_code(3 * MS)}
    assert found.cause is cause


@pytest.mark.parametrize(
    "event",
    [
        N(2 * MS, 8 * MS, "forward"),
        N(2 * MS, 8 * MS, "torch::autograd::CheckpointFunctionBackward"),
        N(2 * MS, 8 * MS, "activation checkpoint"),
        N(2 * MS, 8 * MS, "data loading", tid=WATCHDOG),
        N(2 * MS, 8 * MS, "data loading", pid=101),
        R(2 * MS, 8 * MS, 9, "cudaStreamWaitEvent_v3020"),
        R(2 * MS, 8 * MS, 9, "cudaMemcpyAsync_v3020"),
        R(2 * MS, 8 * MS, 9, "cudaEventQuery"),
        R(2 * MS, 8 * MS, 9, "cudaStreamSynchronize_v3020", tid=WATCHDOG),
        R(2 * MS, 8 * MS, 9, "cudaFree_v3020", pid=101),
        S(2 * MS, 8 * MS, "poll", tid=WATCHDOG),
        V(2 * MS, 8 * MS, "CUPTI Buffer flush", tid=WATCHDOG),
        V(2 * MS, 8 * MS, "Command Buffer Full"),
    ],
    ids=str,
)
def test_what_holds_nobody_up_explains_nothing(event: object) -> None:
    in_call = 6 * MS if isinstance(event, R) and (event.pid, event.tid) == (100, MAIN) else 0
    assert hole(event).evidence.shares == {
        Cause.HOST_CODE: 9 * MS - in_call - LAUNCH,
        Cause.LAUNCH_BOUND: in_call + LAUNCH,
    }


def test_each_moment_is_charged_once_to_the_most_telling_event() -> None:
    found = hole(
        N(2 * MS, 8 * MS, "data loading"),
        S(1 * MS, 9 * MS, "poll"),
        R(5 * MS, 6 * MS, 9, "cudaHostAlloc_v3020"),
        R(6 * MS, 7 * MS, 10, "cudaStreamSynchronize_v3020"),
        V(3 * MS, 4 * MS),
    )
    assert found.evidence.shares == {
        Cause.PROFILER_OVERHEAD: 1 * MS,
        Cause.ALLOCATOR: 1 * MS,
        Cause.DATA_LOADING: 4 * MS,
        Cause.OS_CALL: 2 * MS,
        **host_code(1 * MS),
    }
    assert (found.evidence.call, found.evidence.call_ns) == ("poll", 4 * MS)
    assert found.evidence.nvtx == "data loading"


def test_a_checkpoint_explains_the_calls_in_it() -> None:
    found = hole(N(2 * MS, 8 * MS, "checkpoint"), S(2 * MS, 7 * MS, "write"), R(7 * MS, 8 * MS, 9, "cudaFree_v3020"))
    assert found.evidence.shares == {Cause.CHECKPOINT: 6 * MS, **host_code(3 * MS)}


def test_a_call_waits_while_the_profiler_flushes_in_a_thread_of_its_own() -> None:
    found = hole(V(2 * MS, 5 * MS, tid=WATCHDOG), R(4 * MS, 6 * MS, 9, "cudaEventRecord_v3020"))
    assert found.evidence.shares == {
        Cause.PROFILER_OVERHEAD: 1 * MS,
        Cause.HOST_CODE: 7 * MS - LAUNCH,
        Cause.LAUNCH_BOUND: 1 * MS + LAUNCH,
    }


@pytest.mark.parametrize(
    ("name", "length", "shares"),
    [
        ("other", 2 * MS, {Cause.WARM_UP: 2 * MS, Cause.HOST_CODE: 7 * MS}),
        ("other", 200 * US, {Cause.LAUNCH_BOUND: 200 * US, Cause.HOST_CODE: 8_800 * US}),
        (GEMM, 2 * MS, {Cause.LAUNCH_BOUND: 2 * MS, Cause.HOST_CODE: 7 * MS}),
    ],
)
def test_a_long_first_launch_of_a_kernel_loads_its_code(name: str, length: int, shares: dict[Cause, int]) -> None:
    (lane,) = lanes(
        R(0, 5 * US, 1), K(10 * US, MS, correlation=1),
        R(10 * MS - length, 10 * MS, 2), K(10 * MS, 11 * MS, name, correlation=2),
    )  # fmt: skip
    assert lane.causes == shares


def test_p83_profiler_overhead_is_no_longer_than_the_hole() -> None:
    assert hole(V(0, 900 * MS)).evidence.shares == {Cause.PROFILER_OVERHEAD: 8_995 * US, Cause.LAUNCH_BOUND: 5 * US}


def test_a_launch_queued_long_before_means_the_device_waited() -> None:
    found = hole(N(1 * MS, 9 * MS, "data loading"), launch=500 * US)
    assert found.evidence.shares == {Cause.DEVICE_WAIT: 9 * MS}
    assert found.evidence.launch_delay_ns == 0


def test_what_starts_soon_after_its_launch_was_launched_late_and_not_held_up() -> None:
    late = hole(launch=9_985 * US)  # returns 10 µs before the kernel starts
    held = hole(launch=9_960 * US)  # returns 35 µs before
    assert late.evidence.shares == {Cause.HOST_CODE: 8_985 * US, Cause.LAUNCH_BOUND: 15 * US}
    assert held.evidence.shares == {
        Cause.HOST_CODE: 8_960 * US,
        Cause.LAUNCH_BOUND: 5 * US,
        Cause.DEVICE_WAIT: 35 * US,
    }


def test_without_a_launch_call_only_the_profiler_is_told() -> None:
    rows = (K(0, MS), K(5 * MS, 6 * MS), N(1 * MS, 5 * MS, "data loading"), S(1 * MS, 5 * MS))
    for more, shares in (
        ((), {Cause.UNKNOWN: 4 * MS}),
        ((V(2 * MS, 3 * MS, tid=WATCHDOG),), {Cause.PROFILER_OVERHEAD: MS, Cause.UNKNOWN: 3 * MS}),
        ((V(2 * MS, 3 * MS, pid=101),), {Cause.UNKNOWN: 4 * MS}),
    ):
        (lane,) = lanes(*rows, *more)
        assert lane.causes == shares
        assert lane.host.unlaunched_ops == 2


def test_launches_are_found_in_their_own_process() -> None:
    """Both processes use correlation 2; in process 101 its call comes in time, in process 100 it comes late."""
    first, second = lanes(
        *(K(0, MS, pid=pid, correlation=1) for pid in (100, 101)),
        *(K(5 * MS, 6 * MS, pid=pid, correlation=2) for pid in (100, 101)),
        R(4_990 * US, 4_995 * US, 2, pid=100, tid=100),
        R(10 * US, 15 * US, 2, pid=101, tid=101),
        N(1 * MS, 4 * MS, "data loading", pid=100, tid=100),
        N(1 * MS, 4 * MS, "checkpoint", pid=101, tid=101),
    )
    assert first.causes == {Cause.DATA_LOADING: 3 * MS, **host_code(1 * MS)}
    assert second.causes == {Cause.DEVICE_WAIT: 4 * MS}


class TestThreads:
    """Backward is launched by autograd's thread; the main thread, which called it, sleeps."""

    def test_before_autograd_took_over_the_main_thread_explains(self) -> None:
        found = hole(
            S(8 * MS, 10 * MS, "pthread_cond_wait"), N(1 * MS, 7 * MS, "data loading"), tid=AUTOGRAD
        )  # fmt: skip
        assert found.evidence.shares == {Cause.DATA_LOADING: 6 * MS, **host_code(3 * MS)}
        assert found.evidence.nvtx == "data loading"

    def test_the_sleep_of_who_handed_over_explains_nothing(self) -> None:
        """Autograd launches at 2 ms and at 9.99 ms, between them Python hooks run: nobody waits for the main thread."""
        sleep = S(500 * US, 11 * MS, "pthread_cond_wait")
        rows = (R(2 * MS, 2_005 * US, 3, tid=AUTOGRAD), M(2_010 * US, 2_012 * US, correlation=3))
        found = hole(sleep, *rows, tid=AUTOGRAD)
        launching = 5 * US + LAUNCH  # the copy's launch, and the last one
        assert found.evidence.shares == {
            Cause.HOST_CODE: 9 * MS - 2 * US - launching,
            Cause.LAUNCH_BOUND: launching,
            Cause.HOST_TO_DEVICE_COPY: 2 * US,
        }

    def test_back_in_the_main_thread_its_own_doings_explain(self) -> None:
        rows = (
            R(200 * US, 205 * US, 3, tid=AUTOGRAD),
            S(100 * US, 300 * US, "pthread_cond_wait"),
            R(1_100 * US, 4_100 * US, 4, "cudaStreamSynchronize_v3020"),
            N(5 * MS, 9 * MS, "data loading", tid=AUTOGRAD),
        )
        assert hole(*rows).evidence.shares == {Cause.SYNCHRONISATION: 3 * MS, **host_code(6 * MS)}

    def test_a_thread_at_work_of_its_own_is_not_asked_once_the_launching_one_took_over(self) -> None:
        """A thread that writes checkpoints in the background launches a copy early on."""
        rows = (
            R(1_000 * US, 1_005 * US, 3, tid=WATCHDOG),
            N(900 * US, 9 * MS, "checkpoint", tid=WATCHDOG),
            R(1_010 * US, 1_012 * US, 4, "cudaEventRecord_v3020"),
        )
        found = hole(*rows)
        launching = 2 * US + LAUNCH  # the main thread's own calls
        assert found.evidence.shares == {
            Cause.CHECKPOINT: 10 * US,
            Cause.HOST_CODE: 8_990 * US - launching,
            Cause.LAUNCH_BOUND: launching,
        }


class TestCopies:
    def test_copies_are_split_by_direction(self) -> None:
        found = hole(
            M(2 * MS, 4 * MS, HOST_TO_DEVICE, size=2_000_000, from_memory=PAGEABLE, to_memory=DEVICE),
            M(3 * MS, 7 * MS, DEVICE_TO_HOST, size=4_000_000, from_memory=DEVICE, to_memory=PINNED),
        )
        assert found.evidence.shares[Cause.HOST_TO_DEVICE_COPY] == 2 * MS
        assert found.evidence.shares[Cause.COPY] == 3 * MS
        assert found.evidence.copied_bytes == 6_000_000
        assert found.evidence.copy_bandwidth == pytest.approx(6_000_000 / 5e-3)
        assert found.evidence.is_pageable is True

    @pytest.mark.parametrize(
        ("kind", "memory", "told"),
        [
            (HOST_TO_DEVICE, PINNED, False),
            (HOST_TO_DEVICE, PAGEABLE, True),
            (HOST_TO_DEVICE, -1, None),
            (DEVICE_TO_DEVICE, DEVICE, None),
        ],
    )
    def test_pageable_is_told_only_of_known_host_memory(self, kind: int, memory: int, *, told: bool | None) -> None:
        copy = M(2 * MS, 4 * MS, kind, from_memory=memory, to_memory=-1 if memory < 0 else DEVICE)
        assert hole(copy).evidence.is_pageable is told

    def test_a_memset_moves_nothing(self) -> None:
        found = hole(M(2 * MS, 4 * MS, -1))
        assert found.evidence.shares[Cause.COPY] == 2 * MS
        assert found.evidence.copied_bytes is None

    def test_a_copy_from_pageable_memory_blocks_its_asynchronous_call(self) -> None:
        call = R(2 * MS, 6 * MS, 3, "cudaMemcpyAsync_v3020")
        for memory, waited in ((PAGEABLE, 3_900 * US), (PINNED, 0)):
            copy = M(2_100 * US, 2_200 * US, HOST_TO_DEVICE, correlation=3, from_memory=memory, to_memory=DEVICE)
            assert hole(call, copy).evidence.shares.get(Cause.SYNCHRONISATION, 0) == waited


class TestCommunication:
    def pair(self, *, second: str = NCCL) -> tuple[Lane, ...]:
        """Two lanes meet four times; lane 1 arrives 2 ms after lane 0, both end together."""
        rows = []
        for step in range(4):
            at = step * 20 * MS
            for pid, late in ((100, 0), (101, 2 * MS)):
                rows += [
                    K(at, at + MS, pid=pid),
                    K(at + MS + late, at + 5 * MS, second, stream=9, pid=pid),
                    K(at + 5 * MS, at + 20 * MS, pid=pid),
                ]
        return lanes(*rows)

    def test_the_first_lane_waits_for_the_late_one(self) -> None:
        early, late = self.pair()
        assert early.causes == {Cause.EXPOSED_WAIT: 4 * 2 * MS, Cause.EXPOSED_TRANSFER: 4 * 2 * MS}
        assert late.causes == {Cause.UNKNOWN: 4 * 2 * MS, Cause.EXPOSED_TRANSFER: 4 * 2 * MS}
        for found in early.holes.top:
            evidence = found.evidence
            assert (evidence.operation, evidence.wait_ns, evidence.transfer_ns) == ("AllReduce", 2 * MS, 2 * MS)
            assert evidence.late_lane == 1

    def test_a_receive_that_waits_is_a_pipeline_bubble(self) -> None:
        early, _ = self.pair(second=SEND_RECEIVE)
        assert early.causes == {Cause.PIPELINE_BUBBLE: 4 * 2 * MS, Cause.EXPOSED_TRANSFER: 4 * 2 * MS}
        assert early.holes.top[0].evidence.wait_ns == 2 * MS

    @pytest.mark.parametrize(
        ("name", "thread", "waited_in"),
        [
            ("nccl:send 0->1", MAIN, Cause.PIPELINE_BUBBLE),
            ("forward all_to_all", MAIN, Cause.PIPELINE_BUBBLE),
            ("nccl:all_to_all", AUTOGRAD, Cause.PIPELINE_BUBBLE),
            ("nccl:all_to_all", MAIN, Cause.EXPOSED_WAIT),
            ("ncclAlltoAll", MAIN, Cause.EXPOSED_WAIT),
        ],
    )
    def test_an_all_to_all_is_made_of_sends_and_waits_like_a_collective(
        self, name: str, thread: int, waited_in: Cause
    ) -> None:
        rows: list[object] = []
        for step in range(4):
            at = step * 20 * MS
            rows += [
                N(at, at + 50 * US, name, tid=thread),
                R(at + 10 * US, at + 15 * US, 10 + step, tid=MAIN),
                K(at, at + MS),
                K(at + MS, at + 5 * MS, SEND_RECEIVE, stream=9, correlation=10 + step),
                K(at + 5 * MS, at + 20 * MS),
                K(at, at + MS, pid=101),
                K(at + 3 * MS, at + 5 * MS, SEND_RECEIVE, stream=9, pid=101),
                K(at + 5 * MS, at + 20 * MS, pid=101),
            ]
        early, _ = lanes(*rows)
        assert early.causes == {waited_in: 4 * 2 * MS, Cause.EXPOSED_TRANSFER: 4 * 2 * MS}
        assert early.holes.top[0].evidence.wait_ns == 2 * MS

    def test_one_lane_has_no_split(self) -> None:
        found = hole(K(2 * MS, 6 * MS, NCCL, stream=9))
        assert found.evidence.shares[Cause.EXPOSED_COMMUNICATION] == 4 * MS
        assert (found.evidence.wait_ns, found.evidence.transfer_ns, found.evidence.late_lane) == (None, None, None)
        assert found.evidence.operation == "AllReduce"


class TestGraphs:
    """Launches of CUDA graphs of which nothing was recorded."""

    def test_after_an_untraced_graph_launch_idle_time_is_unknown(self) -> None:
        found = hole(R(3 * MS, 4 * MS, 7, "cudaGraphLaunch_v10000"))
        assert found.evidence.shares == {Cause.HOST_CODE: 2 * MS, Cause.GRAPH_UNKNOWN: 7 * MS}
        assert found.cause is Cause.GRAPH_UNKNOWN

    def test_a_graph_launched_while_the_last_kernel_ran_comes_after_it(self) -> None:
        found = hole(R(500 * US, 600 * US, 7, "cudaGraphLaunch_v10000"))
        assert found.evidence.shares == {Cause.GRAPH_UNKNOWN: 9 * MS}

    def test_a_graph_launched_before_the_last_kernel_ran_before_it(self) -> None:
        (lane,) = lanes(
            R(0, 5 * US, 7, "cudaGraphLaunch_v10000"),
            R(100 * US, 105 * US, 1),
            K(900 * US, MS, correlation=1),
            R(4_990 * US, 4_995 * US, 2),
            K(5 * MS, 6 * MS, correlation=2),
        )
        assert lane.causes == host_code(4 * MS)

    def test_a_traced_graph_is_no_hole(self) -> None:
        (lane,) = lanes(
            R(0, 5 * US, 1), K(10 * US, MS, correlation=1), R(MS, 2 * MS, 7, "cudaGraphLaunch_v10000"),
            G(2 * MS, 9 * MS, correlation=7),
        )  # fmt: skip
        assert lane.causes == {Cause.LAUNCH_BOUND: 1 * MS}


def test_a_window_cut_inside_a_hole_keeps_its_cause() -> None:
    found = hole(N(2 * MS, 8 * MS, "data loading"))
    assert found.cause is Cause.DATA_LOADING
    (lane,) = lanes(
        R(0, 5 * US, 1), K(10 * US, MS, correlation=1), R(9_990 * US, 9_995 * US, 2),
        K(10 * MS, 11 * MS, correlation=2), N(2 * MS, 8 * MS, "data loading"), window=(500 * US, 5 * MS),
    )  # fmt: skip
    assert lane.causes == {Cause.HOST_CODE: 1 * MS, Cause.DATA_LOADING: 3 * MS}


def test_holes_below_min_gap_are_not_charged() -> None:
    (lane,) = lanes(R(0, 5 * US, 1), K(0, MS, correlation=1), K(MS + 99 * US, 2 * MS, correlation=1))
    assert (lane.causes, lane.holes.total_ns) == ({}, 0)


def test_operations_that_start_at_once_are_asked_for_the_earliest_launch() -> None:
    rows = [
        R(0, 5 * US, 1), K(0, MS, correlation=1), K(5 * MS, 6 * MS, GEMM, correlation=3),
        K(5 * MS, 6 * MS, GEMM, stream=8, correlation=2), R(500 * US, 505 * US, 2), R(4_990 * US, 4_995 * US, 3),
    ]  # fmt: skip
    for order in (rows, rows[::-1]):
        (lane,) = lanes(*order)
        assert lane.causes == {Cause.DEVICE_WAIT: 4 * MS}


GRID = 40
times = st.tuples(st.integers(0, GRID - 1), st.integers(0, 9)).map(lambda pair: (pair[0], pair[0] + pair[1]))
threads = st.sampled_from([MAIN, AUTOGRAD, WATCHDOG])
pids = st.sampled_from([100, 101])
numbers = st.integers(-1, 6)
call_names = st.sampled_from(
    ["cudaLaunchKernel", "cudaMemcpyAsync", "cudaFree", "cudaStreamSynchronize", "cudaGraphLaunch", "cudaEventQuery"]
)
range_names = st.sampled_from(["data loading", "checkpoint", "gc", "forward", "step 1"])
events = st.one_of(
    st.builds(lambda t, n, c, p: K(*t, n, correlation=c, pid=p), times, st.sampled_from([GEMM, NCCL]), numbers, pids),
    st.builds(
        lambda t, k, c, p, m: M(*t, k, correlation=c, pid=p, from_memory=m, to_memory=m),
        times, st.sampled_from([1, 2, 8, -1]), numbers, pids, st.integers(-1, 2),
    ),
    st.builds(lambda t, c, p: G(*t, correlation=c, pid=p), times, numbers, pids),
    st.builds(lambda t, c, n, p, i: R(*t, c, n, pid=p, tid=i), times, numbers, call_names, pids, threads),
    st.builds(lambda t, n, p, i: N(*t, n, pid=p, tid=i), times, range_names, pids, threads),
    st.builds(lambda t, p, i: S(*t, pid=p, tid=i), times, pids, threads),
    st.builds(lambda t, n, p, i: V(*t, n, pid=p, tid=i), times, st.sampled_from(["flush", "Lazy loading"]), pids, threads),
)  # fmt: skip
profiles = st.tuples(st.lists(events, min_size=2, max_size=30), st.integers(0, 6))


@settings(deadline=None, max_examples=50)
@given(profiles, st.randoms(use_true_random=False))
def test_causes_add_up_to_the_holes_whatever_the_rows_and_their_order(
    rows: tuple[list[object], int], shuffle: random.Random
) -> None:
    made, min_gap = rows
    found = lanes(K(0, 1), *made, min_gap_ns=min_gap)
    for lane in found:
        assert sum(lane.causes.values()) == lane.holes.total_ns
        assert all(ns > 0 for ns in lane.causes.values())
        summed: dict[Cause, int] = {}
        for one in lane.holes.top:
            shares = one.evidence.shares
            assert sum(shares.values()) == one.duration_ns
            assert min(shares.values()) > 0
            assert shares[one.cause] == max(shares.values())
            exposed = [cause for cause in Cause if cause.startswith("exposed") or cause is Cause.PIPELINE_BUBBLE]
            assert sum(shares.get(cause, 0) for cause in exposed) == one.exposed_ns
            copied = shares.get(Cause.HOST_TO_DEVICE_COPY, 0) + shares.get(Cause.COPY, 0)
            assert copied == one.copy_only_ns
            for cause, ns in shares.items():
                summed[cause] = summed.get(cause, 0) + ns
        assert summed == lane.causes
    shuffle.shuffle(made)
    assert lanes(*made, K(0, 1), min_gap_ns=min_gap) == found


def test_a_copy_without_length_has_no_bandwidth() -> None:
    (lane,) = analyze([profile(K(0, 1), M(2, 2))], settings=Settings(min_gap_ns=1, window=(0, 3))).lanes
    assert [hole.evidence.copy_bandwidth for hole in lane.holes.top] == [None]
