"""Which captures a watch takes, and what is left of one that fails: with nsys, its analysis and the clock stood in for."""

from __future__ import annotations

from pathlib import Path

import pytest
from captures_stood_in import STEP, Ended, Watch, hanging

from gapfinder.capture.proc import is_alive
from gapfinder.watch.examine import REPORT
from gapfinder.watch.model import CaptureState, TriggerKind
from gapfinder.watch.rules import Rules

STALL = Rules(healthy_at=None, stall_factor=5.0, stall_least_ns=2_000_000_000)


@pytest.fixture
def begin(tmp_path, monkeypatch):
    def begin(rules: Rules, **policy) -> Watch:
        return Watch(tmp_path, monkeypatch, rules=rules, **policy)

    return begin


DONE, FAILED = CaptureState.DONE, CaptureState.FAILED


def test_a_slow_step_is_no_stall(begin):
    watch = begin(STALL).train(20).wait(1.5).train(5)
    assert (watch.taken, watch.told) == ([], [])


def test_a_stall_is_captured_by_time_and_once_until_steps_go_on(begin):
    watch = begin(STALL, cool_down_ns=1_000_000_000).train(20).wait(10)
    assert watch.taken == [(TriggerKind.STALL, CaptureState.CAPTURING)]
    assert watch.are_marks_on
    assert watch.told == ["step 399: no step has ended for 2.000 s; 99 % of them take up to 50.00 ms; capture 1 begins"]
    watch.wait(20)
    (record,) = watch.captures.records
    assert (record.state, record.trigger.kind, record.first_step) == (DONE, TriggerKind.STALL, None)
    assert watch.told[1:] == ["capture 1: found"]
    assert not watch.are_marks_on
    watch.wait(60)
    assert len(watch.taken) == 1
    watch.train(10).wait(40)
    assert watch.taken == [(TriggerKind.STALL, DONE)] * 2


def test_a_capture_of_a_stall_ends_when_steps_go_on(begin):
    watch = begin(STALL).train(20).wait(4).train(2)
    (record,) = watch.captures.records
    assert (record.trigger.kind, record.state) == (TriggerKind.STALL, DONE)
    assert record.end_step - record.first_step >= 5
    assert watch.session.commands == ["start", "stop"]


def test_a_stall_in_the_cool_down_is_captured_after_it_if_it_lasts(begin):
    rules = Rules(healthy_at=None, at_steps=(200,), stall_least_ns=2_000_000_000)
    watch = begin(rules, cool_down_ns=30_000_000_000).train(15).wait(20)
    assert watch.taken == [(TriggerKind.STEP, DONE)]
    (refusal,) = watch.refusals()
    assert refusal.startswith("step 299: no step has ended for 2.000 s; 99 % of them take up to 50.00 ms; no capture: ")
    assert refusal.endswith(" ago, and 30.00 s lie between two")
    watch.wait(40)
    assert watch.taken == [(TriggerKind.STEP, DONE), (TriggerKind.STALL, DONE)]


def test_a_second_fault_in_the_cool_down_is_captured_after_it(begin):
    rules = Rules(healthy_at=100)
    watch = begin(rules, cool_down_ns=60_000_000_000).train(20)
    assert watch.taken == [(TriggerKind.HEALTHY, DONE)]
    assert watch.refusals() == []
    watch.train(30, step_ns=2 * STEP)
    assert watch.taken == [(TriggerKind.HEALTHY, DONE)]
    assert len(watch.refusals()) == 1
    watch.train(40, step_ns=2 * STEP)
    assert watch.taken == [(TriggerKind.HEALTHY, DONE), (TriggerKind.DRIFT, DONE)]
    assert len(watch.refusals()) == 1


def test_the_healthy_capture_is_taken_after_a_cool_down_in_which_it_was_due(begin):
    watch = begin(Rules(healthy_at=300, at_steps=(200,)), cool_down_ns=30_000_000_000).train(25)
    assert watch.taken == [(TriggerKind.STEP, DONE)]
    assert watch.train(30).taken == [(TriggerKind.STEP, DONE), (TriggerKind.HEALTHY, DONE)]


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ({"most_captures": 1}, "no capture: this watch has taken 1 capture, its most"),
        ({"most_bytes": 3_000}, "no capture: those of this watch fill 3.000 kB, and may fill 3.000 kB"),
    ],
)
def test_with_the_budget_spent_nothing_is_captured_and_it_is_said_once(begin, policy, why):
    watch = begin(Rules(healthy_at=100), cool_down_ns=100_000_000, **policy)
    watch.session.report_bytes = 3_000
    watch.train(20)
    assert watch.taken == [(TriggerKind.HEALTHY, DONE)]
    assert watch.refusals() == []
    watch.train(120, step_ns=2 * STEP)
    assert len(watch.taken) == 1
    (refusal,) = watch.refusals()
    assert refusal.endswith(f"; {why}")
    watch.judge.ask()
    watch.train(10, step_ns=2 * STEP)
    is_bound_by_disk = "most_bytes" in policy
    assert len(watch.taken) == (1 if is_bound_by_disk else 2)


