"""One test for each pitfall of analysing, named after its number: the tiny input and the right answer."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from profiles import DEVICE_TO_DEVICE, GEMM, MEMSET, NCCL, PEER, G, K, M, Mark, N, R, profile

from gapfinder.analysis import analyze
from gapfinder.analysis.joining import GRAPHS_HIDE_OVERLAP, NAMES_NOT_CAPTURED, SINGLE_STREAM
from gapfinder.analysis.unseen import GRAPHS_NOT_CAPTURED, KERNELS_NOT_CAPTURED, KERNELS_WITHOUT_TIMES
from gapfinder.errors import InconclusiveError, InputError
from gapfinder.explanations import Cause
from gapfinder.model import NO_COMMUNICATION, Analysis, Lane
from gapfinder.settings import CountCopies, Settings

NO_MIN = Settings(min_gap_ns=1)


def lanes(*rows, settings: Settings = NO_MIN, **more) -> tuple[Lane, ...]:
    return analyze([profile(*rows, **more)], settings=settings).lanes


def only_lane(*rows, settings: Settings = NO_MIN) -> Lane:
    (lane,) = lanes(*rows, settings=settings)
    return lane


def notes(analysis: Analysis) -> str:
    return " ".join(analysis.coverage.notes)


def test_p03_kernels_without_nvtx_give_numbers_and_no_steps() -> None:
    lane = only_lane(K(1, 2))
    assert (lane.budget.busy_ns, lane.steps, lane.steps_reason) == (1, None, "no NVTX ranges were captured")


def test_p05_a_mark_is_not_a_step() -> None:
    lane = only_lane(K(1, 2, correlation=1), R(0, 1, 1), Mark(0, "step 0", domain=""))
    assert lane.steps is None


def test_p07_an_open_step_is_not_counted_but_ends_the_one_before() -> None:
    lane = only_lane(
        K(10, 12, correlation=1), K(20, 24, correlation=2), K(30, 36, correlation=3),
        R(1, 2, 1), R(11, 12, 2), R(21, 22, 3),
        N(0, 10, "step 0"), N(10, 20, "step 1"), N(20, None, "step 2"),
    )  # fmt: skip
    assert [(s.number, s.window.start_ns, s.window.end_ns) for s in lane.steps.items] == [(1, 20, 30)]
    assert lane.steps.dropped == 2


def test_p07_with_only_an_open_step_there_are_no_complete_steps() -> None:
    assert only_lane(K(10, 12, correlation=1), R(1, 2, 1), N(0, None, "step")).steps is None


def test_p08_p09_a_start_end_range_that_ends_on_another_thread_is_a_step() -> None:
    lane = only_lane(K(2, 8, correlation=1), R(1, 2, 1), N(0, 10, "step", is_process_wide=True))
    assert (lane.steps.count, lane.steps.items[0].budget.busy_ns) == (1, 6)


def test_p09_overlapping_steps_are_reported() -> None:
    rows = (K(2, 4, correlation=1), K(6, 8, correlation=2), R(1, 2, 1), R(5, 6, 2))
    analysis = analyze([profile(*rows, N(0, 7, "step 0"), N(4, 9, "step 1", tid=5))])
    assert "1 step range began before an earlier one had ended" in notes(analysis)


def test_p11_lanes_are_processes_with_gpu_work_only() -> None:
    assert len(lanes(K(0, 1, pid=100), K(0, 1, pid=101), R(0, 1, 5, pid=102))) == 2


def test_p12_the_launch_call_is_looked_for_in_its_own_process() -> None:
    """Both processes have correlation 7; process 101's launch lies outside its step."""
    one, other = lanes(
        K(10, 20, pid=100, correlation=7), K(10, 20, pid=101, correlation=7),
        R(1, 2, 7, pid=100), R(9, 10, 7, pid=101),
        N(0, 5, "step", pid=100), N(0, 5, "step", pid=101),
    )  # fmt: skip
    assert one.steps.count == 1
    assert (other.steps, other.steps_reason) == (None, "no GPU work was launched inside a step")


