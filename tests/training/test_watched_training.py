"""Trainings that a watch sees: what their streams hold, and that marks come and go with the switch."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from training_runs import SCENARIOS, STUB, outline, run_training

from gapfinder.errors import InputError
from gapfinder.training.environment import CaptureWindow, hook_environment
from gapfinder.training.startup._gapfinder_hook.place import Place
from gapfinder.training.startup._gapfinder_hook.step_stream import StepStream, map_switch
from gapfinder.training.step_stream import MarkSwitch, StepReader

_STEP = "forward( ) backward( ) optimizer( )"
_TRAINING = """
import os, sys, time, torch
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
steps, turns = int(sys.argv[1]), dict(zip(map(int, sys.argv[3::2]), sys.argv[4::2]))
for number in range(steps):
    loss = net(torch.ones(2, 4)).sum()
    if number in turns:  # in the middle of a step
        with open(sys.argv[2], "r+b") as file:
            file.write(bytes([turns[number] == "on"]))
    loss.register_hook(lambda _: time.sleep(0.02))
    loss.backward()
    time.sleep(0.005)
    optimizer.step()
sys.exit(5)
"""


@pytest.fixture
def watch(tmp_path):
    folder = tmp_path / "watch"
    folder.mkdir()
    MarkSwitch(folder).make()
    return folder


def test_marks_begin_and_end_with_steps(tmp_path, watch):
    turns = (2, "on", 4, "off", 17, "on", 20, "off")
    run = run_training(tmp_path, "-c", _TRAINING, "24", watch / "marks", *map(str, turns), watch=watch, is_forked=True)
    assert (run.code, run.stderr) == (5, "")
    first = "<micro-step 0 forward( ) backward( ) micro-step 0> optimizer( )"
    assert outline(run.calls) == (
        f"gapfinder( ) <gapfinder gapfinder> <step 3 {first} step 3> <step 4 {_STEP} step 4> "
        f"<step 18 {first} step 18> <step 19 {_STEP} step 19> <step 20 {_STEP} step 20>"
    )
    marks = [call["value"] for call in run.calls if call["kind"] == "mark"]
    assert marks == [f"rank=0 local_rank=0 world_size=1 host={os.uname().nodename}"] * 5
    (one,) = StepReader(watch).poll()
    assert (one.total, one.missed, one.rank, one.world_size) == (24, 0, 0, 1)
    assert (one.pid, run.statuses[0].steps) == (run.statuses[0].pid, 24)
    assert [step.number for step in one.steps] == list(range(24))
    assert one.steps[0].duration_ns is None
    for step in one.steps[1:]:
        assert step.duration_ns - step.apart_ns > 20_000_000  # in backward, marked or not
        assert step.apart_ns > 5_000_000


_IN_BACKWARD = """
import sys, torch
net = torch.nn.Linear(4, 1)
optimizers = {weight: torch.optim.SGD([weight], lr=0.1) for weight in net.parameters()}
for weight in net.parameters():
    weight.register_post_accumulate_grad_hook(lambda weight: optimizers[weight].step())
for number in range(8):
    loss = net(torch.ones(2, 4)).sum()
    if number in (1, 5):
        with open(sys.argv[1], "r+b") as file:
            file.write(bytes([number == 1]))
    loss.backward()
