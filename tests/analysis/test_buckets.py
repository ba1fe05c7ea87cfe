"""Gradient synchronisation against backward: from NVTX, else from the autograd thread, else not at all."""

from __future__ import annotations

import pytest
from profiles import K, N, R, profile

from gapfinder.analysis import analyze

US = 1_000
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def training(*reduces: tuple[int, int], ranges=(), backward_thread=101, name=REDUCE, passes=1):
    """Three steps of 1000 µs: forward [100, 300), backward kernels [300, 500) and [500, 700), `reduces` beside them."""
    rows, number = [], 0
    for step in range(3):
        at = 1000 * step
        rows.append(N(at * US, (at + 90) * US, f"step {step}"))
        rows += [N((at + start) * US, (at + end) * US, text) for start, end, text in ranges]
        ops = [(100, 300, None, 10, 100), (300, 500, None, 30, backward_thread), (500, 700, None, 40, backward_thread)]
        ops += [(start, end, name, 50 + place, backward_thread) for place, (start, end) in enumerate(reduces)]
        for start, end, kernel, launch, thread in ops:
            number += 1
            rows.append(R((at + launch) * US, (at + launch + 1) * US, number, tid=thread))
            where = {"name": kernel, "stream": 20} if kernel else {}
            rows.append(K((at + start) * US, (at + end) * US, correlation=number, **where))
    return analyze([profile(*rows)]).buckets


def test_no_evidence_of_backward_means_no_answer():
    assert training((750, 800), backward_thread=100) == ()


def test_no_gradient_collective_means_no_answer():
    assert training() == ()
    assert training((750, 800), name=GATHER) == ()


@pytest.mark.parametrize(
    "evidence", [{"backward_thread": 101}, {"backward_thread": 100, "ranges": [(25, 60, "## backward ##")]}]
)
def test_buckets_lie_to_backward(evidence):
    (found,) = training((400, 450), (690, 800), **evidence)
    assert found.lane == 0
    assert found.per_step == 2.0
    assert found.start_into_backward == pytest.approx(0.25)
    assert found.after_backward_ns == 100 * US
    assert found.backward_ns == 400 * US
    assert found.median_ns == 80 * US
    assert found.micro_steps == 1


def test_reduces_to_one_lane_are_gradients_as_well():
    (found,) = training(
        (400, 450), (690, 800), name="ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
    )
    assert (found.per_step, found.after_backward_ns) == (2.0, 100 * US)


def test_synchronisation_after_backward_starts_above_one():
    (found,) = training((740, 840))
    assert found.start_into_backward == pytest.approx(1.1)
    assert found.after_backward_ns == 100 * US


def test_a_range_of_backward_wins_over_threads():
    (found,) = training((400, 450), ranges=[(38, 60, "backward")])
    assert found.backward_ns == 200 * US


@pytest.mark.parametrize(
    ("ranges", "passes"),
    [
        ([(25, 34, "backward"), (38, 60, "backward")], 2),
        ([(25, 34, "backward"), (34, 60, "backward")], 2),  # they touch
        ([(25, 60, "backward"), (30, 40, "backward")], 1),  # one in the other
        ([(25, 60, "backward"), (30, 40, "AddmmBackward0, op_id = 3")], 1),
        ([(25, 60, "AddmmBackward0, op_id = 3")], 1),
    ],
)
def test_micro_steps_are_whole_passes(ranges, passes):
    (found,) = training((750, 800), ranges=ranges)
    assert found.micro_steps == passes