def test_p13_one_stream_number_on_three_devices_is_three_lanes() -> None:
    found = lanes(*(K(0, 86, device=d, stream=17) for d in (1, 2, 3)), *(K(99, 100, device=d) for d in (1, 2, 3)))
    assert [(lane.device, lane.budget.busy_ns, lane.budget.window_ns) for lane in found] == [
        (1, 87, 100), (2, 87, 100), (3, 87, 100),
    ]  # fmt: skip


def test_p14_two_processes_with_device_0_are_two_lanes_without_a_gap() -> None:
    found = lanes(K(0, 10, pid=100), K(20, 30, pid=101))
    assert [lane.gaps.count for lane in found] == [0, 0]
    assert [lane.shares_gpu_with for lane in found] == [(), ()]


def test_p14_two_processes_on_one_gpu_say_that_they_share_it() -> None:
    found = lanes(K(0, 10, pid=100), K(20, 30, pid=101), devices=[(100, 0, 0, "H100"), (101, 0, 0, "H100")])
    assert [lane.shares_gpu_with for lane in found] == [(1,), (0,)]


def test_p15_a_kernel_without_a_described_gpu_is_still_a_lane() -> None:
    assert only_lane(K(0, 1)).gpu_name is None


def test_p20_p21_order_of_rows_changes_nothing_and_ids_stay_int64() -> None:
    rows = [K(2**60 + i * 10, 2**60 + i * 10 + 1 + i % 3, name=NCCL if i % 2 else GEMM, stream=i % 2) for i in range(9)]
    assert analyze([profile(*rows)]) == analyze([profile(*reversed(rows))])
    assert only_lane(K(2**62, 2**62 + 1), K(2**62 + 2, 2**62 + 3)).gaps.total_ns == 1


def test_p27_host_calls_are_not_gpu_work() -> None:
    analysis = analyze([profile(R(0, 5, 1, name="cudaGetDeviceCount_v3020"))])
    assert (analysis.lanes, analysis.total) == ((), None)
    assert "no GPU operation" in notes(analysis)


def test_p31_p33_p37_nccl_ranges_are_never_added_to_gpu_time() -> None:
    lane = only_lane(K(0, 10, name=NCCL), N(0, 2, "ncclAllReduce", domain="NCCL"))
    assert lane.budget.communication_ns == 10


def test_p33_lower_case_names_count() -> None:
    assert only_lane(K(0, 10, name="nccldevkernel_allreduce")).budget.communication_ns == 10


def test_p35_the_generic_kernel_is_communication() -> None:
    assert only_lane(K(0, 10, name="ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)")).budget.exposed_ns == 10


def test_p36_grouped_calls_count_by_kernel() -> None:
    ranges = [N(0, 1, name, domain="NCCL") for name in ("ncclSend", "ncclSend", "ncclRecv", "ncclRecv")]
    lane = only_lane(K(30, 45, name="ncclDevKernel_SendRecv(int)"), *ranges)
    assert (lane.kernels, lane.budget.communication_ns) == (1, 15)


def test_p39_deepep_is_communication_by_namespace() -> None:
    lane = only_lane(K(0, 10, name="void deep_ep::internode::dispatch<true, 4>(int)"))
    assert lane.budget.communication_ns == 10


def test_p39_p40_a_bare_dispatch_is_compute_and_listed_until_a_pattern_decides() -> None:
    rows = (K(0, 10, name="void mine::dispatch<4>(int)"), K(10, 20))
    analysis = analyze([profile(*rows)])
    assert [(d.name, d.pattern, d.is_communication, d.share) for d in analysis.decided_names] == [
        ("void mine::dispatch<4>(int)", None, False, 0.5)
    ]
    decided = analyze([profile(*rows)], settings=Settings(communication_patterns=("mine::dispatch",)))
    assert decided.lanes[0].budget.communication_ns == 10
    assert [(d.pattern, d.is_communication) for d in decided.decided_names] == [("mine::dispatch", True)]


def test_p40_a_user_pattern_makes_a_false_positive_compute_again() -> None:
    rows = (K(0, 10, name="my_nccl_like_math(int)"),)
    assert only_lane(*rows).budget.communication_ns == 10
    assert only_lane(*rows, settings=Settings(compute_patterns=("like_math$",))).budget.communication_ns == 0


