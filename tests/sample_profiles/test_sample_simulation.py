"""The simulator itself: rendezvous, stream order, and how a hole is charged."""

from __future__ import annotations

import pytest

from sample_profiles import kernels as k
from sample_profiles.blame import Blame
from sample_profiles.host import MAIN_STREAM, NCCL_STREAM, Host
from sample_profiles.network import Network
from sample_profiles.pipeline import one_forward_one_backward
from sample_profiles.simulator import run
from sample_profiles.states import simulate
from sample_profiles.trace import Cause, Process
from sample_profiles.truth import tell

ALL_REDUCE = k.collective("AllReduce_Sum_bf16_RING_LL", usual_ns=1_000_000)


def hosts(ranks):
    network = Network(seed=1)
    processes = [Process(rank=rank, ranks=ranks, pid=100 + rank, began=1_000_000) for rank in range(ranks)]
    return [Host(process, network=network, seed=1) for process in processes]


def test_a_collective_waits_for_the_last_rank():
    def program(host):
        host.work(5_000_000 * (1 + host.rank))
        yield from host.meet(ALL_REDUCE)

    first, second = hosts(2)
    run([first, second], program)
    early, late = first.process.ops[0], second.process.ops[0]
    assert late.start - early.start > 3_000_000
    assert early.end == late.end
    assert 940_000 <= late.end - late.start <= 1_060_000


def test_an_event_orders_two_streams():
    def program(host):
        yield from host.launch(k.GEMM_MLP)
        host.order(before=MAIN_STREAM, after=NCCL_STREAM)
        yield from host.meet(ALL_REDUCE)
        yield from host.launch(k.GELU)

    (host,) = hosts(1)
    run([host], program)
    product, reduction, free = host.process.ops
    assert reduction.start > product.end
    assert reduction.bound_by is product
    assert product.end < free.start < reduction.end


def test_synchronising_ends_after_the_gpu_has():
    def program(host):
        yield from host.launch(k.GEMM_MLP)
        yield from host.synchronise()

    (host,) = hosts(1)
    run([host], program)
    call = host.process.calls[-1]
    assert call.name.startswith("cudaStreamSynchronize")
    assert call.start < host.process.ops[0].end < call.end


def test_ranks_that_wait_for_each_other_are_an_error():
    def program(host):
        if host.rank == 0:
            yield from host.meet(ALL_REDUCE)
            yield from host.synchronise(stream=NCCL_STREAM)

    with pytest.raises(RuntimeError, match="wait for each other"):
        run(hosts(2), program)


def test_a_collective_without_partner_is_an_error():
    def program(host):
        if host.rank == 0:
            yield from host.meet(ALL_REDUCE)

    with pytest.raises(RuntimeError, match="never launched"):
        run(hosts(2), program)


def holes_of(program, ranks=1):
    group = hosts(ranks)

    def whole(host):
        with host.range("step 0"):
            yield from program(host)

    run(group, whole)
    return [lane.holes for lane in tell([host.process for host in group], state="test", seed=1).lanes]


@pytest.mark.parametrize("cause", [Cause.OS_CALL, Cause.GARBAGE_COLLECTION, Cause.CHECKPOINT, Cause.HOST_CODE])
def test_an_idle_hole_is_charged_to_what_the_host_did(cause):
    def program(host):
        yield from host.launch(k.GELU)
        host.work(2_000_000, cause=cause)
        yield from host.launch(k.GELU)

    ((hole,),) = holes_of(program)
    assert hole.cause is cause
    assert hole.idle_ns == hole.end_ns - hole.start_ns > 1_500_000


def test_a_busy_queue_hides_what_the_host_does():
    def program(host):
        yield from host.launch(k.FLASH_BACKWARD)
        yield from host.launch(k.FLASH_BACKWARD)
        host.work(1_500_000, cause=Cause.GARBAGE_COLLECTION)
        yield from host.launch(k.GELU)

    assert holes_of(program) == [()]


def test_waiting_in_a_collective_names_the_late_rank():
    def program(host):
        yield from host.launch(k.GELU)
        if host.rank == 1:
            host.work(6_000_000)
        host.order(before=MAIN_STREAM, after=NCCL_STREAM)
        yield from host.meet(ALL_REDUCE)
        host.order(before=NCCL_STREAM, after=MAIN_STREAM)
        yield from host.launch(k.GELU)

    (waiting,), (late,) = holes_of(program, ranks=2)
    assert waiting.cause is Cause.WAIT
    assert waiting.evidence.late_rank == 1
    assert waiting.exposed_ns > 5_500_000
    assert late.cause is Cause.LAUNCH_BOUND
    assert late.evidence.late_rank is None


def test_a_hole_at_the_end_is_charged_too():
    def program(host):
        yield from host.launch(k.GELU)
        host.order(before=MAIN_STREAM, after=NCCL_STREAM)
        yield from host.meet(ALL_REDUCE)

    ((hole,),) = holes_of(program)
    assert hole.cause is Cause.TRANSFER
    assert hole.end_ns - hole.start_ns == sum(hole.evidence.shares_ns.values())


def test_time_before_all_records_is_unknown():
    def program(host):
        yield from host.launch(k.GELU)

    (host,) = hosts(1)
    run([host], program)
    op = host.process.ops[0]
    blame = Blame(host.process, floor=0, end=op.start).start_of(op)
    assert blame.main_cause() is Cause.UNKNOWN
    assert blame.shares[Cause.UNKNOWN] == 1_000_000


@pytest.mark.parametrize("stage", range(4))
def test_a_stage_runs_each_microbatch_forward_before_backward(stage):
    order = one_forward_one_backward(stage)
    assert order.count("forward") == order.count("backward") == 4
    ahead = [order[:n].count("forward") - order[:n].count("backward") for n in range(9)]
    assert min(ahead) == 0
    assert max(ahead) == 4 - stage


@pytest.mark.parametrize(("steps", "ranks"), [(0, 8), (3, 0), (3, 6)])
def test_impossible_sizes_are_refused(steps, ranks):
    with pytest.raises(ValueError, match="multiples of 4"):
        simulate("pipeline", seed=1, steps=steps, ranks=ranks)
