"""What rules charge to each other, and what their sentences say of it: cases that one rule alone does not show."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analysis_values import MS, budget
from findings_values import bucket, collective, find, job, lost, one_lane, slow, step_times

from gapfinder.budget import Window
from gapfinder.compare.metrics import METRICS
from gapfinder.explanations import Cause, Finding, HostActivity
from gapfinder.findings.registry import PAGES
from gapfinder.hosts import Host
from gapfinder.links import Link, LinkSource
from gapfinder.model import Analysis
from gapfinder.stragglers import SlowBy

TRANSFER, WAIT = Cause.EXPOSED_TRANSFER, Cause.EXPOSED_WAIT


def found(analysis: Analysis) -> dict[str, Finding]:
    return {finding.code: finding for finding in find(analysis)}


def slow_host(lanes: tuple[int, ...], caused_ms: int) -> Host:
    return Host(
        host="node1",
        lanes=lanes,
        compute_ns=80 * MS,
        own_ns=90 * MS,
        own_ratio=1.25,
        slow_steps=(7, 8),
        caused_wait_ns=caused_ms * MS,
        transfer_ratio=None,
        is_slow=True,
        has_slow_nic=False,
    )


UNEVEN = ([120, 100, 100, 120], [100, 120, 100, 100], [100, 100, 120, 100])


def waits_that_others_take() -> dict[str, Analysis]:
    """Return jobs of 60 ms of transfer and 100 ms of waiting, all of which another rule explains."""
    lanes = [one_lane({TRANSFER: 60 * MS, WAIT: 100 * MS}), *(one_lane(rank=rank) for rank in range(1, 4))]
    one = (collective(),)
    uneven = [
        one_lane({TRANSFER: 20 * MS, WAIT: 40 * MS}, rank=rank, computing=[ms * MS for ms in times])
        for rank, times in enumerate(UNEVEN)
    ]
    return {
        "slow-node": replace(job(*lanes, collectives=one), hosts=(slow_host((2, 3), 100),)),
        "straggler": job(*lanes, collectives=one, stragglers=(slow(1, lost_ms=100),)),
        "unbalanced-input": job(*uneven, collectives=one),
    }


@pytest.mark.parametrize("code", ["slow-node", "straggler", "unbalanced-input"])
def test_what_another_rule_takes_of_the_waiting_is_not_told_as_waiting_again(code):
    findings = found(waits_that_others_take()[code])
    left = findings["exposed-collective"]
    assert left.lost_ns == 60 * MS
    assert left.title == "Communication is not hidden behind compute"
    assert "waiting for the last lane" not in left.detail
    assert code in findings
    assert (f"look at {code} first" in left.detail) is (code != "unbalanced-input")


def test_a_straggler_that_is_not_told_is_not_pointed_to():
    idle = job(one_lane({TRANSFER: 60 * MS}), one_lane(rank=1), collectives=(collective(),), stragglers=(slow(1, 0),))
    assert list(found(idle)) == ["exposed-collective"]
    assert "first" not in found(idle)["exposed-collective"].detail


@pytest.mark.parametrize(
    ("delay", "told"),
    [
        (12_000, "it launches 12.00 µs later than the median."),
        (0, "its GPU is idle longer than the median, though its steps begin no later."),
        (-5, "its GPU is idle longer than the median, though its steps begin no later."),
    ],
)
def test_a_lane_that_is_idle_longer_is_not_said_to_launch_nothing_later(delay, told):
    late = slow(1, 60, what_differs=SlowBy.LAUNCHES, launch_delay_ns=delay)
    waiting = job(one_lane({WAIT: 60 * MS}), one_lane(rank=1), stragglers=(late,))
    assert found(waiting)["straggler"].detail.endswith(f"rank 1 is slow in 8 of 8 steps: {told}")


def test_a_bucket_that_starts_after_backward_is_not_given_more_than_all_of_backward():
    buckets = (bucket(), bucket(lane=1), bucket(lane=2, start_into_backward=1.2, after_backward_ns=3 * MS))
    detail = found(lost(TRANSFER, lanes=3, collectives=(collective(),), buckets=buckets))["late-buckets"].detail
    assert detail.endswith("on rank 2; the first starts after backward, and 3.000 ms run after its end.")


def test_a_mean_number_of_collectives_is_rounded():
    after = bucket(start_into_backward=1.0, per_step=13 / 3)
    detail = found(lost(TRANSFER, collectives=(collective(),), buckets=(after,)))["overlap-broken"].detail
    assert ": 4.33 gradient collectives of 4.000 ms a step" in detail
    small = collective(instances=1_000, per_step=1_000 / 3)
    assert "AllReduce 333 a step" in found(lost(TRANSFER, collectives=(small,)))["many-small-collectives"].detail


def test_reduces_are_gradients_where_there_are_buckets():
    after = bucket(start_into_backward=1.0)
    analysis = lost(TRANSFER, collectives=(collective("Reduce"),), buckets=(after,))
    assert [(one.code, one.lost_ns) for one in find(analysis)] == [("overlap-broken", 200 * MS)]


def test_operations_without_a_partner_do_not_make_the_others_look_short():
    """Three of 13 met on both lanes: their six operations took 240 ms of transfer, 40 ms each, not 9."""
    rare = collective(instances=13, unmatched=10, per_step=100.0, transfer_ns=6 * 240_000, total_ns=90 * MS)
    assert rare.usual_ns == 240_000
    assert rare.operations == 16
    assert "many-small-collectives" not in found(lost(TRANSFER, collectives=(rare,)))
    nobody = collective(instances=10, unmatched=10, wait_ns=None, transfer_ns=None, total_ns=80 * MS)
    assert nobody.usual_ns == 8 * MS


def test_a_promise_that_is_kept_far_enough_is_no_measure_of_what_is_lost():
    """Slow by its own best (40 %); a datasheet's ideal counts below a quarter only, and 30 % is more."""
    link = Link(bandwidth=450e9, source=LinkSource.DETECTED, reason="the datasheet promises it")
    one = collective(ideal_ns=40 * MS, ideal_share=0.3, own_share=0.4, bus_bandwidth=5e9)
    finding = found(replace(lost(TRANSFER, collectives=(one,)), link=link))["slow-link"]
    assert finding.lost_ns == 120 * MS
    assert "mostly 40.0 % of its own fastest tenth" in finding.detail