CE_COLLECTIVE = (
    K(0, 5), M(5, 25, kind=DEVICE_TO_DEVICE, correlation=9),
    R(1, 2, 9, name="cudaMemcpyBatchAsync"), N(0, 3, "ncclAllGather", domain="NCCL"),
)  # fmt: skip


def test_p42_copies_launched_inside_an_nccl_range_are_communication() -> None:
    assert only_lane(*CE_COLLECTIVE).budget.communication_ns == 20
    off = Settings(min_gap_ns=1, count_copies=CountCopies.NONE)
    assert only_lane(*CE_COLLECTIVE, settings=off).budget.copy_only_ns == 20


def test_p42_a_copy_of_another_thread_is_not() -> None:
    rows = (*CE_COLLECTIVE[:2], R(1, 2, 9, tid=5), CE_COLLECTIVE[3])
    assert only_lane(*rows).budget.communication_ns == 0


def test_p43_peer_copies_are_told_apart_and_count_when_asked() -> None:
    rows = (K(0, 5), M(5, 25, kind=PEER), M(30, 31, kind=DEVICE_TO_DEVICE, source=0, target=1), M(40, 41))
    lane = only_lane(*rows)
    assert (lane.peer_copy_ns, lane.budget.copy_only_ns, lane.budget.communication_ns) == (21, 22, 0)
    asked = only_lane(*rows, settings=Settings(min_gap_ns=1, count_copies=CountCopies.PEER))
    assert (asked.peer_copy_ns, asked.budget.copy_only_ns, asked.budget.communication_ns) == (0, 1, 21)


def test_p45_p88_communication_is_a_union_and_never_counted_twice() -> None:
    lane = only_lane(K(10, 110, NCCL, stream=1), K(10, 110, NCCL, stream=2), K(10, 70))
    budget = lane.budget
    assert (budget.communication_ns, lane.overlap_ratio, budget.exposed_ns) == (100, 0.6, 40)


def test_p46_without_communication_the_ratio_is_null_with_a_reason() -> None:
    lane = only_lane(K(10, 70))
    assert (lane.overlap_ratio, lane.overlap_reason) == (None, NO_COMMUNICATION)


def test_p46_without_kernel_names_nothing_is_known_of_communication() -> None:
    (lane,) = analyze([replace(profile(K(10, 70, "<unnamed>")), has_kernel_names=False)]).lanes
    assert (lane.overlap_ratio, lane.overlap_reason) == (None, NAMES_NOT_CAPTURED)


def test_p49_one_stream_is_a_structural_zero() -> None:
    lane = only_lane(K(0, 10), K(10, 20, NCCL))
    assert (lane.overlap_ratio, lane.overlap_reason) == (0.0, SINGLE_STREAM)


@pytest.mark.parametrize("other", [{"stream": 8}, {"context": 2}])
def test_p49_two_streams_are_not(other: dict[str, int]) -> None:
    assert only_lane(K(0, 10), K(10, 20, NCCL, **other)).overlap_reason is None


def test_p59_ranks_without_gpu_work_are_named() -> None:
    marks = [Mark(0, f"rank={r} local_rank={r} world_size=2 host=a", pid=100 + r) for r in (0, 1)]
    analysis = analyze([profile(K(0, 1), *marks)])
    assert analysis.lanes[0].rank == 0
    assert "no GPU work of rank 1 in this report (world size 2)" in notes(analysis)


def test_p62_p63_a_whole_graph_is_busy_and_hides_overlap() -> None:
    lane = only_lane(G(0, 90), K(90, 100), K(50, 60, NCCL, stream=9))
    assert (lane.budget.idle_ns, lane.budget.graph_only_ns) == (0, 80)
    assert (lane.overlap_ratio, lane.overlap_reason) == (None, GRAPHS_HIDE_OVERLAP)


