"""Kernels by name: over lanes and reports, inside the window, in one order."""

from __future__ import annotations

from profiles import GEMM, NCCL, K, M, R, profile

from gapfinder.analysis import analyze
from gapfinder.analysis.kernel_totals import KERNELS_KEPT
from gapfinder.explanations import KernelTotal
from gapfinder.settings import Settings

NORM = "layer_norm(float*)"


def totals(*profiles, **chosen) -> list[tuple[str, bool, int, int]]:
    analysis = analyze(profiles, settings=Settings(**chosen))
    return [(one.name, one.is_communication, one.count, one.total_ns) for one in analysis.kernels]


def test_no_kernel_has_no_total():
    assert totals(profile(M(0, 100), R(0, 1, 1))) == []


def test_lanes_and_reports_are_added_up():
    one = profile(K(0, 100), K(100, 130, device=1), K(50, 90, NCCL, stream=9), name="a.sqlite")
    other = profile(K(0, 1_000, NORM), K(1_000, 1_001), name="b.sqlite")
    assert totals(one, other) == [(NORM, False, 1, 1_000), (GEMM, False, 3, 131), (NCCL, True, 1, 40)]


def test_kernels_that_run_at_once_count_each():
    assert totals(profile(K(0, 100), K(0, 100, stream=8))) == [(GEMM, False, 2, 200)]


def test_what_a_pattern_decides_is_decided_here_too():
    (gemm,) = totals(profile(K(0, 100)), communication_patterns=("gemm",))
    assert gemm == (GEMM, True, 1, 100)


def test_a_window_cuts_kernels_and_leaves_others_out():
    rows = profile(K(0, 100), K(100, 200, NORM), K(150, 150), K(300, 300), K(250, 400, NCCL, stream=9), K(500, 600))
    assert totals(rows, window=(60, 300)) == [(NORM, False, 1, 100), (NCCL, True, 1, 50), (GEMM, False, 2, 40)]


def test_a_report_outside_the_window_gives_none():
    early, late = profile(K(0, 100), name="a.sqlite"), profile(K(10_000, 10_100, NORM), name="b.sqlite")
    assert totals(early, late, window=(0, 200)) == [(GEMM, False, 1, 100)]


def test_rows_without_usable_times_are_left_out():
    assert totals(profile(K(0, 0), K(10, 5), K(10, 20))) == [(GEMM, False, 1, 10)]


def test_only_the_longest_are_kept_and_equal_ones_come_by_name():
    names = [f"kernel_{number:03}" for number in range(KERNELS_KEPT + 5)]
    rows = [K(100 * place, 100 * place + 10, name) for place, name in enumerate(reversed(names))]
    assert [name for name, *_ in totals(profile(*rows))] == names[:KERNELS_KEPT]
    longest = K(0, 20_000, "z")
    assert totals(profile(*rows, longest))[0] == ("z", False, 1, 20_000)


def test_a_total_is_what_its_fields_say():
    (one,) = analyze([profile(K(5, 17))]).kernels
    assert one == KernelTotal(name=GEMM, is_communication=False, count=1, total_ns=12)
