"""Training processes as their NVTX ranges tell: who they are, their steps and phases, whatever the GPU did."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import K, Mark, N, R, process, profile

from gapfinder.analysis import analyze
from gapfinder.analysis.phases import PHASES, PhaseRanges
from gapfinder.errors import InputError
from gapfinder.model import Analysis
from gapfinder.processes import Phase, TrainingProcess
from gapfinder.settings import Settings
from gapfinder.units import format_numbers, runs_of

HOOK = "gapfinder"
IN_ORDER = [phase.value for phase in Phase if phase is not Phase.OTHER]


def step(number: int, start: int, end: int | None, **others: object) -> N:
    return N(start, end, f"step {number}", domain=HOOK, **others)  # type: ignore[arg-type]


def phase(start: int, end: int | None, name: str, *, domain: str = HOOK, tid: int = 100) -> N:
    return N(start, end, name, domain=domain, tid=tid)


def only(*rows: object, **options: object) -> TrainingProcess:
    (found,) = analyze([profile(*rows)], settings=Settings(**options)).processes  # type: ignore[arg-type]
    return found


def spent(*rows: object) -> dict[str, int]:
    """Return where the only step, of 100 ns from 0 on, went."""
    steps = only(step(0, 0, 100), *rows).steps
    assert steps is not None
    (item,) = steps.items
    assert item.phases == steps.phases
    assert sum(item.phases.values()) == 100
    return {name.value: ns for name, ns in item.phases.items() if ns}


def test_a_step_in_which_nothing_is_told_is_other() -> None:
    assert spent() == {"other": 100}


@pytest.mark.parametrize("name", IN_ORDER)
@pytest.mark.parametrize("domain", [HOOK, ""])
def test_each_phase_is_told_by_its_whole_name(name: str, domain: str) -> None:
    assert spent(phase(10, 40, name, domain=domain)) == {name: 30, "other": 70}


@pytest.mark.parametrize("name", ["forward pass", "Forward", "backward_hook", "other", "optimizer "])
def test_what_is_like_a_phase_is_none(name: str) -> None:
    assert spent(phase(10, 40, name)) == {"other": 100}


def test_names_of_others_mean_nothing_in_a_domain_of_theirs() -> None:
    assert spent(phase(10, 40, "forward", domain="mine"), phase(50, 60, "optimizer", domain="NCCL")) == {"other": 100}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "data loading"),
        ("save checkpoint 12", "checkpoint"),
        ("gc.collect", "garbage collection"),
    ],
)
def test_other_words_for_loading_saving_and_collecting_are_known(name: str, told: str) -> None:
    assert spent(phase(10, 40, name, domain="mine")) == {told: 30, "other": 70}
    assert spent(phase(10, 40, name, domain="NCCL")) == {"other": 100}


def test_the_innermost_range_counts() -> None:
    rows = [phase(10, 90, "forward"), phase(20, 50, "backward"), phase(30, 40, "forward")]
    assert spent(*rows) == {"forward": 60, "backward": 20, "other": 20}


def test_what_crosses_the_edge_of_a_step_is_cut_there() -> None:
    rows = [step(0, 0, 100), step(1, 100, 200), step(2, 200, 300), phase(150, 230, "data loading")]
    steps = only(*rows).steps
    assert steps is not None
    assert [item.phases[Phase.DATA_LOADING] for item in steps.items] == [50, 30]


def test_the_steps_own_thread_counts_before_others() -> None:
    rows = [phase(10, 60, "optimizer"), phase(20, 90, "backward", tid=7)]
    assert spent(*rows) == {"optimizer": 50, "backward": 30, "other": 20}


def test_loading_and_saving_on_another_thread_is_done_in_the_background() -> None:
    rows = [phase(0, 90, "data loading", tid=7), phase(0, 90, "checkpoint", tid=8), phase(20, 30, "forward", tid=7)]
    assert spent(*rows) == {"forward": 10, "other": 90}


def test_a_garbage_collection_on_any_thread_stops_all_of_them() -> None:
    assert spent(phase(10, 60, "backward"), phase(20, 30, "garbage collection", tid=7)) == {
        "backward": 40, "garbage collection": 10, "other": 50,
    }  # fmt: skip


def test_a_range_that_never_ended_or_has_no_length_tells_nothing() -> None:
    assert spent(phase(10, None, "forward"), phase(20, 20, "backward")) == {"other": 100}


def test_ranges_of_another_process_tell_nothing_of_this_one() -> None:
    found = analyze([profile(step(0, 0, 100), step(0, 0, 100, pid=200, tid=200), phase(0, 60, "forward"))]).processes
    assert [one.steps.phases[Phase.FORWARD] for one in found if one.steps] == [60, 0]


rows_of_a_process = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 60), st.sampled_from(IN_ORDER), st.sampled_from([100, 7, 8])),
    max_size=10,
)


@settings(max_examples=60, deadline=None)
@given(rows_of_a_process, st.lists(st.integers(0, 59), min_size=2, max_size=4, unique=True))
def test_phases_are_those_of_a_grid_and_add_up(rows: list[tuple[int, int, str, int]], edges: list[int]) -> None:
    edges = sorted(edges)
    steps = [step(number, *pair) for number, pair in enumerate(pairwise(edges))]
    found = only(*steps, *(phase(a, b, name, tid=tid) for a, b, name, tid in rows if a < b), step_range=(0, 9)).steps
    assert found is not None
    for item in found.items:
        counted = dict.fromkeys(Phase, 0)
        for moment in range(item.start_ns, item.end_ns):
            counted[Phase(told_at(moment, rows))] += 1
        assert item.phases == counted


def told_at(moment: int, rows: list[tuple[int, int, str, int]]) -> str:
    """Return the phase of one nanosecond, by the words of docs/meaning.md."""
    lasting = [(a, -b, name, tid) for a, b, name, tid in rows if a <= moment < b]
    collecting = [row for row in lasting if row[2] == "garbage collection"]
    own = [row for row in lasting if row[3] == 100]
    others = [row for row in lasting if row[3] != 100 and row[2] not in ("data loading", "checkpoint")]
    for candidates in (collecting, own, others):
        if candidates:
            return max(candidates, key=lambda row: (row[0], row[1], IN_ORDER.index(row[2])))[2]
    return "other"


def test_many_ranges_take_a_moment() -> None:
    """100,000 steps of ten ranges: the sums are known, and nothing is done step by step."""
    steps, ranges = 100_000, 10
    starts = [number * 100 for number in range(steps)]
    rows = profile(step(0, 0, 1), phase(0, 1, "forward")).ranges
    table = rows.iloc[[1]].loc[rows.index[[1]].repeat(steps * ranges)].reset_index(drop=True)
    table["start"] = [start + 10 * place for start in starts for place in range(ranges)]
    table["end"] = table["start"] + 4
    found = PhaseRanges(table, step_threads=[process(100) + 100])
    times = found.within(
        process(100), starts=table["start"].to_numpy()[::10], ends=table["start"].to_numpy()[::10] + 100
    )
    assert times.sum(axis=1).tolist() == [
        4_000_000 * (name is Phase.FORWARD) + 6_000_000 * (name is Phase.OTHER) for name in PHASES
    ]


def micro(*texts: str) -> list[int]:
    rows = [phase(100 + 10 * at, 105 + 10 * at, text) for at, text in enumerate(texts)]
    steps = only(step(0, 0, 100), step(1, 100, 200), *rows).steps
    assert steps is not None
    return [item.micro_steps for item in steps.items]


def test_micro_steps_are_counted_where_they_are_told() -> None:
    assert micro() == [1]
    assert micro("micro-step 0", "micro-step 1", "micro-step 2 sync") == [3]
    assert micro("micro-step", "micro-steps 3", "a micro-step 4") == [1]


def test_the_first_step_warms_up_and_open_ones_are_left_out() -> None:
    steps = only(step(0, 0, 70), step(1, 70, 80), step(2, 80, 100), step(3, 100, None)).steps
    assert steps is not None
    assert [(item.name, item.number, item.duration_ns) for item in steps.items] == [
        ("step 1", 1, 10),
        ("step 2", 2, 20),
    ]
    assert (steps.count, steps.dropped, steps.mean_ns, steps.p50_ns, steps.p99_ns) == (2, 2, 15, 15, 20)


def test_only_the_steps_and_the_window_asked_for_count() -> None:
    rows = [step(number, 10 * number, 10 * number + 10) for number in range(6)]
    steps = only(*rows, step_range=(0, 2)).steps
    assert steps is not None
    assert [item.number for item in steps.items] == [0, 1]
    steps = only(*rows, window=(15, 45)).steps
    assert steps is not None
    assert ([item.number for item in steps.items], steps.dropped) == ([2, 3], 4)
    nothing = only(*rows, window=(100, 200))
    assert (nothing.steps, nothing.steps_reason) == (None, "no step is complete inside the window")
    with pytest.raises(InputError, match="no step in 7:9; the steps are 0 to 5"):
        only(*rows, step_range=(7, 9))


STEP_NOTE = (
    'steps are the ranges such as "{}" in {}; {} ranges of another kind could be steps as well and are not counted '
    "(--step-pattern chooses by name)"
)


def steps_and_notes(*rows: N, **options: object) -> tuple[list[str], list[str]]:
    found = analyze([profile(*rows)], settings=Settings(**options))  # type: ignore[arg-type]
    steps = found.processes[0].steps
    assert steps is not None
    return [item.name for item in steps.items], [note for note in found.coverage.notes if "another kind" in note]


def test_the_hooks_steps_count_before_ranges_of_the_training_itself() -> None:
    own = [step(number, 10 * number, 10 * number + 10) for number in range(3)]
    assert steps_and_notes(*own) == (["step 1", "step 2"], [])
    longer = [N(100 * number, 100 * number + 90, f"step {number + 70}") for number in range(3)]
    note = STEP_NOTE.format("step 0", "the NVTX domain gapfinder", 3)
    assert steps_and_notes(*longer, *own) == (["step 1", "step 2"], [note])
    names, _ = steps_and_notes(*longer, *own, step_pattern=r"step 7(?P<number>\d)")
    assert names == ["step 71", "step 72"]


def test_where_the_hook_writes_into_the_default_domain_its_steps_are_told_from_others() -> None:
    own = [N(10 * number, 10 * number + 10, f"step {number}", is_process_wide=True) for number in range(3)]
    inside = [N(10 * number + 1, 10 * number + 9, f"step {number + 1}") for number in range(3)]
    note = STEP_NOTE.format("step 0", "NVTX's default domain", 3)
    assert steps_and_notes(*inside, *own) == (["step 1", "step 2"], [note])


MARK = "rank=3 local_rank=1 world_size=8 host=node-a"


def told(mark: Mark) -> tuple[int | None, int | None, int | None, str | None]:
    found = only(step(0, 0, 10), mark)
    return found.rank, found.local_rank, found.world_size, found.host


def test_a_mark_tells_who_a_process_is() -> None:
    assert told(Mark(0, MARK)) == (3, 1, 8, "node-a")
    assert told(Mark(0, "rank=3 world_size=8")) == (3, None, 8, None)
    assert told(Mark(0, MARK, domain="")) == (3, 1, 8, "node-a")


@pytest.mark.parametrize(
    "mark",
    [
        Mark(0, MARK, domain="mine"),
        Mark(0, "rank=3 world_size=8", domain=""),
        Mark(0, f"{MARK} and more", domain=""),
        Mark(0, f"my {MARK}", domain=""),
        Mark(0, "ranking=3 world_size=8"),
        Mark(0, "rank=9999999999 world_size=8"),
    ],
)
def test_what_others_write_tells_nothing(mark: Mark) -> None:
    assert told(mark) == (None, None, None, None)


def test_the_first_mark_counts() -> None:
    assert only(Mark(5, MARK.replace("rank=3", "rank=4")), Mark(1, MARK)).rank == 3


def test_every_process_with_steps_a_mark_or_a_lane_is_there() -> None:
    rows = [step(0, 0, 10), Mark(0, MARK, pid=200), K(0, 5, pid=300), N(0, 9, "validation", pid=400, tid=400)]
    found = analyze([profile(*rows)]).processes
    assert [(one.pid, one.rank, one.lanes, one.steps is None) for one in found] == [
        (200, 3, (), True), (100, None, (), False), (300, None, (0,), True),
    ]  # fmt: skip
    assert found[2].steps_reason == "no NVTX range of this process matches the step pattern"
    (blind,) = analyze([profile(K(0, 5))]).processes
    assert blind.steps_reason == "no NVTX ranges were captured"


def test_the_same_steps_are_told_of_a_process_with_a_lane() -> None:
    rows = [step(0, 0, 50), step(1, 50, 100), phase(60, 80, "forward")]
    gpu = [K(61, 70, correlation=1), R(60, 61, 1), K(11, 12, correlation=2), R(10, 11, 2)]
    with_lane = only(*rows, *gpu)
    assert with_lane.lanes == (0,)
    assert replace(with_lane, lanes=()) == only(*rows)


def test_several_reports_are_told_in_order_of_rank_else_of_host_and_pid() -> None:
    def mark(rank: int, host: str, pid: int) -> Mark:
        return Mark(0, f"rank={rank} local_rank=0 world_size=9 host={host}", pid=pid)

    reports = [
        profile(mark(2, "b", 7), step(0, 0, 9, pid=3, tid=3), name="b/x.sqlite"),
        profile(mark(0, "a", 9), step(0, 0, 9, pid=2, tid=2), name="a/x.sqlite"),
    ]
    found = analyze(reports).processes
    assert [(one.rank, one.pid, one.file) for one in found] == [
        (0, 9, "a/x.sqlite"), (2, 7, "b/x.sqlite"), (None, 3, "b/x.sqlite"), (None, 2, "a/x.sqlite"),
    ]  # fmt: skip


def test_ranks_that_the_user_tells_are_those_of_the_processes() -> None:
    rows = [K(0, 5, pid=1), K(0, 5, pid=2), Mark(0, MARK, pid=1)]
    found = analyze([profile(*rows)], settings=Settings(ranks=(1, 0)))
    assert [(one.rank, one.pid, one.lanes) for one in found.processes] == [(0, 2, (0,)), (1, 1, (1,))]


def marks(*ranks: int, world_size: int = 4) -> list[Mark]:
    return [Mark(0, f"rank={r} local_rank={r} world_size={world_size} host=a", pid=100 + r) for r in ranks]


def missing(analysis: Analysis) -> list[str]:
    """Return what is noted about the job's size."""
    return [note for note in analysis.coverage.notes if "world size" in note]


