"""Another program is told from a change of the same one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from snapshots import simulated

from gapfinder.compare.check import check
from gapfinder.compare.comparable import Aspect
from gapfinder.compare.program import another_program
from gapfinder.compare.snapshot import CollectiveTotal
from gapfinder.explanations import KernelTotal

GEMM, NORM, FUSED = "void gemm<(int)128>(float*)", "void at::norm<float>(float*)", "triton_fused_1"


def kernel(name: str, ms: int, *, is_communication: bool = False) -> KernelTotal:
    return KernelTotal(name=name, is_communication=is_communication, count=4, total_ns=ms * 10**6)


def collective(operation: str, *, instances: int = 10, ms: int = 10) -> CollectiveTotal:
    return CollectiveTotal(
        operation=operation,
        communicator="1",
        instances=instances,
        total_ns=ms * 10**6,
        hidden_ns=0,
        exposed_ns=0,
        wait_ns=None,
        transfer_ns=None,
        bytes_total=None,
    )


def training(*, seed: int = 1, kernels=(), collectives=()):
    return replace(simulated(seed=seed, steps=6), kernels=tuple(kernels), collectives=tuple(collectives))


USUAL = training(seed=2, kernels=[kernel(GEMM, 81), kernel(NORM, 19)], collectives=[collective("AllReduce")])

SAME = {
    "nothing known": training(),
    "as before": replace(USUAL, digest="new"),
    "other template arguments": training(kernels=[kernel("void gemm<(int)256>(float*)", 80)]),
    "most work in a new kernel": training(kernels=[kernel(GEMM, 21), kernel(FUSED, 79)]),
    "other communication kernels": training(
        kernels=[kernel(GEMM, 80), kernel("ncclDevKernel_AllReduce_Sum_f32_TREE_LL", 900, is_communication=True)]
    ),
    "many small collectives": training(collectives=[collective("AllReduce", instances=900, ms=40)]),
    "many collectives added that take little": training(
        collectives=[collective("AllReduce"), collective("AllGather", instances=900, ms=20)]
    ),
    "one collective added in which all wait": training(
        collectives=[collective("AllReduce"), collective("AllGather", instances=10, ms=900)]
    ),
}


@pytest.mark.parametrize("candidate", SAME.values(), ids=SAME)
def test_a_change_of_the_same_program_is_quiet(candidate):
    assert another_program(candidate, USUAL) is None


ANOTHER = {
    "other kernels": training(kernels=[kernel(GEMM, 19), kernel(FUSED, 81)]),
    "few kernels of many": training(kernels=[kernel(NORM, 80)]),
    "other collectives": training(collectives=[collective("AllGather"), collective("ReduceScatter")]),
    "a pipeline beside the all-reduce": training(
        collectives=[collective("AllReduce"), collective("SendRecv", instances=300, ms=300)]
    ),
}


@pytest.mark.parametrize("candidate", ANOTHER.values(), ids=ANOTHER)
def test_another_program_is_refused_until_allowed(candidate):
    found = check(candidate, USUAL)
    assert (found.exit_code, "another program" in found.reasons[0]) == (3, True)
    assert "--allow-different program" in found.reasons[0]
    assert check(candidate, USUAL, allowed=[Aspect.PROGRAM]).reasons == ()
    assert check(USUAL, candidate).exit_code == 3


def test_kernels_hidden_in_graphs_say_nothing():
    candidate = training(kernels=[kernel(FUSED, 100)])
    lanes = tuple(replace(lane, budget=replace(lane.budget, graph_only_ns=1)) for lane in candidate.lanes)
    assert another_program(replace(candidate, lanes=lanes), USUAL) is None


def test_long_names_are_cut_in_the_reason():
    told = another_program(training(kernels=[kernel("k" * 5_000, 100)]), USUAL)
    assert "k" * 39 + "…" in told
    assert len(told) < 300
