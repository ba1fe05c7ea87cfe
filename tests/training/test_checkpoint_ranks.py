"""Checkpoints of several ranks (gloo): whole or sharded, damaged on one of them, or of another number of ranks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def run(*jobs: tuple[str, int, Path]) -> list:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(TESTS.parent)}
    told = json.dumps([{"task": task, "ranks": ranks, "folder": str(folder)} for task, ranks, folder in jobs])
    command = [sys.executable, TESTS / "rank_tasks.py", told]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> dict:
    folder = tmp_path_factory.mktemp("ranks")
    jobs = {
        "whole": ("whole", 2, folder / "never stopped"),
        "begun": ("begun", 2, folder / "whole"),
        "sharded": ("sharded_whole", 2, folder / "sharded, never stopped"),
        "sharded begun": ("sharded_begun", 2, folder / "sharded"),
        "damage": ("damage", 0, folder),
        "resumed": ("resumed", 2, folder / "whole"),
        "damaged": ("resumed", 2, folder / "damaged"),
        "sharded resumed": ("sharded_resumed", 2, folder / "sharded"),
        "sharded damaged": ("sharded_resumed", 2, folder / "sharded damaged"),
        "refused": ("resumed", 3, folder / "refused"),
        "sharded refused": ("sharded_resumed", 1, folder / "sharded refused"),
        "more": ("reseeded", 3, folder / "more"),
        "fewer": ("reseeded", 1, folder / "fewer"),
        "full": ("full_on_rank_1", 2, folder / "full"),
        "both hot": ("both_hot", 2, folder / "both hot"),
        "after both": ("resumed", 2, folder / "both hot"),
        "one hot": ("one_hot", 2, folder / "one hot"),
        "after one": ("resumed", 2, folder / "one hot"),
        "checked": ("checked", 2, folder),
    }
    return dict(zip(jobs, run(*jobs.values()), strict=True))


KINDS = [("whole", "resumed"), ("sharded", "sharded resumed")]


@pytest.mark.parametrize(("whole", "resumed"), KINDS)
def test_both_ranks_go_on_with_the_losses_of_a_training_never_stopped(told, whole, resumed):
    for one, other in zip(told[whole], told[resumed], strict=True):
        assert (other["start"], other["damaged"]) == (6, [])
        assert len(set(one["losses"])) == 12
        assert (other["losses"], other["weight"]) == (one["losses"][6:], one["weight"])
    assert told[whole][0]["losses"] != told[whole][1]["losses"]
    assert (told[whole][0]["weight"] == told[whole][1]["weight"]) is (whole == "whole")


@pytest.mark.parametrize(("whole", "damaged"), [("whole", "damaged"), ("sharded", "sharded damaged")])
def test_a_part_that_is_damaged_on_one_rank_sends_all_to_the_one_before(told, whole, damaged):
    for one, other in zip(told[whole], told[damaged], strict=True):
        assert other["start"] == 4
        assert other["damaged"][0].startswith("step-000000006: rank 1: rank1.pt has ")
        assert other["losses"] == one["losses"][4:]


def test_another_number_of_ranks_is_refused(told):
    for one in told["refused"]:
        assert "2 ranks and there are 3 now: start with 2, or let it go on with new random numbers" in one["error"]
    (one,) = told["sharded refused"]
    assert one["error"].endswith("2 ranks and there are 1 now: shards fit only as many ranks as before; start with 2")


@pytest.mark.parametrize("name", ["more", "fewer"])
def test_or_goes_on_with_the_samples_that_are_left_when_it_is_allowed(told, name):
    begun = [one["seen"] for one in told["resumed"]]
    assert {one["start"] for one in told[name]} == {6}
    rest = [sample for one in told[name] for sample in one["rest"]]
    # an epoch of 48: two ranks had 6 batches of 3 each
    assert len(rest) == len(set(rest)) == 48 - 2 * 6 * 3
    assert set(begun[0][:6] + begun[1][:6]) == set(rest)
    assert len({one["draw"] for one in told[name]}) == len(told[name])
    assert len({str(one["weight"]) for one in told[name]}) == 1


def test_a_full_disk_of_one_rank_is_an_error_of_it_and_of_the_first(told):
    first, second = (one["error"] for one in told["full"])
    assert "rank 1 failed to write its part" in first
    assert "File too large" in second


def test_what_all_ranks_left_at_the_end_of_a_step_is_gone_on_from(told):
    assert {one["start"] for one in told["after both"]} == {5}
    assert {one["start"] for one in told["after one"]} == {4}
    for one, other in zip(told["whole"], told["after both"], strict=True):
        assert other["losses"] == one["losses"][5:]


def test_a_self_check_tells_all_ranks_the_same(told):
    first, second = told["checked"]
    assert first["ranks"] == second["ranks"]
    assert [one["rank"] for one in first["ranks"]] == [0, 1]
    assert (first["own"], second["own"]) == (0, 1)
    assert first["refused"] == second["refused"]
    assert "torch differs: " in first["refused"]
    assert "2.0.0 on rank 1" in first["refused"]
