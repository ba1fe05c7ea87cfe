"""Every rule: quiet where nothing is wrong, then firing with the time that is lost, worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from analysis_values import MS, host_steps, training_process
from findings_values import bucket, collective, find, job, lost, one_lane, slow, step_times

from gapfinder.explanations import Buckets, Cause, CollectiveSummary, Evidence, Finding, HostActivity, Severity
from gapfinder.findings.lost import shares_by_lane
from gapfinder.findings.registry import PAGES
from gapfinder.hosts import Host, HostClock
from gapfinder.links import Link, LinkSource
from gapfinder.model import Analysis
from gapfinder.processes import Phase, SlowRank

TRANSFER, WAIT = Cause.EXPOSED_TRANSFER, Cause.EXPOSED_WAIT
NEVER_CHARGED = {Cause.UNKNOWN, Cause.WARM_UP}


def quiet() -> Analysis:
    return job(one_lane(), one_lane(rank=1), buckets=(bucket(),))


def found(analysis: Analysis) -> dict[str, Finding]:
    findings = find(analysis)
    assert len({finding.code for finding in findings}) == len(findings)
    return {finding.code: finding for finding in findings}


def losses(analysis: Analysis) -> dict[str, int]:
    """Return what each finding says is lost, in ms over all lanes."""
    return {code: finding.lost_ns // MS for code, finding in found(analysis).items() if finding.lost_ns}


def test_where_nothing_is_wrong_nothing_is_found():
    assert found(quiet()) == {}


def test_without_lanes_nothing_is_found():
    assert find(replace(quiet(), lanes=(), total=None)) == ()


CHARGED = {
    Cause.EXPOSED_COMMUNICATION: "exposed-collective",
    Cause.EXPOSED_TRANSFER: "exposed-collective",
    Cause.EXPOSED_WAIT: "exposed-collective",
    Cause.PIPELINE_BUBBLE: "pipeline-bubble",
    Cause.DATA_LOADING: "data-starved",
    Cause.SYNCHRONISATION: "sync-stall",
    Cause.ALLOCATOR: "allocator-churn",
    Cause.HOST_TO_DEVICE_COPY: "exposed-copies",
    Cause.COPY: "exposed-copies",
    Cause.DEVICE_WAIT: "device-wait",
    Cause.LAUNCH_BOUND: "launch-bound",
    Cause.HOST_CODE: "host-code",
    Cause.OS_CALL: "blocking-call",
    Cause.GARBAGE_COLLECTION: "gc-pause",
    Cause.CHECKPOINT: "checkpoint-pause",
    Cause.GRAPH_UNKNOWN: "graph-opaque",
    Cause.PROFILER_OVERHEAD: "capture-quality",
}


@pytest.mark.parametrize("cause", sorted(set(Cause) - NEVER_CHARGED))
def test_each_cause_is_charged_whole_to_one_rule(cause):
    analysis = lost(cause, 50)
    if cause is Cause.PROFILER_OVERHEAD:
        host = HostActivity(overhead_ns=50 * MS)
        analysis = replace(analysis, lanes=tuple(replace(lane, host=host) for lane in analysis.lanes))
    assert losses(analysis) == {CHARGED[cause]: 100}
    (finding,) = (finding for finding in find(analysis) if finding.lost_ns)
    assert (finding.severity, finding.share) == (Severity.WARNING, 0.05)


@pytest.mark.parametrize("cause", sorted(set(Cause) - NEVER_CHARGED - {Cause.GRAPH_UNKNOWN}))
def test_what_is_too_little_to_mention_is_not_mentioned(cause):
    assert losses(job(one_lane({cause: MS // 2}), one_lane(rank=1))) == {}


@pytest.mark.parametrize(
    ("ms", "severity"), [(5, Severity.INFO), (19, Severity.INFO), (20, Severity.WARNING), (99, Severity.WARNING), (100, Severity.CRITICAL)]
)  # fmt: skip
def test_severity_is_the_share_of_the_time(ms, severity):
    assert found(lost(Cause.DATA_LOADING, ms))["data-starved"].severity is severity


def test_most_lost_time_comes_first_and_what_is_to_know_last():
    lanes = [
        one_lane({Cause.DATA_LOADING: 30 * MS, Cause.CHECKPOINT: 200 * MS, Cause.ALLOCATOR: 5 * MS}, rank=rank)
        for rank in range(2)
    ]
    assert [finding.code for finding in find(job(*lanes))] == ["checkpoint-pause", "data-starved", "allocator-churn"]


def test_lanes_whose_idle_time_is_unknown_lose_nothing():
    unknown = replace(one_lane({Cause.DATA_LOADING: 100 * MS}), idle_reason="graphs left no trace")
    assert "data-starved" not in found(job(unknown, one_lane(rank=1)))


def test_one_lane_that_lost_most_is_named_and_one_of_many_is_not():
    alone = job(one_lane({Cause.CHECKPOINT: 50 * MS}), one_lane(rank=1))
    assert found(alone)["checkpoint-pause"].lane == 0
    assert "rank 0" in found(alone)["checkpoint-pause"].detail
    assert found(lost(Cause.CHECKPOINT))["checkpoint-pause"].lane is None


# Exposed communication


@pytest.mark.parametrize("buckets", [(), (bucket(),)])
def test_overlap_is_not_broken_where_synchronisation_starts_early(buckets):
    assert losses(lost(TRANSFER, collectives=(collective(),), buckets=buckets)) == {"exposed-collective": 200}


def test_overlap_is_broken_where_synchronisation_starts_after_backward():
    after = bucket(start_into_backward=1.0, after_backward_ns=16 * MS)
    analysis = lost(TRANSFER, collectives=(collective(),), buckets=(after,))
    assert losses(analysis) == {"overlap-broken": 200}
    finding = found(analysis)["overlap-broken"]
    assert finding.severity is Severity.CRITICAL
    assert "4 gradient collectives of 4.000 ms" in finding.detail
    assert "10.00 ms of a step of 100.0 ms" in finding.detail


def test_only_gradients_are_charged_to_broken_overlap():
    after = bucket(start_into_backward=1.2)
    operations = (collective("AllReduce", exposed_ns=30 * MS), collective("AllToAll", exposed_ns=10 * MS))
    assert losses(lost(TRANSFER, collectives=operations, buckets=(after,))) == {
        "overlap-broken": 150,
        "exposed-collective": 50,
    }


def on_both_lanes(**others: object) -> tuple[Buckets, Buckets]:
    return bucket(**others), bucket(lane=1, **others)


def test_buckets_that_start_late_lose_all_their_exposed_transfer():
    operations = (collective(),)
    early = lost(TRANSFER, collectives=operations, buckets=on_both_lanes(start_into_backward=0.5))
    assert losses(early) == {"exposed-collective": 200}
    late = found(replace(early, buckets=on_both_lanes(start_into_backward=0.6)))["late-buckets"]
    assert (late.lost_ns, late.title) == (200 * MS, "Gradient synchronisation starts late in backward")
    assert late.detail.endswith("4 gradient collectives a step; the first starts when 60.0 % of backward is over.")
    too_long = on_both_lanes(start_into_backward=0.6, median_ns=13 * MS)
    assert losses(replace(early, buckets=too_long)) == {"exposed-collective": 200}


def test_buckets_that_start_early_lose_no_more_than_runs_after_backward():
    eight_steps = lost(TRANSFER, collectives=(collective(),), buckets=on_both_lanes(after_backward_ns=3 * MS))
    assert losses(eight_steps) == {"late-buckets": 2 * 8 * 3, "exposed-collective": 200 - 2 * 8 * 3}
    late = found(eight_steps)["late-buckets"]
    assert late.title == "The last gradient bucket is synchronised after backward"
    assert "20.0 % of backward is over, and 3.000 ms run after its end" in late.detail
    long_tail = on_both_lanes(after_backward_ns=30 * MS)
    assert losses(replace(eight_steps, buckets=long_tail)) == {"late-buckets": 200}
    too_long = on_both_lanes(after_backward_ns=3 * MS, median_ns=13 * MS)
    assert losses(replace(eight_steps, buckets=too_long)) == {"exposed-collective": 200}


def test_late_buckets_of_one_lane_are_told_by_its_own_numbers():
    buckets = (bucket(), bucket(lane=1, start_into_backward=0.7))
    analysis = lost(TRANSFER, collectives=(collective(),), buckets=buckets)
    assert losses(analysis) == {"late-buckets": 100, "exposed-collective": 100}
    detail = found(analysis)["late-buckets"].detail
    assert detail.endswith("4 gradient collectives a step on rank 1; the first starts when 70.0 % of backward is over.")


def test_one_stream_takes_all_transfer_of_its_lanes_and_no_waiting():
    structural = [
        replace(lane, overlap_ratio=0.0, overlap_reason="one stream")
        for lane in (one_lane({TRANSFER: 60 * MS, WAIT: 40 * MS}, rank=rank) for rank in range(2))
    ]
    after = bucket(start_into_backward=1.0)
    analysis = job(*structural, collectives=(collective(),), buckets=(after,))
    assert losses(analysis) == {"single-stream": 120, "exposed-collective": 80}
    assert found(analysis)["exposed-collective"].title == "Lanes wait for each other in collectives"


def test_a_zero_without_a_reason_is_not_one_stream():
    zero = [
        replace(one_lane({TRANSFER: 60 * MS}, rank=rank), overlap_ratio=0.0, overlap_reason=None) for rank in range(2)
    ]
    assert "single-stream" not in found(job(*zero))


def test_a_link_at_half_its_ideal_is_not_slow_and_below_it_is():
    half = collective(ideal_ns=40 * MS, ideal_share=0.5)
    assert losses(lost(TRANSFER, collectives=(half,))) == {"exposed-collective": 200}
    quarter = collective(ideal_ns=20 * MS, ideal_share=0.25, bus_bandwidth=5e9)
    analysis = lost(TRANSFER, collectives=(quarter,))
    assert losses(analysis) == {"slow-link": 150, "exposed-collective": 50}
    assert "5.000 GB/s of bus bandwidth, 25.0 % of the ideal" in found(analysis)["slow-link"].detail


def test_waiting_is_no_slow_link():
    waiting = collective(wait_ns=60 * MS, transfer_ns=20 * MS, ideal_ns=20 * MS, ideal_share=1.0)
    assert "slow-link" not in found(lost(TRANSFER, collectives=(waiting,)))


def test_a_lane_alone_may_have_waited_and_is_not_compared_with_the_ideal():
    alone = collective(wait_ns=None, transfer_ns=None, ideal_ns=20 * MS, ideal_share=0.25)
    assert "slow-link" not in found(lost(TRANSFER, collectives=(alone,)))


def test_short_operations_cost_latency_and_are_not_compared_with_the_ideal():
    """Ten instances on two lanes: 20 operations of 49 or 50 µs of ideal time."""
    for ideal, fires in ((20 * 49_000, False), (20 * 50_000, True)):
        short = collective(ideal_ns=ideal, ideal_share=0.1)
        assert ("slow-link" in found(lost(TRANSFER, collectives=(short,)))) is fires


@pytest.mark.parametrize(
    ("source", "share", "fires"),
    [
        (LinkSource.GIVEN, 0.49, True),
        (LinkSource.DETECTED, 0.49, False),
        (LinkSource.DETECTED, 0.25, False),
        (LinkSource.DETECTED, 0.24, True),
    ],
)
def test_a_link_that_only_a_datasheet_promises_may_be_half_as_fast(source, share, fires):
    link = Link(bandwidth=450e9, source=source, reason="the datasheet promises it")
    one = collective(ideal_ns=40 * MS, ideal_share=share, bus_bandwidth=5e9)
    finding = found(replace(lost(TRANSFER, collectives=(one,)), link=link)).get("slow-link")
    assert (finding is not None) is fires
    if finding:
        assert ("the datasheet promises it" in finding.detail) is (source is LinkSource.DETECTED)


@pytest.mark.parametrize(("own", "fires"), [(None, False), (0.5, False), (0.4, True)])
def test_an_operation_is_compared_with_its_own_best(own, fires):
    one = collective(own_share=own, bus_bandwidth=5e9)
    analysis = lost(TRANSFER, collectives=(one,))
    assert losses(analysis) == ({"slow-link": 120, "exposed-collective": 80} if fires else {"exposed-collective": 200})
    if fires:
        assert "mostly 40.0 % of its own fastest tenth" in found(analysis)["slow-link"].detail


def test_a_link_is_compared_with_the_same_operation_elsewhere():
    pair = (collective(bus_bandwidth=100e9), collective(bus_bandwidth=40e9, communicator="8"))
    analysis = lost(TRANSFER, collectives=pair)
    assert losses(analysis) == {"slow-link": 60, "exposed-collective": 140}
    assert "elsewhere 100.0 GB/s" in found(analysis)["slow-link"].detail
    other = (collective(bus_bandwidth=100e9), collective("AllGather", bus_bandwidth=40e9))
    assert "slow-link" not in found(replace(analysis, collectives=other))


def test_a_straggler_takes_the_waiting_that_it_explains():
    lanes = (one_lane({WAIT: 100 * MS}), one_lane(rank=1))
    analysis = job(*lanes, collectives=(collective(),), stragglers=(slow(1, lost_ms=70),))
    assert losses(analysis) == {"straggler": 70, "exposed-collective": 30}
    finding = found(analysis)["straggler"]
    assert (finding.title, finding.lane) == ("Rank 1 is slower than the others, which wait", 1)
    assert "rank 1 is slow in 8 of 8 steps: its compute takes 1.30 times the median" in finding.detail
    assert losses(replace(analysis, stragglers=(slow(1, lost_ms=500),))) == {"straggler": 100}
    assert "straggler" not in found(replace(analysis, stragglers=()))


def test_a_straggler_for_which_nobody_waits_is_not_told():
    waiting = job(one_lane({WAIT: 100 * MS}), one_lane(rank=1), stragglers=(slow(1, lost_ms=70),))
    assert "straggler" in found(waiting)
    assert "straggler" not in found(replace(waiting, stragglers=(slow(1, lost_ms=0),)))
    assert "straggler" not in found(job(one_lane(), one_lane(rank=1), stragglers=(slow(1, lost_ms=70),)))


@pytest.mark.parametrize(
    ("unmatched", "late_share", "told"),
    [
        (0, 0.5, "Most exposed: AllReduce 40.00 ms."),
        (0, 12 / 13, "(rank 1 last in 92.3 %)."),
        (10, 0.5, "Most exposed: AllReduce 40.00 ms."),
        (10, 2 / 3, "(rank 1 last in 2 of 3 matched; 10 found no partner)."),
    ],
)
def test_who_was_last_is_told_of_the_collectives_that_matched(unmatched, late_share, told):
    one = collective(instances=13, unmatched=unmatched, late_lane=1, late_share=late_share)
    assert found(lost(TRANSFER, collectives=(one,)))["exposed-collective"].detail.endswith(told)


UNEVEN = ([120, 100, 100, 120], [100, 120, 100, 100], [100, 100, 120, 100])


def test_input_is_unbalanced_where_another_lane_is_slowest_each_step():
    lanes = [
        one_lane({WAIT: 50 * MS}, rank=rank, computing=[ms * MS for ms in times]) for rank, times in enumerate(UNEVEN)
    ]
    analysis = job(*lanes)
    assert losses(analysis) == {"unbalanced-input": 150}
    assert "20.0 % longer" in found(analysis)["unbalanced-input"].detail
    assert "3 different lanes" in found(analysis)["unbalanced-input"].detail


@pytest.mark.parametrize(
    "times",
    [
        ([120] * 4, [100] * 4, [100] * 4),
        ([103, 100, 100, 103], [100, 103, 100, 100], [100, 100, 103, 100]),
        tuple(times[:3] for times in UNEVEN),
    ],
    ids=["always the same lane", "by less than 5 %", "too few steps"],
)
def test_input_is_not_called_unbalanced(times):
    lanes = [
        one_lane({WAIT: 50 * MS}, rank=rank, computing=[ms * MS for ms in each]) for rank, each in enumerate(times)
    ]
    assert losses(job(*lanes)) == {"exposed-collective": 150}


def test_gathers_and_their_scatters_are_charged_to_sharding():
    operations = (
        collective("AllGather", exposed_ns=20 * MS),
        collective("ReduceScatter", exposed_ns=10 * MS),
        collective("AllReduce", exposed_ns=10 * MS),
    )
    assert losses(lost(TRANSFER, collectives=operations)) == {"zero-overlap-off": 150, "exposed-collective": 50}
    assert losses(lost(TRANSFER, collectives=(collective("ReduceScatter"),))) == {"exposed-collective": 200}


def test_small_collectives_are_many_and_short():
    small = collective(instances=1_000, per_step=100.0, total_ns=80 * MS, transfer_ns=80 * MS)
    analysis = lost(TRANSFER, collectives=(small,))
    assert losses(analysis) == {"many-small-collectives": 200}
    assert "AllReduce 100 a step, 40.00 µs each" in found(analysis)["many-small-collectives"].detail
    waited = replace(small, total_ns=800 * MS, wait_ns=720 * MS)
    assert (
        "AllReduce 100 a step, 40.00 µs each"
        in found(lost(TRANSFER, collectives=(waited,)))["many-small-collectives"].detail
    )
    few = replace(small, per_step=10.0)
    long = replace(small, total_ns=800 * MS, transfer_ns=800 * MS)
    assert "many-small-collectives" not in found(lost(TRANSFER, collectives=(few,)))
    assert "many-small-collectives" not in found(lost(TRANSFER, collectives=(long,)))


def test_small_collectives_in_blanks_too_short_for_a_hole_count():
    small = collective(instances=1_000, per_step=100.0, exposed_ns=30 * MS)
    lanes = (one_lane(short_exposed=50 * MS), one_lane(rank=1, short_exposed=50 * MS))
    assert losses(job(*lanes, collectives=(small,))) == {"many-small-collectives": 30}
    idle = (one_lane(short_idle=50 * MS), one_lane(rank=1, short_exposed=20 * MS))
    assert losses(job(*idle, collectives=(small,))) == {"many-small-collectives": 20}


def test_small_collectives_whose_exposed_time_is_all_in_holes_take_nothing_of_other_blanks():
    small = collective(instances=1_000, per_step=100.0, exposed_ns=30 * MS)
    lanes = (one_lane({TRANSFER: 20 * MS}, short_exposed=50 * MS), one_lane(rank=1))
    assert losses(job(*lanes, collectives=(small,))) == {"many-small-collectives": 20 + 10}


def test_accumulation_synchronises_in_every_micro_step():
    repeated = bucket(micro_steps=4, per_step=8.0, start_into_backward=0.1, after_backward_ns=MS, backward_ns=200 * MS)
    analysis = lost(TRANSFER, collectives=(collective(),), buckets=(repeated,))
    assert losses(analysis) == {"accumulation-not-skipping-sync": 150, "late-buckets": 8, "exposed-collective": 42}
    last_only = replace(repeated, start_into_backward=0.8)
    once = replace(repeated, micro_steps=1)
    for buckets in (last_only, once):
        assert "accumulation-not-skipping-sync" not in found(replace(analysis, buckets=(buckets,)))


# The host, copies, steps and the capture


def test_data_loading_says_where_the_thread_was():
    seen = Evidence(call="poll", call_ns=90 * MS, nvtx="data loading")
    analysis = job(one_lane({Cause.DATA_LOADING: 100 * MS}, evidence=seen), one_lane(rank=1))
    finding = found(analysis)["data-starved"]
    assert "in `poll` inside `data loading`" in finding.detail
    assert "num_workers" in finding.advice


@pytest.mark.parametrize(("in_call", "told"), [(49 * MS, ""), (50 * MS, " (in the longest holes mostly in `poll`)")])
def test_a_call_is_told_where_it_took_half_of_the_holes(in_call, told):
    short = one_lane({Cause.OS_CALL: 60 * MS}, evidence=Evidence(call="poll", call_ns=in_call - 10 * MS))
    other = one_lane({Cause.OS_CALL: 40 * MS}, rank=1, evidence=Evidence(call="poll", call_ns=10 * MS))
    assert found(job(short, other))["blocking-call"].detail == f"About 5.000 ms of a step of 100.0 ms{told}."


def test_a_call_is_told_without_its_version_and_a_longer_one_in_short_parts_is_not():
    lanes = [
        one_lane({Cause.LAUNCH_BOUND: 90 * MS}, evidence=Evidence(call="cudaMemcpyAsync_v3020", call_ns=1 * MS)),
        one_lane(
            {Cause.LAUNCH_BOUND: 80 * MS}, rank=1, evidence=Evidence(call="cudaLaunchKernel_v7000", call_ns=80 * MS)
        ),
        one_lane(
            {Cause.LAUNCH_BOUND: 10 * MS}, rank=2, evidence=Evidence(call="cudaLaunchKernel_v11060", call_ns=10 * MS)
        ),
    ]
    assert found(job(*lanes))["launch-bound"].detail.endswith("mostly in `cudaLaunchKernel`).")


def test_launching_is_told_by_launches_per_ms_and_their_length():
    host = HostActivity(launches=20_000, launch_ns=120_000_000, launched_ns=300_000_000)
    detail = found(job(one_lane({Cause.LAUNCH_BOUND: 90 * MS}, host=host)))["launch-bound"].detail
    assert detail.endswith("; 20 launches per ms, each of 15.00 µs of GPU work on average, in calls of 6.000 µs.")
    seldom = found(job(one_lane({Cause.LAUNCH_BOUND: 90 * MS}, host=replace(host, launches=1_000))))
    assert "; 1 launch per ms, each of" in seldom["launch-bound"].detail


def test_silence_of_the_host_is_not_launch_bound():
    """Kernels are not small, nor launches slow: nothing that shortens launching is advised."""
    seen = Evidence(nvtx="metrics")
    findings = found(job(one_lane({Cause.HOST_CODE: 90 * MS}, evidence=seen)))
    assert list(findings) == ["host-code"]
    assert findings["host-code"].detail.endswith("without a launch (in the longest holes mostly inside `metrics`).")


def test_synchronising_calls_are_counted_by_name():
    host = HostActivity(sync_calls={"cudaStreamSynchronize_v3020": (6, 30 * MS), "cudaEventSynchronize_v3020": (9, 0)})
    detail = found(job(one_lane({Cause.SYNCHRONISATION: 30 * MS}, host=host)))["sync-stall"].detail
    assert detail.endswith(": 6 times cudaStreamSynchronize.")


def test_copies_are_pageable_as_far_as_pageable_copies_took_time():
    host = HostActivity(pageable_copies=3, pageable_ns=40 * MS)
    analysis = job(one_lane({Cause.HOST_TO_DEVICE_COPY: 70 * MS, Cause.COPY: 10 * MS}, host=host))
    assert losses(analysis) == {"pageable-copies": 40, "exposed-copies": 40}


@pytest.mark.parametrize(("missing", "code"), [(1, "exposed-copies"), (0, "offload-copies")])
def test_offloading_is_known_by_the_bytes_of_a_step(missing, code):
    """Eight steps of 64 MiB each."""
    lane = one_lane({Cause.COPY: 50 * MS}, host=HostActivity(offload_bytes=8 * 64 * 2**20 - missing))
    assert losses(job(lane)) == {code: 50}
    assert losses(job(replace(lane, steps=None))) == {"exposed-copies": 50}


def test_allocations_are_told_even_where_they_leave_no_holes():
    churn = HostActivity(allocator_calls=12, allocator_ns=1 * MS)
    finding = found(job(one_lane(host=churn)))["allocator-churn"]
    assert (finding.severity, finding.lost_ns) == (Severity.INFO, 0)
    assert "12 calls" in finding.detail
    assert "allocator-churn" not in found(job(one_lane(host=replace(churn, allocator_ns=MS // 2))))


def test_allocations_without_steps_are_not_said_to_be_in_every_few():
    churn = HostActivity(allocator_calls=12, allocator_ns=1 * MS)
    stepped = one_lane(host=churn)
    known = found(job(stepped, stepped))["allocator-churn"]
    assert known.title == "GPU memory is allocated and freed in every few steps"
    assert "24 calls after the first step took 2.000 ms" in known.detail
    unknown = found(job(stepped, replace(stepped, steps=None)))["allocator-churn"]
    assert unknown.title == "GPU memory is allocated and freed during the capture"
    assert unknown.detail.endswith(
        "24 calls in the whole capture (steps are not known, so loading the model may be among them) took 2.000 ms."
    )


@pytest.mark.parametrize(("work_ns", "fires"), [(9_999, True), (10_000, False)])
def test_short_blanks_between_tiny_kernels_are_launch_bound(work_ns, fires):
    host = HostActivity(launches=1_000, launch_ns=4_000_000, launched_ns=1_000 * work_ns)
    assert losses(job(one_lane(host=host, short_idle=80 * MS))) == ({"launch-bound": 80} if fires else {})


def test_short_blanks_are_not_lost_twice():
    host = HostActivity(launches=1_000, launched_ns=1_000)
    small = collective(instances=1_000, per_step=100.0, exposed_ns=30 * MS)
    analysis = job(one_lane(host=host, short_idle=50 * MS, short_exposed=30 * MS), collectives=(small,))
    assert losses(analysis) == {"many-small-collectives": 30, "launch-bound": 50}


def test_exposed_communication_in_short_blanks_is_not_launch_bound():
    """Nor does what small collectives lose in holes lessen it."""
    host = HostActivity(launches=1_000, launched_ns=1_000)
    assert losses(job(one_lane(host=host, short_exposed=80 * MS))) == {}
    small = collective(instances=1_000, per_step=100.0, exposed_ns=40 * MS)
    lane = one_lane({TRANSFER: 40 * MS}, host=host, short_idle=50 * MS)
    assert losses(job(lane, collectives=(small,))) == {"many-small-collectives": 40, "launch-bound": 50}


def test_graphs_hide_what_ran():
    opaque = one_lane()
    opaque = replace(opaque, budget=replace(opaque.budget, compute_only_ns=0, graph_only_ns=1_000 * MS))
    finding = found(job(opaque))["graph-opaque"]
    assert (finding.severity, finding.lost_ns) == (Severity.INFO, 0)
    assert "--cuda-graph-trace=node" in finding.advice
    unseen = found(job(replace(one_lane(), idle_reason="graphs left no trace")))["graph-opaque"]
    assert "idle time is not known either" in unseen.detail


@pytest.mark.parametrize(
    ("lengths", "fires"),
    [([100] * 9, False), ([100, 100, 100, 105, 105, 105, 109, 109, 109], False), ([100] * 4 + [130] * 4, False)],
    ids=["steady", "less than 10 %", "too few steps"],
)
def test_steady_steps_do_not_drift(lengths, fires):
    assert ("step-time-drift" in found(job(step_times([ms * MS for ms in lengths])))) is fires


def test_drifting_steps_lose_the_growth_of_compute():
    lengths = [100, 100, 100, 110, 110, 110, 120, 120, 120]
    analysis = job(step_times([ms * MS for ms in lengths]), step_times([ms * MS for ms in lengths], rank=1))
    finding = found(analysis)["step-time-drift"]
    assert finding.lost_ns == 2 * (3 * 10 + 3 * 20) * MS
    assert "grew by 20.0 %" in finding.detail


FAULTY = {
    "no usable times": job(replace(one_lane(), dropped_ops=100)),
    "no launch call": job(one_lane(host=HostActivity(unlaunched_ops=100))),
    "profiler itself took 5.0 %": job(one_lane(host=HostActivity(overhead_ns=50 * MS))),
    "nly 4 complete step": job(one_lane(computing=[100 * MS] * 4)),
    "steps are not known": job(replace(one_lane(), steps=None)),
    "2 ranks of 3 missing": job(one_lane(rank=2)),
    "7 ranks of 8 missing": replace(job(one_lane()), world_size=8),
    "999,999,999 ranks of 1,000,000,000 missing": job(one_lane(rank=999_999_999)),
    "3 collective operations found no partner": job(one_lane(), collectives=(collective(exposed_ns=0, unmatched=3),)),
    "100.0 % of the hole time has no known cause": job(one_lane({Cause.UNKNOWN: 50 * MS})),
}


@pytest.mark.parametrize("words", FAULTY)
def test_a_capture_that_lacks_something_is_told(words):
    findings = found(FAULTY[words])
    assert list(findings) == ["capture-quality"]
    assert findings["capture-quality"].severity is Severity.INFO
    assert words in findings["capture-quality"].detail.replace("There", "there").replace("Steps", "steps")


def test_a_capture_without_api_calls_is_told():
    analysis = quiet()
    blind = replace(analysis, coverage=replace(analysis.coverage, runtime=False))
    assert "no hole's host side is known" in found(blind)["capture-quality"].detail


EVEN = {Phase.DATA_LOADING: 5, Phase.FORWARD: 15, Phase.BACKWARD: 70, Phase.OTHER: 10}
LATE = {Phase.DATA_LOADING: 5, Phase.FORWARD: 45, Phase.BACKWARD: 40, Phase.OTHER: 10}


def on_the_host(*spent: dict[Phase, int], slow: tuple[SlowRank, ...] = ()) -> Analysis:
    """Return a job without GPU work: ten steps on each process, its phases in ms."""
    processes = (training_process(rank, host_steps(one, count=10)) for rank, one in enumerate(spent))
    return replace(quiet(), lanes=(), total=None, step_spreads=(), processes=tuple(processes), slow_ranks=slow)


def slow_process(process: int, **others: object) -> SlowRank:
    usual = SlowRank(
        process=process, steps=(9, 10), own_ratio=2.0, phase=Phase.FORWARD, phase_ns=30 * MS, lost_ns=270 * MS
    )
    return replace(usual, **others)  # type: ignore[arg-type]


def test_host_time_that_is_as_it_should_be_is_no_finding():
    assert found(on_the_host(EVEN, EVEN)) == {}


def test_the_others_wait_for_a_slow_rank():
    findings = found(on_the_host(EVEN, LATE, EVEN, slow=(slow_process(1),)))
    assert list(findings) == ["slow-rank"]
    finding = findings["slow-rank"]
    assert (finding.lost_ns, finding.share, finding.severity) == (540 * MS, 540 / 3000, Severity.CRITICAL)
    assert finding.title == "Rank 1 is slower on the host than the others, which wait"
    assert finding.detail == (
        "Rank 1 is slow in 9 of 10 steps: outside backward it takes 2.00 times as long, mostly by forward "
        "(30.00 ms more in a step)."
    )


def test_nobody_waits_longer_for_a_slow_rank_than_backward_takes():
    short = {Phase.FORWARD: 15, Phase.BACKWARD: 1, Phase.OTHER: 4}
    finding = found(on_the_host(short, LATE, slow=(slow_process(1),)))["slow-rank"]
    assert finding.lost_ns == 10 * MS


def test_two_slow_ranks_are_waited_for_once():
    several = (slow_process(1), slow_process(2, lost_ns=100 * MS, phase=Phase.OTHER))
    finding = found(on_the_host(EVEN, LATE, LATE, slow=several))["slow-rank"]
    assert finding.lost_ns == 270 * MS
    assert finding.title.startswith("Rank 1 and rank 2 are slower")
    assert "mostly by time in no range" in finding.detail


def test_a_slow_rank_is_told_by_the_lanes_where_they_can_be_compared():
    slow_host = on_the_host(EVEN, LATE, slow=(slow_process(1),))
    assert found(replace(quiet(), processes=slow_host.processes, slow_ranks=slow_host.slow_ranks)) == {}
    alone = replace(job(one_lane()), processes=slow_host.processes, slow_ranks=slow_host.slow_ranks)
    finding = found(alone)["slow-rank"]
    assert (finding.lost_ns, finding.severity) == (0, Severity.INFO)


@pytest.mark.parametrize(("loading", "codes"), [(9, []), (10, ["data-wait"]), (60, ["data-wait"])])
def test_steps_that_wait_for_data_are_told_from_a_tenth_upwards(loading, codes):
    spent = {Phase.DATA_LOADING: loading, Phase.FORWARD: 100 - loading}
    findings = found(on_the_host(spent, spent))
    assert list(findings) == codes
    assert [finding.severity for finding in findings.values()] == [Severity.WARNING] * len(codes)
    assert [finding.lost_ns for finding in findings.values()] == [2 * 10 * loading * MS] * len(codes)


def test_who_waits_most_for_data_is_named():
    starved = {Phase.DATA_LOADING: 60, Phase.FORWARD: 40}
    detail = found(on_the_host(EVEN, starved))["data-wait"].detail
    assert detail == "32.50 ms of a step on average; most on rank 1: 60.0 %."


def test_where_there_is_gpu_work_its_holes_tell_who_is_starved():
    starved = on_the_host({Phase.DATA_LOADING: 60, Phase.FORWARD: 40})
    assert found(replace(quiet(), processes=starved.processes)) == {}


def beside(name: str, lanes: tuple[int, ...], **others: object) -> Host:
    """Return a host whose lanes are as fast as those of the others."""
    usual = Host(
        host=name,
        lanes=lanes,
        compute_ns=80 * MS,
        own_ns=90 * MS,
        own_ratio=1.0,
        slow_steps=(0, 8),
        caused_wait_ns=0,
        transfer_ratio=1.0,
        is_slow=False,
        has_slow_nic=False,
    )
    return replace(usual, **others)


def on_hosts(*hosts: Host, cause: Cause = WAIT, **others: object) -> Analysis:
    """Return a job of two lanes on each host that lose 100 ms each."""
    return replace(lost(cause, lanes=2 * len(hosts), **others), hosts=hosts)


def test_equal_hosts_are_not_named():
    equal = on_hosts(beside("node0", (0, 1)), beside("node1", (2, 3)))
    assert losses(equal) == {"exposed-collective": 400}


def test_a_slow_host_takes_its_waits_and_its_lanes_are_no_stragglers():
    stragglers = (slow(2, 150), slow(0, 40))
    node = beside(
        "node1", (2, 3), own_ratio=1.25, slow_steps=(7, 8), caused_wait_ns=300 * MS, compute_ns=100 * MS, is_slow=True
    )
    analysis = on_hosts(beside("node0", (0, 1)), node, stragglers=stragglers)
    assert losses(analysis) == {"slow-node": 300, "straggler": 40, "exposed-collective": 60}
    finding = found(analysis)["slow-node"]
    assert finding.title == "node1 is slower than the other hosts, which wait"
    assert "in 7 of 8 steps even the fastest of rank 2 and rank 3 on node1" in finding.detail
    assert "1.25 times as long; it computes 100.0 ms a step, the others 80.00 ms" in finding.detail
    assert found(analysis)["straggler"].title == "Rank 0 is slower than the others, which wait"


def test_a_host_is_charged_no_more_than_was_waited():
    node = beside("node1", (2, 3), caused_wait_ns=10_000 * MS, is_slow=True)
    assert losses(on_hosts(beside("node0", (0, 1)), node)) == {"slow-node": 400}


def test_a_slow_nic_takes_what_the_others_need_less_and_no_slow_link_is_named():
    links = tuple(
        collective("SendRecv", lanes=lanes, bus_bandwidth=speed, communicator=str(lanes))
        for lanes, speed in (((0, 2), 1e9), ((2, 4), 1e9), ((4, 0), 4e9))
    )
    hosts = (beside("node0", (0, 1)), beside("node1", (2, 3)), beside("node2", (4, 5)))
    assert set(losses(on_hosts(*hosts, cause=TRANSFER, collectives=links))) == {"slow-link", "exposed-collective"}
    named = (hosts[0], replace(hosts[1], transfer_ratio=4.0, has_slow_nic=True), hosts[2])
    analysis = on_hosts(*named, cause=TRANSFER, collectives=links)
    # two of three equal operations took 600 ms of transfer; three quarters of theirs is too much
    assert losses(analysis) == {"slow-nic": 300, "exposed-collective": 300}
    finding = found(analysis)["slow-nic"]
    assert finding.title == "The network of node1 is slower than that of the other hosts"
    assert "(SendRecv, 160.0 ms summed over lanes) take 4.00 times" in finding.detail


def test_a_slow_nic_that_costs_nothing_is_still_named():
    named = (beside("node0", (0, 1)), beside("node1", (2, 3), transfer_ratio=4.0, has_slow_nic=True))
    assert found(replace(job(*(one_lane(rank=r) for r in range(4))), hosts=named))["slow-nic"].lost_ns == 0


def test_how_well_clocks_agree_is_told_with_what_is_said_of_hosts():
    node = beside("node1", (2, 3), caused_wait_ns=100 * MS, is_slow=True)
    clock = HostClock(
        host="node1",
        lanes=(2, 3),
        reference="node0",
        is_utc=True,
        at_utc_ns=0,
        offset_ns=5 * MS,
        drift_ppm=1.0,
        residual_ns=2_345,
        collectives=9,
    )
    analysis = replace(on_hosts(beside("node0", (0, 1)), node), clocks=(clock,))
    assert found(analysis)["slow-node"].detail.endswith("(clocks agree to 2.345 µs).")


def test_every_rule_fires_somewhere_here():
    text = Path(__file__).read_text(encoding="utf-8")
    assert [code for code in PAGES if f'"{code}"' not in text] == []


def test_a_range_that_pytorch_named_is_told_by_its_operation():
    seen = Evidence(nvtx="aten::einsum, seq = 10297, op_id = 71806, sizes = [[], [4, 512, 768]]")
    finding = found(job(one_lane({Cause.LAUNCH_BOUND: 50 * MS}, evidence=seen)))["launch-bound"]
    assert finding.detail.endswith("inside `aten::einsum`).")
    long = found(job(one_lane({Cause.LAUNCH_BOUND: 50 * MS}, evidence=Evidence(nvtx="x" * 500))))["launch-bound"]
    assert f"`{'x' * 59}…`" in long.detail


def test_the_bill_of_many_communicators_looks_at_each_once():
    times = dict.fromkeys(range(400), 0)

    class Counted(tuple[CollectiveSummary, ...]):
        __slots__ = ()

        def __iter__(self):
            for place, one in enumerate(super().__iter__()):
                times[place] += 1
                yield one

    many = Counted(collective(communicator=str(place), bus_bandwidth=1e9) for place in times)
    find(lost(TRANSFER, collectives=many))
    assert max(times.values()) < 20


def test_the_bill_is_that_of_the_analysis_that_is_asked_for():
    """What is kept of one analysis must not answer for another, equal or not, in whatever order."""
    some, more = lost(TRANSFER, 40), lost(TRANSFER, 90)
    for analysis, ms in ((some, 80), (more, 180), (some, 80), (replace(more), 180)):
        assert losses(analysis) == {"exposed-collective": ms}


def test_lanes_that_lose_the_same_are_not_given_a_range() -> None:
    two = lost(Cause.DATA_LOADING)
    assert shares_by_lane(two, {0: 5 * MS, 1: 5 * MS}) == ""
    assert shares_by_lane(two, {0: 5 * MS, 1: 9 * MS}).startswith(", between ")
