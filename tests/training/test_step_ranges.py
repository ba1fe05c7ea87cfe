"""Steps that the script tells: its own ranges alone, the hook's ranges where the hook is there, and never both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from training_runs import SCENARIOS, STUB, calls_in, outline, run_training

ROOT = Path(__file__).parents[2]
SCENARIO = SCENARIOS / "told_steps.py"
_BARE = "forward( ) backward( ) optimizer( )"
_PASSES = "<micro-step 0 forward( ) backward( ) micro-step 0> optimizer( )"


@pytest.fixture(scope="module")
def hooked(tmp_path_factory):
    return run_training(tmp_path_factory.mktemp("hooked"), SCENARIO, path=(ROOT,))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    log = tmp_path_factory.mktemp("alone") / "calls"
    path = os.pathsep.join(map(str, (ROOT, STUB)))
    environment = {**os.environ, "PYTHONPATH": path, "NVTX_LOG": str(log), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, SCENARIO], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return calls_in(log)


ALONE = {
    "one each": "<step 0 step 0> <step 1 step 1>",
    "two at once": "<step 2 step 2>",
    "none": "<step 3 step 3>",
    "nested": "<step 4 step 4>",
    "decorator": "<step 5 step 5> <step 6 step 6>",
    "raising": "<step 7 step 7>",
    "numbered": "<step 8000 step 8000>",
}


@pytest.mark.parametrize("name", ALONE)
def test_without_the_hook_the_script_marks_its_steps(alone, name):
    calls = section(alone, name)
    assert outline(calls).removeprefix("gapfinder( ) <gapfinder gapfinder> ") == ALONE[name]
    marks = [call["value"] for call in calls if call["kind"] == "mark"]
    assert marks == [f"rank=0 local_rank=0 world_size=1 host={os.uname().nodename}"] * ALONE[name].count("<")
    assert {call["domain"] for call in calls} == {"gapfinder"}


def section(calls, name):
    starts = [at for at, call in enumerate(calls) if call["kind"] == "section"]
    begin = next(at for at in starts if calls[at]["value"] == name)
    return calls[begin + 1 : next(at for at in starts if at > begin)]


# In each, the step of the section before is still open, and the last one stays so. Micro-steps have no ranges from step 1,
# as step 0 has only one, to the second pass in "two at once".
HOOKED = {
    "one each": f"gapfinder( ) <gapfinder gapfinder> <step 0 {_PASSES} step 0> <step 1 {_BARE} step 1> <step 2",
    "two at once": f"{_BARE} <micro-step 1 forward( ) backward( ) micro-step 1> optimizer( ) <step 3",
    "none": "<micro-step 0 forward( ) micro-step 0> <step 4",
    "nested": f"{_PASSES} <step 5",
    "decorator": f"{_PASSES} <step 6 {_PASSES} step 6> <step 7",
    "raising": "<micro-step 0 forward( )",
    "numbered": f"{_BARE} <step 8",
}


@pytest.mark.parametrize("name", HOOKED)
def test_under_the_hook_each_step_is_marked_once_by_the_hook(hooked, name):
    assert (hooked.code, hooked.stderr, hooked.stdout) == (0, "", "done\n")
    drawn = outline(hooked.section(name))
    assert drawn == HOOKED[name]


def test_the_hook_counts_the_steps_that_the_script_told_and_ended(hooked):
    (status,) = hooked.statuses
    assert (status.steps, status.trouble) == (8, None)
