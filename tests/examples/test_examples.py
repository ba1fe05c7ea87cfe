"""Each example trains in one process and in two, and goes on from its checkpoint with the losses of one never stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES_FOLDER = ROOT / "examples"
EXAMPLES = sorted(EXAMPLES_FOLDER.glob("train_*.py"))
TWO = [path.stem for path in EXAMPLES if path.stem != "train_plain"]
PARTS = ("model", "optimizer", "rng", "sampler", "step")
# a small epoch: 1,024 samples in batches of 128 are 8 steps in one process and 4 in two, so that 10 steps cross one
SMALL = ["--width", "32", "--depth", "2", "--batch", "128", "--log-every", "1", "--save-every", "3"]
STEPS, STOP = 10, 5
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def job(name: str, *options: str, ranks: int = 1) -> dict:
    return {"script": f"{name}.py", "arguments": [*SMALL, *options], "ranks": ranks}


@pytest.fixture(scope="module")
def losses(tmp_path_factory) -> dict[str, dict[int, str]]:
    """What each training printed: all of them run in processes forked from one that has loaded torch."""
    folder = tmp_path_factory.mktemp("examples")
    jobs = {}
    for name in [path.stem for path in EXAMPLES]:
        ranks = 1 if name == "train_plain" else 2
        saved = ["--checkpoint", str(folder / name)]
        jobs[f"{name} whole"] = job(name, "--steps", str(STEPS), ranks=ranks)
        jobs[f"{name} begun"] = job(name, "--steps", str(STOP), *saved, ranks=ranks)
        jobs[f"{name} resumed"] = job(name, "--steps", str(STEPS), *saved, ranks=ranks)
    for name in TWO:
        jobs[f"{name} alone"] = job(name, "--steps", "3")
    jobs["stopped"] = job("train_plain", "--steps", str(STOP), "--checkpoint", str(folder / "stopped"))
    for part in PARTS:
        damaged = ["--checkpoint", str(folder / f"without {part}")]
        spoiled = {"spoil": part, "from": str(folder / "stopped")}
        jobs[f"resumed without {part}"] = job("train_plain", "--steps", str(STEPS), *damaged) | spoiled
    command = [sys.executable, ROOT / "tests" / "forked_examples.py", json.dumps(list(jobs.values()))]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    printed = [read(text) for text in json.loads(done.stdout)]
    return dict(zip(jobs, printed, strict=True))


def read(text: str) -> dict[int, str]:
    lines = [line.split() for line in text.splitlines()]
    assert all(len(line) == 4 for line in lines), text
    return {int(step): loss for _, step, _, loss in lines}


@pytest.mark.parametrize("name", [path.stem for path in EXAMPLES])
def test_a_resumed_training_has_the_losses_of_one_never_stopped(losses, name):
    whole = losses[f"{name} whole"]
    assert list(whole) == list(range(1, STEPS + 1))
    assert len(set(whole.values())) == STEPS
    assert losses[f"{name} begun"] | losses[f"{name} resumed"] == whole
    assert list(losses[f"{name} resumed"]) == list(range(STOP + 1, STEPS + 1))


@pytest.mark.parametrize("name", TWO)
def test_one_process_trains_as_well(losses, name):
    assert list(losses[f"{name} alone"]) == [1, 2, 3]


@pytest.mark.nsys
def test_the_slow_rank_of_two_is_found_by_a_run_under_torchrun(tmp_path):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    training = [EXAMPLES_FOLDER / "train_slow_rank.py", *SMALL, "--save-every", "99", "--steps", "9", "--slow-ms", "80"]
    command = [sys.executable, "-m", "gapfinder", "run", "-o", tmp_path / "run", "--", *torchrun, *training]
    done = subprocess.run(
        command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=150, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("step 9 loss ")]
    analysis = json.loads((tmp_path / "run" / "analysis.json").read_text())
    assert [process["rank"] for process in analysis["processes"]] == [0, 1]
    assert all(process["steps"]["count"] >= 6 for process in analysis["processes"])
    assert [analysis["processes"][slow["process"]]["rank"] for slow in analysis["slow_ranks"]] == [1]
    assert "slow-rank" in {finding["code"] for finding in analysis["findings"]}


def test_readme_tells_of_every_example():
    text = (EXAMPLES_FOLDER / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in EXAMPLES if f"[{path.name}]({path.name}) |" not in text] == []


@pytest.mark.parametrize("part", PARTS)
def test_each_of_the_five_parts_is_needed(losses, part):
    resumed, whole = losses[f"resumed without {part}"], losses["train_plain whole"]
    assert {step: loss for step, loss in resumed.items() if whole.get(step) != loss}
