"""What a training leaves when it fails or is told to end, and that it ends as it would have without the guard."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from gapfinder.errors import InputError
from gapfinder.training import crash_guard

ROOT = Path(__file__).parents[2]
START = """
import ctypes, os, signal, sys, threading, time
from pathlib import Path
from gapfinder.training import crash_guard

class Checkpoint:
    step = 0
    def step_done(self):
        self.step += 1
        return self.step
    def save_hot(self, *, reason, is_continued):
        print("hot", self.step, is_continued, reason, flush=True)
        return Path("hot.pt")
    def wait(self):
        print("waited", flush=True)

def ready():
    print("ready", flush=True)

guard = crash_guard("flight", checkpoint=Checkpoint(), steps=3, grace_s=GRACE)
"""


def start(folder: Path, body: str, *, grace_s: float = 30.0) -> subprocess.Popen:
    script = START.replace("GRACE", str(grace_s)) + textwrap.dedent(body)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process: subprocess.Popen) -> tuple[int, list[str], str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out.splitlines(), err


def terminated(process: subprocess.Popen) -> tuple[int, list[str], str]:
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    return ended(process)


def flight(folder: Path) -> list[dict]:
    (path,) = (folder / "flight").iterdir()
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_training_that_ends_well_leaves_nothing(tmp_path):
    code, out, err = ended(start(tmp_path, "with guard:\n    for _ in range(5): guard.step_done(loss=0.5)"))
    assert (code, out, err) == (0, [], "")
    assert list(tmp_path.iterdir()) == []


FAILING = """
def train():
    with guard:
        for number in range(5):
            guard.step_done(loss=number / 2, note="x")
        raise RuntimeError("loss is nan")
train()
"""


def test_an_exception_leaves_both_and_goes_on(tmp_path):
    code, out, err = ended(start(tmp_path, FAILING))
    assert (code, out) == (1, ["hot 5 False RuntimeError: loss is nan", "waited"])
    assert "Traceback" in err
    last = err.rstrip().splitlines()[-3:]
    assert last[0] == "RuntimeError: loss is nan"
    assert last[1].startswith("gapfinder: flight log in flight/rank0-")
    assert last[2] == "gapfinder: hot checkpoint in hot.pt"
    first, *steps, thread = flight(tmp_path)
    assert (first["reason"], first["rank"], first["world_size"]) == ("RuntimeError: loss is nan", 0, 1)
    assert "in train" in first["traceback"]
    assert [(one["step"], one["loss"], one["note"]) for one in steps] == [(3, 1.0, "x"), (4, 1.5, "x"), (5, 2.0, "x")]
    assert thread["thread"].startswith("MainThread\n")


def test_the_stacks_of_all_threads_are_there(tmp_path):
    body = """
    def waits_for_data(stop=threading.Event()):
        ready()
        stop.wait()
    threading.Thread(target=waits_for_data, name="loader", daemon=True).start()
    time.sleep(0.2)
    with guard:
        raise RuntimeError
    """
    ended(start(tmp_path, body))
    threads = [one["thread"] for one in flight(tmp_path) if "thread" in one]
    assert [one for one in threads if one.startswith("loader\n") and "in waits_for_data" in one]


@pytest.mark.parametrize("failure", ["ValueError('full')", "KeyboardInterrupt()", "SystemExit(0)"])
def test_an_error_of_the_hot_checkpoint_hides_nothing(tmp_path, failure):
    body = f"def fail(**_): raise {failure}\nCheckpoint.save_hot = staticmethod(fail)\n{FAILING}"
    code, out, err = ended(start(tmp_path, body))
    assert (code, out) == (1, [])
    assert err.splitlines()[-3] == "RuntimeError: loss is nan"
    assert f"no hot checkpoint, or not all of it: {failure.partition('(')[0]}" in err
    assert "During handling of the above" not in err
    assert flight(tmp_path)[0]["reason"] == "RuntimeError: loss is nan"


def test_a_flight_log_that_cannot_be_written_goes_to_stderr(tmp_path):
    (tmp_path / "flight").touch()
    code, out, err = ended(start(tmp_path, FAILING))
    assert (code, len(out)) == (1, 2)
    assert "MainThread" in err
    assert "no flight log, flight/rank0-" in err


@pytest.mark.parametrize("code", [0, 7])
def test_an_exit_on_purpose_is_no_crash(tmp_path, code):
    assert ended(start(tmp_path, f"with guard:\n    sys.exit({code})")) == (code, [], "")


LOOP = """
with guard:
    ready()
    while True:
        time.sleep(0.02)
        guard.step_done(loss=1.0)
