"""A lane that the others wait for is named by its own time, with what differs; what cannot be known is said."""

from __future__ import annotations

import pytest
from profiles import C, K, N, R, profile

from gapfinder.analysis import analyze
from gapfinder.analysis.stragglers import NO_COMMON_STEPS, ONE_LANE

US = 1_000
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
STEPS, LENGTH = 6, 2000


def rank(pid: int, *, compute=1000, loading=20, idle=0, slow_steps=range(STEPS), first_step=0):
    """Rows of one rank; its host loads data, launches compute and an all-reduce that ends 1900 µs into the step."""
    rows, number = [], 0
    for step in range(STEPS):
        at = LENGTH * step
        work, load, gap = (compute, loading, idle) if step in slow_steps else (1000, 20, 0)
        number += 2
        begin = at + load + 10
        rows += [
            N(at * US, (at + LENGTH - 1) * US, f"step {first_step + step}", pid=pid, tid=pid),
            N((at + 1) * US, (at + 1 + load) * US, "data loading", pid=pid, tid=pid),
            R((at + load + 5) * US, (at + load + 6) * US, number, pid=pid, tid=pid),
            R((at + load + 7) * US, (at + load + 8) * US, number + 1, pid=pid, tid=pid),
            K(begin * US, (begin + work // 2) * US, pid=pid, correlation=number),
            K((begin + work // 2 + gap) * US, (begin + work + gap) * US, pid=pid, correlation=number + 1),
            R((at + load + 9) * US, (at + load + 10) * US, 1000 + number, pid=pid, tid=pid),
            K((begin + work + gap) * US, (at + 1900) * US, REDUCE, stream=20, pid=pid, correlation=1000 + number),
        ]
    return rows


def found(*ranks):
    return analyze([profile(*(row for one in ranks for row in one))])


def test_equal_lanes_have_no_straggler():
    assert found(*(rank(pid) for pid in (100, 200, 300))).stragglers == ()


@pytest.mark.parametrize(
    ("slow", "what", "over"),
    [
        ({"compute": 1400}, "compute", 5),
        ({"loading": 420}, "data loading", 4),  # on the GPU it lies at the end of the step before
        ({"idle": 400}, "launches", 5),
    ],
)
def test_the_slow_lane_is_named_with_what_differs(slow, what, over):
    (straggler,) = found(rank(100), rank(200, **slow), rank(300), rank(400)).stragglers
    assert straggler.lane == 1
    assert straggler.what_differs == what
    assert straggler.steps == (over, 5)
    assert straggler.lost_ns == 3 * STEPS * 400 * US
    assert straggler.compute_ratio == pytest.approx(slow.get("compute", 1000) / 1000)


def test_data_is_compared_where_it_was_captured():
    (straggler,) = found(rank(100), rank(200, loading=420), rank(300)).stragglers
    assert straggler.data_ratio == pytest.approx(21)
    bare = [
        [row for row in rank(pid, compute=work) if not (isinstance(row, N) and "data" in row.name)]
        for pid, work in ((100, 1000), (200, 1400), (300, 1000))
    ]
    (straggler,) = found(*bare).stragglers
    assert straggler.data_ratio is None


def test_under_a_fifth_over_the_median_is_not_named():
    assert found(rank(100), rank(200, compute=1150), rank(300)).stragglers == ()


def test_slow_in_half_of_the_steps_is_not_most():
    assert found(rank(100), rank(200, compute=1400, slow_steps=(2, 3)), rank(300)).stragglers == ()
    assert found(rank(100), rank(200, compute=1400, slow_steps=(2, 3, 4)), rank(300)).stragglers != ()


def test_one_lane_cannot_be_compared():
    analysis = found(rank(100))
    assert analysis.stragglers == ()
    assert ONE_LANE in analysis.coverage.notes


def test_without_communication_nobody_asks():
    analysis = analyze([profile(K(0, 10), N(0, 5, "step 1"))])
    assert ONE_LANE not in analysis.coverage.notes


def test_lanes_without_a_step_in_common_cannot_be_compared():
    analysis = found(rank(100), rank(200, compute=1400, first_step=100))
    assert analysis.stragglers == ()
    assert NO_COMMON_STEPS in analysis.coverage.notes


def test_files_on_their_own_clocks_are_compared_by_step():
    reports = [profile(*rank(100 + n, compute=1400 if n == 2 else 1000), name=f"{n}.sqlite") for n in range(4)]
    (straggler,) = analyze(reports).stragglers
    assert straggler.lane == 2
    assert straggler.lost_ns == 3 * STEPS * 400 * US


def test_each_step_names_its_slowest_lane():
    spreads = found(
        rank(100), rank(200, compute=1400, slow_steps=(2,)), rank(300, compute=1300, slow_steps=(4,))
    ).step_spreads
    assert [one.number for one in spreads] == [1, 2, 3, 4, 5]
    assert (spreads[1].slowest_lane, spreads[3].slowest_lane) == (1, 2)
    assert spreads[1].slowest_compute_ns - spreads[1].median_compute_ns == 400 * US
    assert spreads[1].slowest_own_ns - spreads[1].median_own_ns == 400 * US
    assert {one.lanes for one in spreads} == {3}
    assert spreads[1].longest_ns == spreads[1].median_ns == LENGTH * US


def test_one_lane_has_no_spread():
    assert found(rank(100)).step_spreads == ()


def test_jobs_that_do_not_communicate_have_no_straggler():
    alone = [
        [row for row in rank(pid, compute=work) if not (isinstance(row, K) and row.name == REDUCE)]
        for pid, work in ((100, 1000), (200, 1400), (300, 1000))
    ]
    assert found(*alone).stragglers == ()


GHZ = 1_000_000_000


def clocked(*clocks: int | None, slow: dict[str, int], samples: int = 12, gpus: bool = True):
    """Four ranks of which the second is slow, and samples of each GPU's clock: while it computes, and when it idles."""
    pids = (100, 200, 300, 400)
    rows = [row for pid in pids for row in rank(pid, **(slow if pid == 200 else {}))]
    sampled = [
        sample
        for gpu, clock in enumerate(clocks)
        if clock is not None
        for number in range(samples)
        for sample in (C((LENGTH + 700 + number) * US, clock, gpu), C((LENGTH + 1950) * US + number, 1, gpu))
    ]
    devices = [(pid, 0, gpu, "GPU") for gpu, pid in enumerate(pids)] if gpus else []
    return analyze([profile(*rows, *sampled, devices=devices)]).stragglers[0]


def test_a_lane_whose_lower_clock_explains_most_of_its_longer_compute_has_lower_clocks():
    straggler = clocked(2 * GHZ, GHZ * 3 // 2, 2 * GHZ, 2 * GHZ, slow={"compute": 1400})
    assert straggler.what_differs == "clocks"
    assert straggler.clock_ratio == 0.75


@pytest.mark.parametrize(
    ("clocks", "ratio"),
    [
        ((2 * GHZ, 2 * GHZ, 2 * GHZ, 2 * GHZ), 1.0),
        ((2 * GHZ, GHZ * 19 // 10, 2 * GHZ, 2 * GHZ), 0.95),  # 5 % of the 40 %
        ((None, GHZ * 3 // 2, None, None), None),  # nothing to compare with
        ((2 * GHZ, None, 2 * GHZ, 2 * GHZ), None),
    ],
)
def test_longer_compute_at_about_the_same_clock_is_compute(clocks, ratio):
    straggler = clocked(*clocks, slow={"compute": 1400})
    assert (straggler.what_differs, straggler.clock_ratio) == ("compute", ratio)


def test_a_lower_clock_does_not_make_data_late():
    straggler = clocked(2 * GHZ, GHZ, 2 * GHZ, 2 * GHZ, slow={"loading": 420})
    assert (straggler.what_differs, straggler.clock_ratio) == ("data loading", 0.5)


@pytest.mark.parametrize(("samples", "gpus"), [(9, True), (12, False)])
def test_few_samples_or_an_unknown_gpu_tell_no_clock(samples, gpus):
    slow = {"compute": 1400}
    assert clocked(2 * GHZ, GHZ, 2 * GHZ, 2 * GHZ, slow=slow, samples=samples, gpus=gpus).clock_ratio is None