def test_a_slow_link_is_told_by_what_it_loses_most_against():
    one = collective(ideal_ns=40 * MS, ideal_share=0.4, own_share=0.1, bus_bandwidth=5e9)
    finding = found(lost(TRANSFER, collectives=(one,)))["slow-link"]
    assert finding.lost_ns == 180 * MS
    assert "mostly 10.0 % of its own fastest tenth" in finding.detail


def test_of_several_slow_links_the_one_that_loses_most_is_told():
    nearly = collective(ideal_ns=40 * MS, ideal_share=0.45, exposed_ns=60 * MS, transfer_ns=80 * MS)
    far = collective("AllGather", ideal_ns=40 * MS, ideal_share=0.1, exposed_ns=50 * MS, transfer_ns=80 * MS)
    assert ": AllGather between" in found(lost(TRANSFER, collectives=(nearly, far)))["slow-link"].detail


def test_compute_that_varies_and_does_not_grow_costs_nothing():
    """Windows grow by 20 ms of blanks; compute swings by 20 ms around what it was at first."""
    lane = step_times([100 * MS] * 9)
    windows = [100] * 3 + [110] * 3 + [120] * 3
    computes = [90, 80, 100, 80, 100, 90, 100, 80, 90]
    items = tuple(
        replace(step, window=Window(start_ns=0, end_ns=ms * MS), budget=budget(compute=compute * MS))
        for step, ms, compute in zip(lane.steps.items, windows, computes, strict=True)
    )
    finding = found(job(replace(lane, steps=replace(lane.steps, items=items))))["step-time-drift"]
    assert finding.lost_ns == 0
    assert finding.detail == "On rank 0 steps grew by 20.0 % (on the first of them from 100.0 ms to 120.0 ms)."


