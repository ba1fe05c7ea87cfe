"""The critical path of a job's step: through transfers to the late rank, and through hosts that waited for the GPU."""

from __future__ import annotations

from sample_profiles import kernels as k
from sample_profiles.critical import NETWORK, CriticalPath, end_of
from sample_profiles.host import NCCL_STREAM, Host
from sample_profiles.network import Network
from sample_profiles.simulator import run
from sample_profiles.trace import Process

ALL_REDUCE = k.collective("AllReduce_Sum_bf16_RING_LL", usual_ns=1_000_000)
BEGAN = 1_000_000


def path_of(program):
    """Run two ranks; return the critical path to their last collective."""
    network = Network(seed=1)
    processes = [Process(rank=rank, ranks=2, pid=100 + rank, began=BEGAN) for rank in range(2)]
    run([Host(process, network=network, seed=1) for process in processes], program)
    last = max(network.meetings.values(), key=end_of)
    path = CriticalPath(processes, last=last, floor=BEGAN)
    assert sum(path.shares.values()) == end_of(last) - BEGAN
    return path


def test_the_late_rank_has_all_but_the_transfer():
    def program(host):
        host.work(5_000_000 * (1 + host.rank))
        yield from host.meet(ALL_REDUCE)

    path = path_of(program)
    assert path.critical_rank() == 1
    assert set(path.shares) == {1, NETWORK}
    assert 940_000 <= path.shares[NETWORK] <= 1_060_000


def test_a_host_that_waited_for_a_collective_passes_the_blame_on():
    def program(host):
        if host.rank == 0:
            host.work(9_000_000)
        yield from host.meet(ALL_REDUCE)
        yield from host.synchronise(stream=NCCL_STREAM)
        if host.rank == 1:
            host.work(2_000_000)
        yield from host.meet(ALL_REDUCE)

    path = path_of(program)
    assert path.critical_rank() == 0
    assert 7_500_000 < path.shares[0] < 10_500_000
    assert 1_600_000 < path.shares[1] < 2_500_000
    assert 1_880_000 <= path.shares[NETWORK] <= 2_120_000