def test_nothing_is_missing_where_all_ranks_are_there() -> None:
    assert missing(analyze([profile(*marks(0, 1, 2, 3))])) == []
    assert missing(analyze([profile(*marks(0, 1, 2, 3), *(K(0, 5, pid=100 + r) for r in range(4)))])) == []


def test_p59_ranks_that_are_in_no_report_are_named() -> None:
    assert missing(analyze([profile(*marks(1))])) == ["nothing of ranks 0, 2 to 3 in this report (world size 4)"]
    halves = [profile(*marks(0), name="a"), profile(*marks(3), name="b")]
    assert missing(analyze(halves)) == ["nothing of ranks 1 to 2 in these reports (world size 4)"]
    huge = analyze([profile(*marks(7, world_size=10**9 - 1))])
    assert missing(huge) == ["nothing of ranks 0 to 6, 8 to 999999998 in this report (world size 999999999)"]


def test_p59_ranks_without_gpu_work_are_named_whether_they_left_a_mark_or_not() -> None:
    work = [K(0, 5, pid=100), K(0, 5, device=1, pid=101)]
    assert missing(analyze([profile(*marks(0, 1, 2), *work)])) == [
        "no GPU work of ranks 2 to 3 in this report (world size 4)"
    ]
    chosen = analyze([profile(*marks(0, 1, 2), *work)], settings=Settings(gpus=(0,)))
    assert missing(chosen) == ["no GPU work of ranks 2 to 3 in this report (world size 4)"]
    unmarked = analyze([profile(*marks(0), *work)])
    assert missing(unmarked) == ["no GPU work of 2 ranks in this report (world size 4)"]


def test_the_world_size_is_not_known_where_two_jobs_are() -> None:
    assert analyze([profile(*marks(0, 1))]).world_size == 4
    both = analyze([profile(*marks(0), *marks(1, world_size=2))])
    assert (both.world_size, missing(both)) == (
        None,
        ["reports of several jobs (world sizes 2, 4); analyze each by itself"],
    )
    assert analyze([profile(step(0, 0, 9))]).world_size is None


def test_runs_of_numbers_are_short() -> None:
    assert format_numbers([]) == ""
    assert format_numbers([(0, 0), (3, 7)]) == "0, 3 to 7"
    assert list(runs_of([])) == []
    assert list(runs_of([-2, -1, 0, 3, 5, 6])) == [(-2, 0), (3, 3), (5, 6)]


def test_row_order_changes_nothing() -> None:
    rows = [
        *marks(0), *marks(0, world_size=2), step(0, 0, 100), phase(0, 50, "forward"), phase(0, 50, "backward"),
        phase(0, 50, "optimizer", tid=7), step(1, 100, 200, tid=7), step(1, 100, 200),
    ]  # fmt: skip
    assert analyze([profile(*rows)]) == analyze([profile(*reversed(rows))])
