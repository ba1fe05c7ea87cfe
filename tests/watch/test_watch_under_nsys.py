"""A watch under the real nsys: whatever ends, the training keeps its output, its signals and its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from watched_trainings import surroundings, wait_for, watching

from gapfinder.capture.proc import is_alive
from gapfinder.watch.model import CaptureState, TriggerKind

pytestmark = [pytest.mark.nsys, pytest.mark.slow]


def ask(folder: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "gapfinder", "capture-now", str(folder)]
    return subprocess.run(words, env=surroundings(), check=False, capture_output=True, text=True, timeout=60)


def test_output_and_exit_code_are_the_trainings_own_and_nsys_leaves_nothing(tmp_path):
    with watching(tmp_path) as watch:
        wait_for(watch.has_started)
        assert watch.agents()
        watch.go()
        code, out, err = watch.end()
    assert code == 7
    assert out.startswith("training\ntrained\n")
    assert "No captures" in out
    assert watch.state().training_exit_code == 7
    assert watch.state().ended_at is not None
    assert not watch.agents()
    assert err == f"Wrote {watch.folder}\n"


@pytest.mark.parametrize(("sent", "expected"), [(signal.SIGTERM, 33), (signal.SIGINT, 34)])
def test_signals_reach_the_training(tmp_path, sent, expected):
    with watching(tmp_path) as watch:
        wait_for(watch.has_started)
        watch.process.send_signal(sent)
        code, _, err = watch.end()
    assert code == expected
    assert f"{sent.name} sent to the training" in err


def test_a_training_that_a_signal_ends_has_its_number_and_128(tmp_path):
    with watching(tmp_path) as watch:
        wait_for(watch.has_started)
        os.kill(watch.training_pid, signal.SIGKILL)
        code, _, _ = watch.end()
    assert code == 128 + signal.SIGKILL


@pytest.mark.parametrize("is_capturing", [False, True])
def test_a_killed_nsys_session_leaves_the_training_alone(tmp_path, is_capturing):
    with watching(tmp_path) as watch:
        wait_for(watch.has_started)
        if is_capturing:
            assert ask(watch.folder).returncode == 0
            wait_for(lambda: watch.state().captures)
            wait_for(lambda: "Collection" in sessions())
        for agent in watch.agents():
            os.kill(agent, signal.SIGKILL)
        wait_for(lambda: any("nsys has ended" in event.text for event in watch.record().events))
        assert is_alive(watch.training_pid)
        watch.go()
        code, out, _ = watch.end()
    assert (code, "trained" in out) == (7, True)
    assert [capture.state for capture in watch.state().captures] == [CaptureState.FAILED] * is_capturing


def test_a_killed_watch_leaves_the_training_alone_and_takes_nsys_along(tmp_path):
    with watching(tmp_path) as watch:
        wait_for(watch.has_started)
        watch.process.kill()
        watch.process.wait()
        wait_for(lambda: not watch.agents())
        assert is_alive(watch.training_pid)
        watch.go()
        wait_for(lambda: not is_alive(watch.training_pid))
        assert watch.process.stdout is not None
        assert watch.process.stdout.read() == "training\ntrained\n"
    assert (tmp_path / "exit_code").read_text() == "7"


def test_two_watches_on_one_machine_capture_each_its_own(tmp_path):
    with watching(tmp_path / "one") as one, watching(tmp_path / "two") as two:
        for watch in (one, two):
            wait_for(watch.has_started)
            assert ask(watch.folder).returncode == 0
        for watch in (one, two):
            wait_for(lambda watch=watch: watch.state().captures)
            watch.go()
            wait_for(lambda watch=watch: watch.state().captures[0].state is not CaptureState.CAPTURING)
            watch.process.send_signal(signal.SIGINT)  # the training has ended: it gives the analysis up
            assert watch.end()[0] == 7
    for watch in (one, two):
        (capture,) = watch.state().captures
        assert capture.trigger.kind is TriggerKind.ASKED
        assert capture.trouble == "it was given up"
        assert (watch.folder / capture.folder / "report.nsys-rep").stat().st_size > 0
    assert ask(tmp_path / "one").returncode == 2


def sessions() -> str:
    done = subprocess.run(["nsys", "sessions", "list"], check=False, capture_output=True, text=True, timeout=60)
    return done.stdout
