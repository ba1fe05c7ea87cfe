"""A training that torch's elastic agent starts again, under a watch: it goes on as if nobody had stopped it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from watched_stand_ins import Stage, make_quick
from watched_trainings import surroundings

from gapfinder.watch.following import FollowedRecord
from gapfinder.watch.rules import Rules

pytest.importorskip("torch", reason="torch is not installed")

LAUNCHER = Path(__file__).parents[1] / "elastic_training.py"
STEPS, SAVED_EVERY, FAILS_AFTER = 30, 10, 15


def test_a_restarted_training_resumes_ends_with_0_and_is_told_as_restarted(tmp_path, monkeypatch):
    make_quick(monkeypatch)
    # each worker attaches the hook, and not the launcher, from which it is forked
    environment = {**surroundings(), "GAPFINDER_HOOK": "off", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    options = f"--steps {STEPS} --save-every {SAVED_EVERY} --log-every 1 --width 16 --depth 1"
    stage = Stage(
        place=tmp_path,
        reports=(),
        training=(sys.executable, str(LAUNCHER), str(tmp_path), str(FAILS_AFTER), *options.split()),
    )
    watched = stage.watch(rules=Rules(healthy_at=None))
    assert watched.exit_code == watched.state.training_exit_code == 0

    whole, broken = losses(tmp_path / "whole.txt"), losses(tmp_path / "broken.txt")
    assert [step for step, _ in whole] == list(range(1, STEPS + 1))
    resumed = [step for step, _ in broken].index(SAVED_EVERY + 1, FAILS_AFTER)
    assert broken[:resumed] == whole[: broken[resumed - 1][0]]
    assert broken[resumed:] == whole[SAVED_EVERY:]

    (told,) = [event.text for event in FollowedRecord(watched.folder).read("").events]
    assert told in stage.told
    restart = re.match(r"the training was started again \(restart 1\), after (\d+) steps: ", told)
    assert restart is not None
    assert int(restart[1]) <= FAILS_AFTER  # rank 1 took its last 50 ms with it


def losses(output: Path) -> list[tuple[int, str]]:
    """The printed loss of each step, in the order in which they were."""
    return [
        (int(step), loss) for step, loss in re.findall(r"^step (\d+) loss (\S+)$", output.read_text(), re.MULTILINE)
    ]