def test_p62_graph_launches_without_rows_make_idle_unmeasurable() -> None:
    launch = R(0, 1, 9, name="cudaGraphLaunch_v10000")
    lane = only_lane(K(0, 10), K(90, 100), launch)
    assert (lane.idle_reason, lane.overlap_ratio, lane.overlap_reason) == (
        GRAPHS_NOT_CAPTURED,
        None,
        GRAPHS_NOT_CAPTURED,
    )
    assert analyze([profile(K(0, 10), launch)]).total.idle_reason == GRAPHS_NOT_CAPTURED


def test_p62_graphs_seen_in_part_make_idle_unmeasurable_unless_it_is_a_few() -> None:
    def lane(seen: int) -> Lane:
        launches = [R(i * 10, i * 10 + 1, i, name="cudaGraphLaunch_v10000") for i in range(10)]
        return only_lane(*launches, *(G(i * 10 + 2, i * 10 + 8, correlation=i) for i in range(seen)))

    assert [lane(seen).idle_reason for seen in (1, 4, 5, 9)] == [GRAPHS_NOT_CAPTURED, GRAPHS_NOT_CAPTURED, None, None]


def test_p86_copies_of_a_process_whose_kernels_were_not_captured_are_not_its_only_work() -> None:
    rows = (M(0, 10, correlation=1), M(90, 100, correlation=2), R(0, 1, 1, "cudaMemcpyAsync_v3020"))
    assert only_lane(*rows).idle_reason is None
    assert only_lane(*rows, R(5, 6, 3, "cudaLaunchKernel_v7000")).idle_reason == KERNELS_NOT_CAPTURED


def test_p86_copies_are_not_the_only_work_where_no_kernel_has_times() -> None:
    rows = (M(10, 20, correlation=1), R(5, 6, 3, "cudaLaunchKernel_v7000"), K(0, 0, correlation=3), K(9, 5))
    assert only_lane(*rows, K(30, 40)).idle_reason is None
    assert only_lane(*rows).idle_reason == KERNELS_WITHOUT_TIMES


def test_p62_graph_launches_of_another_process_do_not_matter() -> None:
    found = lanes(K(0, 10, pid=100), K(0, 10, pid=101, correlation=9), R(0, 1, 9, "cudaGraphLaunch_v10000", pid=101))
    assert [lane.idle_reason for lane in found] == [None, None]


def test_p64_all_kernels_of_a_graph_share_one_launch() -> None:
    lane = only_lane(
        *(K(s, s + 1, correlation=9) for s in (3, 5, 7)), R(1, 2, 9, "cudaGraphLaunch_v10000"), N(0, 2, "step")
    )
    assert (lane.idle_reason, lane.steps.items[0].budget.busy_ns) == (None, 3)


def test_p65_graph_and_node_rows_are_a_union() -> None:
    assert only_lane(G(0, 90), K(10, 20), K(95, 100)).budget.busy_ns == 95


def test_p66_a_range_around_graph_capture_has_no_gpu_work_of_its_own() -> None:
    """The kernels belong to the step in which the graph is launched, not to the one in which it was captured."""
    lane = only_lane(
        N(0, 10, "step 0"), R(1, 2, 1, "cudaStreamBeginCapture_v10000"), R(3, 4, 2),
        N(10, 20, "step 1"), R(11, 12, 9, "cudaGraphLaunch_v10000"), K(13, 18, correlation=9),
    )  # fmt: skip
    assert [(step.number, step.budget.busy_ns) for step in lane.steps.items] == [(1, 5)]


def test_p67_p68_idle_is_the_complement_of_the_union_over_streams() -> None:
    lane = only_lane(K(0, 1, stream=7), K(50, 51, stream=7), K(0, 51, stream=8))
    assert (lane.gaps.count, lane.budget.idle_ns, lane.budget.busy_ns) == (0, 0, 51)


def test_p69_copies_are_not_idle() -> None:
    budget = only_lane(K(0, 10), M(10, 30), K(30, 40)).budget
    assert (budget.idle_ns, budget.copy_only_ns) == (0, 20)


def test_p69_memsets_are_copies() -> None:
    assert only_lane(K(0, 10), M(10, 30, kind=MEMSET), K(30, 40)).budget.copy_only_ns == 20


