"""A training killed at any moment of saving goes on, started again, with the losses of one that nobody stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def steps(text: str) -> list[tuple[str, str]]:
    return [tuple(line.split()) for line in text.splitlines() if not line.startswith("resumed")]


KILLS = {"at_once": 30, "background": 20}


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(TESTS.parent)}
    jobs = [f"{how}={kills}" for how, kills in KILLS.items()]
    command = [sys.executable, TESTS / "killed_trainings.py", tmp_path_factory.mktemp("killed"), *jobs]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("how", KILLS)
def test_every_restart_goes_on_to_the_last_bit(trainings, how):
    told, kills = trainings[how], KILLS[how]
    whole = dict(steps(told["whole"]))
    assert list(whole) == [str(number) for number in range(1, 2 * kills + 1)]
    assert len(set(whole.values())) == 2 * kills
    repeated = steps(told["broken"])
    assert {step: loss for step, loss in repeated if whole[step] != loss} == {}
    assert {step for step, _ in repeated} == whole.keys()


@pytest.mark.parametrize("how", KILLS)
def test_every_kill_hits_a_save_and_loses_no_whole_checkpoint(trainings, how):
    told, kills = trainings[how], KILLS[how]
    assert told["codes"] == [-signal.SIGKILL] * kills + [0]
    assert {"fsync", "open", "os.remove", "os.rename", "os.rmdir"} <= set(told["killed_before"])
    starts = [line.split()[1:] for line in told["broken"].splitlines() if line.startswith("resumed")]
    assert len(starts) == kills + 1
    assert sorted(int(step) for step, _ in starts) == [int(step) for step, _ in starts]
    assert {damaged for _, damaged in starts} == {"0"}
    last, before = f"step-{2 * kills:09}", f"step-{2 * kills - 1:09}"
    assert told["left"] == [".lock", "losses", "operations", before, last]
