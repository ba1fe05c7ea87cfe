"""Every operation on every communicator gets one row: counted once, hidden and exposed as unions, priced by its bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from profiles import GEMM, K, N, R, process, profile

from gapfinder.analysis import analyze
from gapfinder.analysis.hints import operation_hint
from gapfinder.settings import Settings
from gapfinder.tables import PAYLOADS

US, MS = 1_000, 1_000_000
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SEND = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def k(start: int, end: int, name: str = GEMM, **where: int) -> K:
    """A kernel, in µs."""
    return K(start * US, end * US, name, **where)


def with_payloads(made, *rows: dict[str, int]):
    """Attach payloads: dicts with start, end, communicator, bytes, and optionally peer, ranks and pid."""
    full = [{"peer": -1, "ranks": -1, "bytes": -1, "thread": process(row.pop("pid", 100)) + 100, **row} for row in rows]
    frame = PAYLOADS.frame({c.name: [row[c.name] for row in full] for c in PAYLOADS.columns})
    return replace(made, read_payloads=lambda: (frame, 0))


def launched(number: int, at: int, pid: int = 100) -> R:
    return R(at * US, (at + 5) * US, number, pid=pid, tid=100)


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "AllReduce"),
        ("ncclKernel_ReduceScatter_RING_LL_Sum_half(ncclWorkElem)", "ReduceScatter"),
        ("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "AllGather"),
        ("ncclDevKernel_Reduce_Sum_f32_RING_LL(x)", "Reduce"),
        ("ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclWorkElem)", "Broadcast"),
        ("ncclDevKernel_SendRecv(x)", "SendRecv"),
        ("ncclSymkDevKernel_AllReduce_AGxLL_R_sum_bf16(x)", "AllReduce"),
        ("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)", "AllReduce"),
        ("ncclDevKernel_Generic(x)", "unknown"),
        ("void deep_ep::intranode::dispatch<8>(int4*)", "unknown"),
    ],
)
def test_names_hint_at_operations(name, operation):
    assert operation_hint(name) == operation


def test_nothing_communicates():
    assert analyze([profile(k(0, 10))]).collectives == ()


def test_one_lane_is_not_split():
    (row,) = analyze([profile(k(0, 100), k(50, 150, REDUCE, stream=20))]).collectives
    assert (row.operation, row.communicator, row.instances, row.lanes) == ("AllReduce", "stream 20", 1, (0,))
    assert (row.total_ns, row.hidden_ns, row.exposed_ns) == (100 * US, 50 * US, 50 * US)
    assert row.wait_ns is row.transfer_ns is row.late_lane is row.late_share is None
    assert row.unmatched == 0
    assert row.per_step is None
    assert row.bytes_total is row.algorithm_bandwidth is row.bus_bandwidth is row.ideal_ns is None


def test_two_lanes_share_one_instance_and_split_it():
    made = profile(k(0, 50, REDUCE, stream=20), k(40, 50, REDUCE, stream=24, pid=200))
    (row,) = analyze([made]).collectives
    assert row.communicator == "stream 20, 24"
    assert (row.instances, row.unmatched, row.lanes) == (1, 0, (0, 1))
    assert (row.total_ns, row.wait_ns, row.transfer_ns) == (60 * US, 40 * US, 20 * US)
    assert (row.late_lane, row.late_share, row.skew_ns) == (1, 1.0, 40 * US)


def test_what_finds_no_partner_is_counted_beside_what_does():
    made = profile(
        k(0, 50, REDUCE, stream=20),
        k(5000, 5050, REDUCE, stream=20),
        k(9000, 9050, REDUCE, stream=20),
        k(40, 50, REDUCE, stream=20, pid=200),
        k(9010, 9050, REDUCE, stream=20, pid=200),
    )
    (row,) = analyze([made]).collectives
    assert (row.instances, row.unmatched) == (3, 1)


def test_time_of_streams_that_run_at_once_is_a_union():
    made = profile(k(0, 100, SEND, stream=20), k(50, 150, REDUCE, stream=21), k(60, 140, REDUCE, stream=21, context=2))
    rows = {row.operation: row for row in analyze([made]).collectives}
    assert rows["SendRecv"].exposed_ns == 100 * US
    assert rows["AllReduce"].exposed_ns == 100 * US  # streams of one number in two contexts overlap
    assert rows["AllReduce"].total_ns == 180 * US


def test_rows_come_with_most_exposed_first():
    made = profile(k(0, 10, GATHER, stream=20), k(20, 120, REDUCE, stream=20), k(0, 200, stream=7, pid=300))
    assert [row.operation for row in analyze([made]).collectives] == ["AllReduce", "AllGather"]


def test_what_crosses_the_window_is_cut_in_hidden_and_exposed():
    (row,) = analyze(
        [profile(k(0, 100, REDUCE), k(200, 300))], settings=Settings(window=(60 * US, 250 * US))
    ).collectives
    assert (row.exposed_ns, row.total_ns) == (40 * US, 100 * US)


def test_instances_are_counted_per_complete_step():
    rows = []
    for step in range(4):
        at = 1000 * step
        rows += [
            N(at * US, (at + 900) * US, f"step {step}"),
            launched(10 * step, at + 10),
            k(at + 20, at + 500, correlation=10 * step),
        ]
        for part in (1, 2):
            rows += [launched(10 * step + part, at + 20 + part)]
            rows += [k(at + 100 * part, at + 100 * part + 50, REDUCE, stream=20, correlation=10 * step + part)]
    (row,) = analyze([profile(*rows)]).collectives
    assert row.instances == 8
    assert row.per_step == 2.0


def one_call(name: str, size: int, *, ranks: int = -1):
    """Two lanes, one collective of 1 ms transfer on communicator 0xabc; the kernels are launched in NCCL's range."""
    rows, payloads = [], []
    for pid, start in ((100, 0), (200, 500)):
        rows += [N(0, 20 * US, "ncclCall", domain="NCCL", pid=pid, tid=100), launched(1, 5, pid)]
        rows += [k(100 + start, 1600, name, stream=20, pid=pid, correlation=1)]
        payloads += [{"start": 0, "end": 20 * US, "communicator": 0xABC, "bytes": size, "pid": pid}]
        if ranks > 0:
            payloads += [{"start": -100, "end": -50, "communicator": 0xABC, "ranks": ranks, "pid": pid}]
    return with_payloads(profile(*rows), *payloads)