"""


def test_sigterm_ends_by_itself_when_the_step_has_ended(tmp_path):
    code, out, err = terminated(start(tmp_path, LOOP))
    assert code == -signal.SIGTERM
    (hot, waited) = out
    assert hot.endswith(" True SIGTERM, at the end of a step")
    assert waited == "waited"
    assert "Traceback" not in err
    first, *rest = flight(tmp_path)
    assert first["reason"] == "SIGTERM, at the end of a step"
    assert rest[-2]["step"] == int(hot.split()[1])


HUNG = """
with guard:
    guard.step_done()
    mutex = ctypes.create_string_buffer(64)
    ready()
    ctypes.CDLL(None).pthread_mutex_lock(mutex)
    def waits_for_a_dead_rank():
        ctypes.CDLL(None).pthread_mutex_lock(mutex)
    waits_for_a_dead_rank()
"""


def test_sigterm_ends_a_training_that_hangs_where_python_sees_no_signal(tmp_path):
    began = time.monotonic()
    code, out, _ = terminated(start(tmp_path, HUNG, grace_s=0.5))
    assert code == -signal.SIGTERM
    assert out[0].startswith("hot 1 False SIGTERM, and no step ended in time")
    assert 0.5 < time.monotonic() - began < 30
    assert [one for one in flight(tmp_path) if "in waits_for_a_dead_rank" in one.get("thread", "")]


def test_sigterm_after_the_last_step_still_ends_the_process(tmp_path):
    body = """
    with guard:
        guard.step_done()
        ready()
        while not guard._termination.is_asked: pass
    print("not reached")
    """
    code, out, _ = terminated(start(tmp_path, body))
    assert (code, out) == (-signal.SIGTERM, [])


def test_a_handler_of_the_script_is_run_as_it_would_have_been(tmp_path):
    body = f"""
signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))
{LOOP}
"""
    code, out, _ = terminated(start(tmp_path, body))
    assert (code, len(out)) == (5, 2)


def test_an_ignored_sigterm_stays_ignored(tmp_path):
    body = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with guard:
        ready()
        for _ in range(20):
            time.sleep(0.02)
            guard.step_done()
    """
    code, out, err = terminated(start(tmp_path, body))
    assert (code, out, err) == (0, [], "")


def test_sigterm_to_a_forked_child_is_the_childs_affair(tmp_path):
    body = """
    with guard:
        child = os.fork()
        if not child:
            time.sleep(60)
            os._exit(0)
        time.sleep(0.1)
        os.kill(child, signal.SIGTERM)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        time.sleep(0.5)
        guard.step_done()
    """
    code, out, err = ended(start(tmp_path, body, grace_s=0.1))
    assert (code, out, err) == (0, ["-15"], "")


def test_the_signal_is_left_as_it_was(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    with crash_guard(tmp_path):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
    assert signal.set_wakeup_fd(-1) == -1


def test_without_a_checkpoint_steps_are_counted_and_numbers_kept(tmp_path):
    with crash_guard(tmp_path) as guard:
        assert [guard.step_done(), guard.step_done(loss=1)] == [1, 2]
        with pytest.raises(InputError, match=r"loss is a list; give a number or a text, such as loss.item\(\)"):
            guard.step_done(loss=[1.0])
    assert list(tmp_path.iterdir()) == []