"""


def test_steps_that_end_inside_a_backward_pass(tmp_path, watch):
    run = run_training(tmp_path, "-c", _IN_BACKWARD, watch / "marks", watch=watch, is_forked=True)
    assert (run.code, run.stderr) == (0, "")
    (one,) = StepReader(watch).poll()
    assert (one.total, run.statuses[0].steps) == (8, 8)
    steps = "optimizer( ) optimizer( )"
    later = [f"step {number}> <step {number + 1} ) forward( ) backward( {steps}" for number in (2, 3, 4)]
    assert outline(run.calls) == (
        f"gapfinder( ) <gapfinder gapfinder> <step 2 <micro-step 0 forward( ) backward( micro-step 0> {steps} "
        f"{' '.join(later)} step 5> )"
    )


def test_loops_of_all_kinds_have_the_steps_that_would_be_marked(tmp_path, watch):
    """As in test_marks: 25 steps, and a child that is forked and leaves no stream."""
    run = run_training(tmp_path, SCENARIOS / "loops.py", watch=watch, is_forked=True)
    assert (run.code, run.stderr) == (0, "")
    (one,) = StepReader(watch).poll()
    assert one.total == 25
    assert not [call for call in run.calls if call["kind"] == "mark"]


def test_told_steps_are_timed(tmp_path, watch):
    root = SCENARIOS.parents[2]
    run = run_training(tmp_path, SCENARIOS / "told_steps.py", watch=watch, path=(root,), is_forked=True)
    assert (run.code, run.stderr) == (0, "")
    (one,) = StepReader(watch).poll()
    assert (one.total, run.statuses[0].steps) == (8, 8)


def test_workers_of_a_loader_leave_no_stream(tmp_path, watch):
    run = run_training(tmp_path, SCENARIOS / "workers.py", watch=watch, is_forked=True)
    assert (run.code, run.stderr) == (3, "")
    (one,) = StepReader(watch).poll()
    assert (one.total, one.pid) == (4, run.statuses[0].pid)


def test_each_process_has_its_stream_and_the_rank_of_its_group(tmp_path, watch):
    run = run_training(tmp_path, SCENARIOS / "spawned.py", tmp_path / "store", watch=watch, is_forked=True)
    assert run.code == 0, run.stderr
    assert [(one.rank, one.world_size, one.total) for one in StepReader(watch).poll()] == [(0, 2, 4), (1, 2, 4)]


def test_compiled_training_is_compiled_as_without_the_hook(tmp_path, watch):
    run = run_training(tmp_path, SCENARIOS / "compiled.py", watch=watch, is_forked=True)
    assert run.code == 0, run.stderr
    assert run.stdout.splitlines() == ["3", "2 0", "Call to `torch._dynamo.graph_break()`"]
    (one,) = StepReader(watch).poll()
    assert one.total == 5


def test_a_folder_that_is_missing_harms_nothing(tmp_path, watch):
    gone = tmp_path / "gone"
    run = run_training(tmp_path, "-c", _TRAINING, "4", "-", watch=gone, is_forked=True)
    assert (run.code, run.statuses[0].steps, run.statuses[0].trouble) == (5, 4, None)
    assert outline(run.calls) == "gapfinder( ) <gapfinder gapfinder>"
    assert run.stderr.startswith("gapfinder: step times are not kept: FileNotFoundError: ")
    assert run.stderr.count("\n") == 1
    assert not gone.exists()


@pytest.mark.parametrize("kind", ["missing", "file", "read-only", "full"])
def test_a_folder_that_does_not_do_leaves_nothing_open(tmp_path, monkeypatch, kind):
    folder = tmp_path / "watch"
    expected = {"missing": FileNotFoundError, "file": NotADirectoryError, "read-only": PermissionError, "full": OSError}
    if kind == "file":
        folder.write_text("")
    elif kind != "missing":
        folder.mkdir()
    if kind == "read-only":  # root may write everywhere
        monkeypatch.setattr("os.open", _raising(PermissionError(13, "Permission denied")))
    elif kind == "full":
        monkeypatch.setattr("os.posix_fallocate", _raising(OSError(28, "No space left on device")))
    before = _count(Path("/proc/self/fd"))
    with pytest.raises(expected[kind]):
        StepStream(str(folder), place=Place(0, 1, 0, is_final=False), now_ns=0)
    assert _count(Path("/proc/self/fd")) == before
    assert not folder.is_dir() or _count(folder) == 0


def _count(folder):
    return len(list(folder.iterdir()))


def _raising(error):
    def raises(*_):
        raise error

    return raises


@pytest.mark.parametrize("kind", ["missing", "empty", "folder"])
def test_a_switch_that_does_not_do_is_none(tmp_path, kind):
    if kind == "empty":
        (tmp_path / "marks").write_bytes(b"")
    elif kind == "folder":
        (tmp_path / "marks").mkdir()
    with pytest.raises((OSError, ValueError)):
        map_switch(str(tmp_path))


def test_steps_are_timed_where_nothing_can_mark(tmp_path, watch):
    run = run_training(
        tmp_path, "-c", _TRAINING, "6", watch / "marks", "1", "on", watch=watch, is_forked=True, NVTX_FAILS_AT="forward"
    )
    assert run.code == 5
    assert run.stderr == "gapfinder: training is not marked: ValueError: stand-in fails\n"
    (one,) = StepReader(watch).poll()
    assert (one.total, run.statuses[0].steps) == (6, 6)


def test_what_a_killed_training_wrote_stays(tmp_path, watch):
    environment = os.environ | {"PYTHONPATH": str(STUB), "NVTX_LOG": str(tmp_path / "log"), "OMP_NUM_THREADS": "1"}
    environment |= hook_environment(window=None, watch_folder=watch, status_folder=tmp_path, environment=environment)
    training = subprocess.Popen([sys.executable, "-c", _TRAINING, "9999", str(watch / "marks")], env=environment)
    reader, seen = StepReader(watch), []
    deadline = time.monotonic() + 100
    while len(seen) < 20:
        assert time.monotonic() < deadline
        time.sleep(0.02)
        seen += [step.number for one in reader.poll() for step in one.steps]
    training.send_signal(signal.SIGKILL)
    assert training.wait() == -signal.SIGKILL
    (one,) = reader.poll()
    seen += [step.number for step in one.steps]
    assert seen == list(range(one.total))
    (again,) = StepReader(watch).poll()
    assert (len(again.steps), again.total, again.missed) == (one.total, one.total, 0)


def test_a_watch_has_no_window(tmp_path):
    with pytest.raises(InputError, match="no window"):
        hook_environment(window=CaptureWindow(), watch_folder=tmp_path, status_folder=tmp_path, environment={})