@pytest.mark.parametrize(
    ("name", "size", "total", "bus"),
    [
        (REDUCE, 1_000_000, 1_000_000, 1.0),  # 2 (n - 1) / n of 1 GB/s on two ranks
        (GATHER, 500_000, 1_000_000, 0.5),  # NCCL counts one rank's part
        (SEND, 1_000_000, 1_000_000, 1.0),
    ],
)
def test_bytes_give_bandwidth_of_the_transfer(name, size, total, bus):
    (row,) = analyze([one_call(name, size)], settings=Settings(link_bandwidth=2e9)).collectives
    assert row.communicator == "0xabc"
    assert row.transfer_ns == 2 * MS
    assert row.bytes_total == total
    assert row.algorithm_bandwidth == pytest.approx(1e9)
    assert row.bus_bandwidth == pytest.approx(bus * 1e9)
    assert row.ideal_ns == 2 * bus * 500_000  # of both lanes, as their transfers are
    assert row.ideal_share == bus / 2


def test_ranks_outside_the_report_count():
    (row,) = analyze([one_call(GATHER, 250_000, ranks=4)]).collectives
    assert row.bytes_total == 1_000_000
    assert row.bus_bandwidth == pytest.approx(0.75e9)
    assert row.ideal_ns is None


def test_ranks_elsewhere_have_no_ideal_on_a_link_that_was_detected():
    """Two lanes on one host; with four ranks told, two of them may be on another one."""
    h100 = [(100, 0, 0, "NVIDIA H100 80GB HBM3"), (200, 0, 1, "NVIDIA H100 80GB HBM3")]
    for ranks, ideal in ((2, 2 * 2_222), (4, None)):
        made = one_call(REDUCE, 1_000_000, ranks=ranks)
        analysis = analyze([replace(made, devices=profile(devices=h100).devices)])
        assert (analysis.link.source, analysis.link.bandwidth) == ("detected", 450e9)
        assert "datasheet of NVIDIA H100 80GB HBM3" in analysis.link.reason
        assert analysis.collectives[0].ideal_ns == ideal
        given = analyze([made], settings=Settings(link_bandwidth=450e9))
        assert (given.link.source, given.collectives[0].ideal_ns is None) == ("given", False)


def repeated(sizes: list[int], transfers: list[int]):
    """Two lanes and one collective after the other, of these bytes and transfers in µs."""
    rows, payloads = [], []
    for number, (size, transfer) in enumerate(zip(sizes, transfers, strict=True)):
        at = 10_000 * number
        for pid, wait in ((100, 200), (200, 0)):
            rows += [launched(number, at + 5, pid)]
            rows += [k(at + 300 - wait, at + 300 + transfer, REDUCE, stream=20, pid=pid, correlation=number)]
            payloads += [{"start": at * US, "end": (at + 20) * US, "communicator": 0xABC, "bytes": size, "pid": pid}]
    return with_payloads(profile(*rows), *payloads)


