"""What changed from a healthy capture to a later one, in a sentence and in a text."""

from __future__ import annotations

from dataclasses import replace

from analysis_values import analysis as make_analysis
from analysis_values import host_steps, training_process

from gapfinder.processes import Phase, TrainingProcess
from gapfinder.watch.change import change_sentence, change_text, host_change


def process(rank: int, **phases_ms: int) -> TrainingProcess:
    return training_process(rank, host_steps({Phase[name.upper()]: spent for name, spent in phases_ms.items()}))


def analysed(*processes: TrainingProcess):
    return replace(make_analysis(), processes=processes)


HEALTHY = analysed(process(0, forward=4, backward=4), process(1, forward=4, backward=4))


def test_nothing_is_said_without_a_rank_in_common():
    assert host_change(HEALTHY, analysed()) is None
    assert host_change(HEALTHY, analysed(process(7, forward=4))) is None


def test_equal_captures_have_no_phase_that_grew():
    change = host_change(HEALTHY, HEALTHY)
    assert change is not None
    assert change_sentence(change) == (
        "a step takes 8.000 ms, and 8.000 ms in the healthy capture (0.0 %); no phase grew by 5 % of a step"
    )


def test_what_grew_on_all_ranks_is_named_once():
    slow = [process(rank, forward=4, backward=4, data_loading=8) for rank in (0, 1)]
    change = host_change(HEALTHY, analysed(*slow))
    assert change is not None
    assert change_sentence(change) == (
        "a step takes 16.00 ms, and 8.000 ms in the healthy capture (+100.0 %): data loading +8.000 ms on all ranks"
    )


def test_a_rank_that_waits_in_backward_for_a_slow_one_is_not_named():
    change = host_change(HEALTHY, analysed(process(0, forward=4, backward=10), process(1, forward=10, backward=4)))
    assert change is not None
    assert change_sentence(change).endswith(": forward +6.000 ms on rank 1")


def test_backward_is_named_where_nothing_else_grew():
    change = host_change(HEALTHY, analysed(*(process(rank, forward=4, backward=10) for rank in (0, 1))))
    assert change is not None
    assert change_sentence(change).endswith(": backward +6.000 ms on all ranks")


def test_the_text_has_a_line_for_each_phase_that_is_there():
    change = host_change(HEALTHY, analysed(process(0, forward=4, backward=10), process(1, forward=10, backward=4)))
    assert change is not None
    first, _, _, *rows, last = change_text(change).split("\n")
    assert first == f"{change_sentence(change)}."
    assert last == ""
    assert sorted(rows) == [
        "  rank 0, backward: 4.000 ms before, 10.00 ms now (+6.000 ms)",
        "  rank 0, forward: 4.000 ms before, 4.000 ms now (0 ns)",
        "  rank 1, backward: 4.000 ms before, 4.000 ms now (0 ns)",
        "  rank 1, forward: 4.000 ms before, 10.00 ms now (+6.000 ms)",
    ]
