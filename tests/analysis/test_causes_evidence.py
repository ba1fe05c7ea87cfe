"""What is named as evidence of a hole belongs to its main cause; times in ms, the hole lasts from 1 to 10 ms."""

from __future__ import annotations

import pytest
from profiles import HOST_TO_DEVICE, NCCL, K, M, N, R, S, profile

from gapfinder.analysis import analyze
from gapfinder.explanations import Cause
from gapfinder.model import Hole
from gapfinder.settings import Settings

MS = 1_000_000
US = 1_000
MAIN, WORKER = 100, 158


def hole(*between: object, launch: int = 9_990 * US) -> Hole:
    """Return the one hole, whose last kernel is launched at `launch`; `between` is what happened."""
    rows = (R(0, 5 * US, 1), K(10 * US, MS, correlation=1), R(launch, launch + 5 * US, 2))
    (lane,) = analyze([profile(*rows, K(10 * MS, 11 * MS, correlation=2), *between)], settings=Settings()).lanes
    (found,) = lane.holes.top
    return found


def named(found: Hole) -> tuple[str | None, int | None, str | None]:
    return found.evidence.call, found.evidence.call_ns, found.evidence.nvtx


def test_the_calls_of_the_main_cause_count_and_those_of_one_name_together() -> None:
    """The longest single call lies in the range of the smaller cause."""
    found = hole(
        N(1 * MS, 4 * MS, "data loading"), S(1 * MS, 4 * MS, "poll"),
        N(5 * MS, 9 * MS, "checkpoint"), S(5 * MS, 7 * MS, "write"), S(7_200 * US, 9 * MS, "write"),
    )  # fmt: skip
    assert found.cause is Cause.CHECKPOINT
    assert named(found) == ("write", 3_800 * US, "checkpoint")


def test_a_range_cut_up_by_copies_is_named_before_a_longer_stretch_of_another() -> None:
    """Seven stretches of 0.9 ms lie in backward, one of 2 ms in the optimizer."""
    copies = [
        row
        for number, start in enumerate(range(1_900 * US, 8_000 * US, 1 * MS), start=10)
        for row in (
            R(start - 10 * US, start - 5 * US, number, "cudaMemcpyAsync"),
            M(start, start + 100 * US, HOST_TO_DEVICE, correlation=number),
        )
    ]
    found = hole(*copies, N(500 * US, 8 * MS, "backward"), N(8 * MS, 10 * MS, "optimizer"))
    launching = 7 * 5 * US + 10 * US  # the launch of each copy; that of the kernel at the end, and its latency
    assert found.evidence.shares == {
        Cause.HOST_CODE: 8_300 * US - launching,
        Cause.LAUNCH_BOUND: launching,
        Cause.HOST_TO_DEVICE_COPY: 700 * US,
    }
    assert named(found) == (None, None, "backward")


def test_the_calls_of_a_hole_that_launches_fill_are_named() -> None:
    copies = [R(start, start + 8 * US, 20, "cudaMemcpyAsync") for start in range(1_000 * US, 9_990 * US, 50 * US)]
    found = hole(*copies, N(500 * US, 10 * MS, "optimizer"))
    assert found.cause is Cause.LAUNCH_BOUND
    assert named(found) == ("cudaMemcpyAsync", len(copies) * 8 * US, "optimizer")


def test_no_range_is_named_where_none_has_more_than_half() -> None:
    assert hole(N(1 * MS, 5 * MS, "forward"), N(6 * MS, 9 * MS, "backward")).evidence.nvtx is None


@pytest.mark.parametrize(
    ("operation", "cause"),
    [
        (K(2 * MS, 9 * MS, NCCL, stream=9, correlation=3), Cause.EXPOSED_COMMUNICATION),
        (M(2 * MS, 9 * MS, HOST_TO_DEVICE, stream=9, correlation=3), Cause.HOST_TO_DEVICE_COPY),
        (M(2 * MS, 9 * MS, 8, stream=9, correlation=3), Cause.COPY),
        (K(9 * MS, 10 * MS, NCCL, stream=9, correlation=3), Cause.DEVICE_WAIT),
    ],
    ids=lambda value: str(value) if isinstance(value, Cause) else "",
)
def test_a_cause_on_the_device_is_seen_where_it_was_launched(operation: object, cause: Cause) -> None:
    """Meanwhile the host, which runs ahead, is in other ranges and calls."""
    found = hole(
        operation,
        N(200 * US, 700 * US, "forward"), N(300 * US, 400 * US, "gather"), R(310 * US, 320 * US, 3),
        N(1 * MS, 10 * MS, "optimizer"), R(2 * MS, 9 * MS, 4, "cudaEventRecord"),
        launch=500 * US,
    )  # fmt: skip
    assert found.cause is cause
    assert named(found) == (None, None, "gather")


def test_the_longest_communication_tells_the_range() -> None:
    found = hole(
        N(200 * US, 300 * US, "first"), R(210 * US, 220 * US, 3), K(2 * MS, 4 * MS, NCCL, stream=9, correlation=3),
        N(400 * US, 500 * US, "second"), R(410 * US, 420 * US, 4), K(5 * MS, 9 * MS, NCCL, stream=9, correlation=4),
        launch=600 * US,
    )  # fmt: skip
    assert named(found) == (None, None, "second")


def test_a_device_cause_without_launch_call_names_nothing() -> None:
    found = hole(K(2 * MS, 9 * MS, NCCL, stream=9), N(1 * MS, 10 * MS, "optimizer"))
    assert named(found) == (None, None, None)


def test_the_thread_that_did_it_names_call_and_range() -> None:
    """Before the main thread took over, the other one waited for the GPU, in a range of its own."""
    found = hole(
        R(900 * US, 905 * US, 3, tid=WORKER),
        R(1 * MS, 8 * MS, 4, "cudaStreamSynchronize", tid=WORKER),
        N(900 * US, 8 * MS, "backward", tid=WORKER),
        N(900 * US, 8 * MS, "idle", tid=MAIN),
    )
    assert found.cause is Cause.SYNCHRONISATION
    assert named(found) == ("cudaStreamSynchronize", 7 * MS, "backward")