@pytest.mark.parametrize(
    ("sizes", "transfers", "share"),
    [
        ([1 << 20] * 20, [1000] * 20, 1.0),
        ([1 << 20] * 20, [250] * 5 + [1000] * 15, 0.25),
        ([1 << 20] * 19, [250] * 5 + [1000] * 14, None),  # too few
        ([1 << 20] * 20 + [1 << 4] * 25, [1000] * 45, 1.0),  # small ones cost latency, and are another size
        ([1 << 20] * 10 + [1 << 24] * 10, [1000] * 20, None),  # of no size there are enough
    ],
)
def test_the_usual_speed_is_compared_with_the_fastest_tenth_of_one_size(sizes, transfers, share):
    (row,) = analyze([repeated(sizes, transfers)]).collectives
    assert row.own_share == (None if share is None else pytest.approx(share))


def test_without_partners_nothing_is_said_of_the_usual_speed():
    made = repeated([1 << 20] * 20, [250] * 5 + [1000] * 15)
    (row,) = analyze([made], settings=Settings(gpus=(0,))).collectives
    assert row.own_share is not None
    alone = replace(made, kernels=made.kernels[made.kernels["process"] == process(100)])
    (row,) = analyze([alone]).collectives
    assert row.own_share is None


def test_streams_of_unrelated_reports_are_kept_apart():
    """Nothing of the second report meets anything of the first: other counts at other times."""
    one = profile(*(k(at, at + 50, REDUCE, stream=20) for at in (0, 1000, 5000)))
    other = profile(k(7, 900, REDUCE, stream=20), name="b.sqlite")
    rows = analyze([one, other]).collectives
    assert [(row.communicator, row.instances, row.lanes, row.unmatched) for row in rows] == [
        ("stream 20 of b.sqlite", 1, (1,), 0),
        ("stream 20 of a.sqlite", 3, (0,), 0),
    ]


def test_streams_of_reports_that_met_share_a_row():
    one = profile(*(k(at, at + 50, REDUCE, stream=20) for at in (0, 1000, 5000)))
    (row,) = analyze([one, replace_process(one)]).collectives
    assert (row.communicator, row.instances, row.lanes) == ("stream 20", 3, (0, 1))


def grouped(*kernels: K, calls: list[R], inner: bool = False):
    """ncclGroupStart, send 1000 and receive 3000 and send 500, ncclGroupEnd from 60 to 90 µs."""
    names = [(0, 1, "ncclGroupStart"), (10, 15, "ncclSend"), (20, 25, "ncclRecv"), (30, 35, "ncclSend")]
    names += [(5, 6, "ncclGroupStart"), (40, 45, "ncclGroupEnd")] if inner else []
    ranges = [N(start * US, end * US, name, domain="NCCL") for start, end, name in [*names, (60, 90, "ncclGroupEnd")]]
    sizes = {10: 1000, 20: 3000, 30: 500}
    payloads = [{"start": at * US, "end": at * US + 5 * US, "communicator": 7, "bytes": s} for at, s in sizes.items()]
    return with_payloads(profile(*kernels, *ranges, *calls), *payloads)


@pytest.mark.parametrize("inner", [False, True])
def test_a_group_of_sends_is_one_kernel_with_the_bytes_sent(inner):
    made = grouped(k(100, 200, SEND, correlation=1), calls=[launched(1, 70)], inner=inner)
    (row,) = analyze([made]).collectives
    assert row.communicator == "0x7"
    # One lane: ranks unknown, so the bytes are known but no bandwidth is claimed.
    assert row.bytes_total is None
    two = analyze([replace_process(made), made]).collectives
    assert [one.bytes_total for one in two] == [1500]


def replace_process(made):
    """The same report once more, as another host's file."""
    return replace(made, path=made.path.with_name("b.sqlite"))


def test_several_kernels_of_a_group_are_not_told_apart():
    made = grouped(
        k(100, 200, SEND, correlation=1), k(300, 400, SEND, correlation=2), calls=[launched(1, 65), launched(2, 75)]
    )
    (row,) = analyze([made, replace_process(made)]).collectives
    assert row.communicator == "0x7"
    assert row.bytes_total is None


def test_a_launch_outside_of_any_call_has_no_payload():
    made = grouped(k(100, 200, SEND, correlation=1), calls=[launched(1, 95)])
    (row,) = analyze([made, replace_process(made)]).collectives
    assert row.communicator == "stream 7"
    assert row.bytes_total is None


def test_payloads_of_another_thread_or_process_are_not_taken():
    made = one_call(REDUCE, 1000)
    frame, _ = made.read_payloads()
    other = replace(made, read_payloads=lambda: (frame.assign(thread=frame["thread"] + 1), 0))
    assert [row.bytes_total for row in analyze([other]).collectives] == [None]


def test_payloads_that_could_not_be_decoded_are_said():
    made = replace(profile(k(0, 5, REDUCE)), read_payloads=lambda: (PAYLOADS.empty(), 3))
    assert "3 NVTX payloads could not be decoded" in analyze([made]).coverage.notes
