"""Each example trains in one process and in two, and goes on from its checkpoint with the losses of one never stopped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from documents import SPELLED, words

ROOT = Path(__file__).parents[2]
EXAMPLES_FOLDER = ROOT / "examples"
EXAMPLES = sorted(EXAMPLES_FOLDER.glob("train_*.py"))
TWO = [path.stem for path in EXAMPLES if path.stem != "train_plain"]
PARTS = ("model", "optimizer", "rng", "sampler", "step")
# a small epoch: 1,024 samples in batches of 128 are 8 steps in one process and 4 in two, so that 10 steps cross one
SMALL = ["--width", "32", "--depth", "2", "--batch", "128", "--log-every", "1", "--save-every", "3"]
LAYERS = 3  # two hidden ones and the last
RANKS, STEPS, STOP = 2, 10, 5
COUNTED = (
    "train_accumulation",
    "train_compressed",
    "train_ddp",
    "train_ddp_broken_overlap",
    "train_fsdp",
    "train_zero2",
)
"""Those of which documents say what they send."""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def job(name: str, *options: str, ranks: int = 1) -> dict:
    return {"script": f"{name}.py", "arguments": [*SMALL, *options], "ranks": ranks}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("examples")


@pytest.fixture(scope="module")
def losses(folder) -> dict[str, dict[int, str]]:
    """What each training printed: all of them run in processes forked from one that has loaded torch."""
    jobs = {}
    for name in [path.stem for path in EXAMPLES]:
        ranks = 1 if name == "train_plain" else 2
        saved = ["--checkpoint", str(folder / name)]
        sent = {"collectives": str(folder / f"{name}.json")} if name in COUNTED else {}
        jobs[f"{name} whole"] = job(name, "--steps", str(STEPS), ranks=ranks) | sent
        jobs[f"{name} begun"] = job(name, "--steps", str(STOP), *saved, ranks=ranks)
        jobs[f"{name} resumed"] = job(name, "--steps", str(STEPS), *saved, ranks=ranks)
    for name in TWO:
        jobs[f"{name} alone"] = job(name, "--steps", "3")
    for depth in (6, 16):
        sent = {"collectives": str(folder / f"train_ddp deep {depth}.json")}
        jobs[f"deep {depth}"] = job("train_ddp", "--steps", "2", "--depth", str(depth), ranks=2) | sent
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


def sent(folder: Path, training: str, collective: str) -> list[tuple[int, str]]:
    """Elements and type of each collective of one name that rank 0 of a training sent, the largest first.

    Which of two that are under way together is noted first depends on threads.
    """
    noted = json.loads((folder / f"{training}.json").read_text(encoding="utf-8"))
    return sorted(((elements, kind) for name, elements, kind in noted if name == collective), reverse=True)


@pytest.mark.usefixtures("losses")
@pytest.mark.parametrize(("depth", "buckets"), [(6, 3), (16, 4)], ids=["usual", "on a GPU"])
def test_as_many_buckets_are_sent_in_a_step_as_is_told(folder, depth, buckets):
    whole, *parts = sent(folder, f"train_ddp deep {depth}", "gloo:all_reduce")  # the first step has one bucket
    assert len(parts) == buckets
    assert sum(elements for elements, _ in parts) == whole[0]
    assert "DDP with three or four buckets" in words("examples/README.md")
    assert "three or four all-reduces a step" in words("examples/train_ddp.py")


@pytest.mark.usefixtures("losses")
def test_each_parameter_is_sent_by_itself_where_it_is_done_by_hand(folder):
    assert "one all-reduce per parameter" in words("examples/train_ddp_broken_overlap.py")
    parameters = 2 * LAYERS  # weights and biases
    assert len(sent(folder, "train_ddp_broken_overlap", "gloo:all_reduce")) == parameters * STEPS


@pytest.mark.usefixtures("losses")
def test_only_the_last_micro_step_sends(folder):
    assert "all-reduces in the last micro-step only" in words("examples/README.md")
    assert len(sent(folder, "train_accumulation", "gloo:all_reduce")) == STEPS  # the network is one bucket


@pytest.mark.usefixtures("losses")
def test_half_the_bytes_are_sent_when_compressed(folder):
    whole, less = (sent(folder, name, "gloo:all_reduce") for name in ("train_ddp", "train_compressed"))
    assert [elements for elements, _ in whole] == [elements for elements, _ in less]
    assert ({kind for _, kind in whole}, {kind for _, kind in less}) == ({"float"}, {"c10::BFloat16"})
    assert "half the bytes of train_ddp.py" in words("examples/README.md")
    assert "half the bytes of train_ddp.py" in words("examples/train_compressed.py")


@pytest.mark.usefixtures("losses")
def test_what_is_gathered_and_scattered_of_each_layer(folder):
    units = {}
    for name in ("train_fsdp", "train_zero2"):
        gathered = sent(folder, name, "c10d::_allgather_base_")
        scattered = sent(folder, name, "c10d::_reduce_scatter_base_")
        assert len(scattered) == LAYERS * STEPS
        units[name] = (len(gathered) // len(scattered), sum(elements for elements, _ in gathered + scattered * RANKS))
    (fsdp, whole), (zero2, less) = units["train_fsdp"], units["train_zero2"]
    assert f"{SPELLED[fsdp]} all-gathers and a reduce-scatter per layer" in words("examples/README.md")
    assert f"per layer and step {SPELLED[fsdp]} all-gathers" in words("examples/train_fsdp.py")
    assert f"{SPELLED[zero2]} all-gather and a reduce-scatter per layer" in words("examples/README.md")
    assert f"per layer and step {SPELLED[zero2]} all-gather, in forward, and one" in words("examples/train_zero2.py")
    assert "a third less communication than train_fsdp.py" in words("examples/train_zero2.py")
    assert 3 * less == 2 * whole
