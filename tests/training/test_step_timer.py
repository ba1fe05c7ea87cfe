"""Step times: what is a step, what is reported, and where it goes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gapfinder.errors import InputError
from gapfinder.training import StepTimer

MS = 1_000_000


class Clock:
    """Tells the times that steps end at."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def run(timer: StepTimer, clock: Clock, durations_ms: list[float]) -> None:
    for duration in durations_ms:
        clock.now += round(duration * MS)
        timer.step_done()


def timed(**options) -> tuple[StepTimer, Clock, list[str]]:
    clock, said = Clock(), []
    return StepTimer(clock=clock, say=said.append, **options), clock, said


def test_nothing_is_said_before_it_is_time():
    timer, clock, said = timed(every=10)
    run(timer, clock, [500, *[10] * 8])
    assert (said, timer.last) == ([], None)


def test_the_first_step_is_warm_up_and_the_others_are_told():
    timer, clock, said = timed(every=4)
    run(timer, clock, [500, 10, 20, 60])
    assert said == ["step 4: mean 30.00 ms, p50 20.00 ms, p99 59.20 ms of 3 steps"]
    assert timer.last.longest_ns == 60 * MS


@pytest.mark.parametrize("steps", [1, 2, 3, 50, 99, 100, 101])
def test_percentiles_are_those_of_the_reports(steps):
    durations = [float(one) for one in np.random.default_rng(steps).integers(1, 1000, steps)]
    timer, clock, _ = timed(every=steps + 1)
    run(timer, clock, [1, *durations])
    expected = np.percentile(np.array(durations) * MS, [50, 99])
    assert (timer.last.p50_ns, timer.last.p99_ns) == tuple(round(one) for one in expected)
    assert timer.last.mean_ns == round(sum(durations) * MS / steps)


def test_each_report_is_about_the_steps_since_the_last():
    timer, clock, said = timed(every=2, first_step=100)
    run(timer, clock, [1, 10, 20, 20, 30, 30])
    assert [line.partition(",")[0] for line in said] == [
        "step 102: mean 10.00 ms",
        "step 104: mean 20.00 ms",
        "step 106: mean 30.00 ms",
    ]


def test_a_pause_is_no_step():
    timer, clock, _ = timed(every=4)
    run(timer, clock, [1, 10])
    timer.pause()
    run(timer, clock, [9999, 10])
    assert (timer.last.steps, timer.last.longest_ns) == (2, 10 * MS)


def test_lines_of_json_by_rank(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "8")
    timer, clock, _ = timed(every=2, path=tmp_path / "new" / "steps.jsonl")
    with timer:
        run(timer, clock, [1, 10, 20, 20, 40])
    lines = [json.loads(line) for line in (tmp_path / "new" / "steps-rank3.jsonl").read_text().splitlines()]
    assert [(line["rank"], line["step"], line["steps"], line["mean_ns"]) for line in lines] == [
        (3, 2, 1, 10 * MS),
        (3, 4, 2, 20 * MS),
        (3, 5, 1, 40 * MS),
    ]
    assert lines[0].keys() == {"rank", "step", "steps", "mean_ns", "p50_ns", "p99_ns", "longest_ns"}


def test_only_the_first_rank_writes_to_stderr(monkeypatch, capsys):
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", "2")
        clock = Clock()
        run(StepTimer(every=2, clock=clock), clock, [1, 10])
    assert capsys.readouterr().err == "step 2: mean 10.00 ms, p50 10.00 ms, p99 10.00 ms of 1 step\n"


def test_a_full_disk_ends_the_file_and_not_the_training(tmp_path):
    (tmp_path / "steps-rank0.jsonl").symlink_to("/dev/full")
    timer, clock, said = timed(every=2, path=tmp_path / "steps.jsonl")
    run(timer, clock, [1, 10, 10, 10])
    assert said[1] == "step times are not kept any more: No space left on device"
    assert len(said) == 3


def test_a_file_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be written"):
        timed(path=tmp_path / "file" / "steps.jsonl")
    with pytest.raises(InputError, match="is never"):
        timed(every=0)