def test_a_slow_host_is_held_against_the_median_of_the_others():
    others = [
        replace(slow_host((at,), 0), host=f"other{at}", is_slow=False, compute_ns=(40 + 20 * at) * MS) for at in (0, 1)
    ]
    lanes = (one_lane({WAIT: 50 * MS}, rank=rank) for rank in range(4))
    detail = found(replace(job(*lanes), hosts=(*others, slow_host((2, 3), 100))))["slow-node"].detail
    assert detail.endswith("; it computes 80.00 ms a step, the others 50.00 ms.")


def test_pageable_copies_are_counted_in_words():
    host = HostActivity(pageable_copies=3, pageable_ns=40 * MS)
    detail = found(job(one_lane({Cause.HOST_TO_DEVICE_COPY: 40 * MS}, host=host)))["pageable-copies"].detail
    assert detail.endswith("; 3 pageable copies in all.")


def test_what_was_called_once_is_told_in_the_singular():
    host = HostActivity(sync_calls={"cudaDeviceSynchronize_v3020": (1, 30 * MS)})
    detail = found(job(one_lane({Cause.SYNCHRONISATION: 30 * MS}, host=host)))["sync-stall"].detail
    assert detail.endswith(": 1 time cudaDeviceSynchronize.")


def test_of_two_slow_networks_the_slower_one_takes_what_both_carry():
    names = ("a", "b", "c")
    ratios = (2.0, 4.0, None)
    hosts = tuple(
        replace(slow_host((at,), 0), host=name, is_slow=False, has_slow_nic=ratio is not None, transfer_ratio=ratio)
        for at, (name, ratio) in enumerate(zip(names, ratios, strict=True))
    )
    both = collective("SendRecv", lanes=(0, 1))
    finding = found(replace(lost(TRANSFER, lanes=3, collectives=(both,)), hosts=hosts))["slow-nic"]
    assert finding.lost_ns == 225 * MS  # three quarters of three lanes' 100 ms
    assert finding.detail == (
        "About 7.500 ms of a step of 100.0 ms: transfers of a with other hosts take 2.00 times what they take elsewhere, "
        "or more; transfers of b with other hosts (SendRecv, 80.00 ms summed over lanes) take 4.00 times what they take "
        "elsewhere, or more."
    )


def test_what_costs_nothing_is_not_given_a_share_of_a_step():
    repeated = bucket(micro_steps=4, per_step=8.0, start_into_backward=0.1, backward_ns=200 * MS)
    hidden = job(one_lane(), collectives=(collective(exposed_ns=0),), buckets=(repeated,))
    detail = found(hidden)["accumulation-not-skipping-sync"].detail
    assert detail == "No GPU time lost: 8 gradient collectives in a step of 4 micro-steps."


def test_gathers_that_are_charged_as_small_are_not_told_as_sharding():
    small = collective("AllGather", instances=1_000, per_step=100.0, communicator="8")
    findings = found(lost(TRANSFER, collectives=(collective("AllGather", exposed_ns=20 * MS), small)))
    assert findings["zero-overlap-off"].detail.endswith(": AllGather 20.00 ms exposed of 80.00 ms (25.0 %).")
    assert "AllGather 100 a step, 40.00 µs each" in findings["many-small-collectives"].detail


def test_every_rule_that_loses_gpu_time_can_explain_a_metric():
    """The two of the host lose no GPU time, and drift is of compute, which no metric but step times is about."""
    explaining = {code for metric in METRICS.values() for code in metric.explained_by or ()}
    assert set(PAGES) - explaining == {"slow-rank", "data-wait", "step-time-drift"}
    assert explaining <= set(PAGES)