def test_p70_p71_unusable_rows_are_dropped_and_counted() -> None:
    lane = only_lane(K(0, 0), K(50, 40), K(100, 110), K(105, 105), M(0, 0))
    assert (lane.window.start_ns, lane.window.end_ns) == (100, 110)
    assert (lane.dropped_ops, lane.kernels, lane.ops) == (3, 2, 2)
    assert "3 GPU rows without usable times were left out; the capture may be damaged" in notes(
        analyze([profile(K(0, 0), K(50, 40), K(100, 110), M(0, 0))])
    )


def test_p70_only_zero_rows_are_no_gpu_work() -> None:
    analysis = analyze([profile(K(0, 0), K(0, 0))])
    assert (analysis.lanes, "no GPU operation" in notes(analysis)) == ((), True)


def test_p72_a_kernel_that_starts_before_its_launch_call_is_kept() -> None:
    lane = only_lane(K(4, 8, correlation=1), R(5, 6, 1), N(5, 7, "step"))
    assert (lane.kernels, lane.steps.items[0].window.start_ns) == (1, 4)


def test_p74_gaps_use_the_latest_end_so_far() -> None:
    assert only_lane(K(0, 20), K(2, 3, stream=8), K(20, 21)).gaps.count == 0


def test_p75_an_empty_window_is_an_error_that_names_the_span() -> None:
    rows = (K(60_112_000_000, 60_411_000_000),)
    with pytest.raises(InputError, match=r"runs from 60\.112000 s to 60\.411000 s"):
        lanes(*rows, settings=Settings(window=(0, 10**9)))


def test_p76_a_step_takes_what_other_threads_of_its_process_launch() -> None:
    lane = only_lane(K(3, 9, correlation=1), R(1, 2, 1, tid=2), N(0, 10, "step", tid=1))
    assert lane.steps.items[0].budget.busy_ns == 6


@pytest.mark.parametrize(
    "name", ["cub::DeviceRadixSort", "sample_0", "step_0/forward", "Optimizer.step#SGD.step", "steps"]
)
def test_p77_p78_other_ranges_are_no_steps(name: str) -> None:
    lane = only_lane(K(3, 9, correlation=1), R(1, 2, 1), *(N(0, 10, name) for _ in range(4)))
    assert lane.steps is None


@pytest.mark.parametrize(
    ("name", "number"),
    [("step", 0), ("step_12", 12), ("Step 12", 12), ("iteration=7", 7), ("iter 3", 3), ("train_step:4", 4), ("ProfilerStep#552", 552)],
)  # fmt: skip
def test_p78_step_names(name: str, number: int) -> None:
    lane = only_lane(K(3, 9, correlation=1), R(1, 2, 1), N(0, 10, name))
    assert [step.number for step in lane.steps.items] == [number]


def test_p77_a_library_domain_has_no_steps() -> None:
    assert only_lane(K(3, 9, correlation=1), R(1, 2, 1), N(0, 10, "step", domain="NCCL")).steps is None


def test_p20_two_marks_or_calls_at_one_instant_do_not_depend_on_row_order() -> None:
    rows = [
        K(5, 9, correlation=10**15), R(1, 2, 10**15, tid=7), R(1, 2, 10**15, tid=3), R(1, 2, 5, tid=3),
        M(20, 30, kind=DEVICE_TO_DEVICE, correlation=10**15), N(0, 3, "ncclAllGather", domain="NCCL", tid=3),
        Mark(0, "rank=1 local_rank=1 world_size=2 host=a"), Mark(0, "rank=0 local_rank=0 world_size=2 host=a"),
    ]  # fmt: skip
    assert analyze([profile(*rows)]) == analyze([profile(*reversed(rows))])


def test_p79_one_label_in_eight_processes_is_one_step_on_each() -> None:
    rows = [
        row for p in range(1, 9) for row in (K(3, 9, pid=p, correlation=1), R(1, 2, 1, pid=p), N(0, 10, "step", pid=p))
    ]
    assert [lane.steps.count for lane in lanes(*rows)] == [1] * 8