def test_an_analysis_that_ends_well_leaves_nothing_running(begin):
    watch = begin(Rules(healthy_at=100)).train(20)
    (record,) = watch.captures.records
    assert (record.state, record.headline, record.trouble) == (DONE, "found", None)


@pytest.mark.parametrize(("code", "words"), [(3, "failed with exit code 3"), (-9, "was ended by SIGKILL")])
def test_a_failed_analysis_leaves_the_report_and_says_how_to_go_on(begin, tmp_path, code, words):
    watch = begin(Rules(healthy_at=100))
    watch.analysis = Ended(code)
    watch.train(20)
    (record,) = watch.captures.records
    assert (record.state, record.headline) == (FAILED, None)
    assert record.end_step - record.first_step >= 5
    assert record.trouble == (
        f"the analysis {words}; watch.log may say why, and `gapfinder analyze captures/001/report.nsys-rep` tries again"
    )
    assert (tmp_path / record.folder / REPORT).is_file()
    assert watch.told[-1] == f"capture 1 failed: {record.trouble}"
    assert len(watch.train(20).taken) == 1


def test_an_analysis_that_takes_too_long_is_ended_with_all_that_it_started(begin):
    watch = begin(Rules(healthy_at=100))
    watch.analysis = hanging()
    watch.train(20)
    (child,) = Path(f"/proc/{watch.analysis.pid}/task/{watch.analysis.pid}/children").read_text().split()
    assert watch.taken == [(TriggerKind.HEALTHY, CaptureState.ANALYSING)]
    watch.wait(1_801)
    (record,) = watch.captures.records
    assert record.trouble.startswith("the analysis took longer than 1,800.0 s; watch.log may say why")
    assert watch.analysis.returncode == -9
    assert not is_alive(int(child))


def test_an_analysis_that_is_given_up_is_ended_with_all_that_it_started(begin):
    watch = begin(Rules(healthy_at=100))
    watch.analysis = hanging()
    watch.train(20).captures.give_up()
    assert watch.analysis.returncode == -9
    assert watch.captures.records[0].state is CaptureState.ANALYSING
    watch.train(1)
    assert watch.captures.records[0].trouble == "it was given up"


@pytest.mark.parametrize("command", ["start", "stop"])
def test_a_fault_without_a_report_is_captured_later(begin, command):
    watch = begin(Rules(healthy_at=None), cool_down_ns=20_000_000_000).train(20)
    watch.session.ends = {command: Ended(1)}
    watch.session.report_bytes = 0
    watch.train(20, step_ns=2 * STEP)
    assert watch.taken == [(TriggerKind.DRIFT, FAILED)]
    assert not watch.are_marks_on
    (record,) = watch.captures.records
    assert record.trouble == f"nsys {command} failed with exit code 1; nsys said last: the agent said no"
    assert ("cancel" in watch.session.commands) == (command == "start")
    watch.session.ends, watch.session.report_bytes = {}, 10
    watch.train(60, step_ns=2 * STEP)
    assert watch.taken == [(TriggerKind.DRIFT, FAILED), (TriggerKind.DRIFT, DONE)]


def test_a_start_that_hangs_is_ended_and_taken_back(begin):
    watch = begin(Rules(healthy_at=None, at_steps=(100,)))
    watch.session.ends = {"start": hanging()}
    watch.train(120)
    assert watch.taken == [(TriggerKind.STEP, FAILED)]
    assert watch.captures.records[0].trouble.startswith("nsys start took longer than 60.00 s; ")
    assert watch.session.ends["start"].returncode == -9
    assert watch.session.commands == ["start", "cancel"]


def test_without_nsys_nothing_is_asked_of_it(begin):
    watch = begin(Rules(healthy_at=100))
    watch.session.is_alive = False
    assert watch.train(20).taken == []
    assert watch.session.commands == []