def test_p80_two_files_stay_on_their_own_clocks() -> None:
    files = [profile(K(1000, 1010), name="a/x.sqlite"), profile(K(0, 5), name="b/x.sqlite")]
    analysis = analyze(files, settings=NO_MIN)
    assert [(lane.file, lane.budget.idle_ns, lane.gaps.count) for lane in analysis.lanes] == [
        ("a/x.sqlite", 0, 0), ("b/x.sqlite", 0, 0),
    ]  # fmt: skip


def test_p73_p82_the_first_step_warms_up_and_n_is_told() -> None:
    starts = [0, 40, 50, 60, 70, 80]
    rows = [row for i in range(5) for row in (
        K(starts[i], starts[i + 1], correlation=i), R(starts[i], starts[i] + 1, i), N(starts[i], starts[i] + 5, f"step {i}"),
    )]  # fmt: skip
    steps = only_lane(*rows).steps
    assert (steps.count, steps.dropped, steps.mean_ns, steps.p50_ns, steps.p99_ns) == (4, 1, 10, 10, 10)
    assert [step.number for step in only_lane(*rows, settings=Settings(step_range=(0, 2))).steps.items] == [0, 1]


def test_p84_synchronisation_is_charged_inside_holes_only() -> None:
    """The host waits 95 ns, the device is idle for 10 of them."""
    rows = (
        K(0, 80, correlation=1),
        K(90, 100, correlation=2),
        R(88, 89, 2),
        R(1, 88, 3, "cudaStreamSynchronize_v3020"),
    )
    lane = only_lane(*rows)
    assert lane.causes.get(Cause.SYNCHRONISATION, 0) <= lane.holes.total_ns == 10
    assert sum(lane.causes.values()) == 10


def test_p85_an_unknown_gpu_is_an_error_that_lists_those_there() -> None:
    rows = (K(0, 1, device=0), K(0, 1, device=1))
    with pytest.raises(InputError, match="no GPU 5 in the report; it has GPU 0, 1"):
        lanes(*rows, settings=Settings(gpus=(5,)))
    assert [lane.device for lane in lanes(*rows, settings=Settings(gpus=(1,)))] == [1]


def test_p87_ranks_come_from_marks_or_the_user_never_from_order() -> None:
    rows = (K(0, 1, pid=100), K(0, 1, pid=101))
    assert [lane.rank for lane in lanes(*rows)] == [None, None]
    swapped = lanes(*rows, settings=Settings(ranks=(1, 0)))
    assert [(lane.rank, lane.pid) for lane in swapped] == [(0, 101), (1, 100)]
    with pytest.raises(InputError, match="--ranks names 1 rank, the reports have 2 lanes"):
        lanes(*rows, settings=Settings(ranks=(0,)))


def test_steps_that_are_not_there() -> None:
    rows = (K(3, 9, correlation=1), R(1, 2, 1))
    with pytest.raises(InconclusiveError, match="no steps were found"):
        lanes(*rows, settings=Settings(step_range=(3, 8)))
    with pytest.raises(InputError, match="no step in 3:8; the steps with GPU work are 0 to 0"):
        lanes(*rows, N(0, 10, "step 0"), settings=Settings(step_range=(3, 8)))


@pytest.mark.parametrize("digits", ["7" * 18, "7" * 19, "7" * 5000])
def test_a_step_number_of_any_length_is_a_step(digits: str) -> None:
    lane = only_lane(K(3, 9, correlation=1), R(1, 2, 1), N(0, 10, f"step {digits}"))
    assert [step.number for step in lane.steps.items] == [int(digits) if len(digits) <= 18 else 0]


def test_a_users_number_group_may_hold_anything() -> None:
    lane = only_lane(
        K(3, 9, correlation=1), R(1, 2, 1), N(0, 10, "epoch one"),
        settings=Settings(step_pattern="epoch (?P<number>.*)"),
    )  # fmt: skip
    assert [step.number for step in lane.steps.items] == [0]


def test_steps_of_many_processes_are_found_in_linear_time() -> None:
    started = time.process_time()
    analyze([profile(K(3, 9), *(N(0, 10, "step 1", pid=p) for p in range(5_000)))])
    assert time.process_time() - started < 5
