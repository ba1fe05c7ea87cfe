"""The example that slows down, under a watch with the real nsys: one capture for each fault, and none without."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from watched_trainings import PATIENCE_S, watching

from gapfinder.training.step_stream import StepReader
from gapfinder.watch.model import CaptureState, TriggerKind

pytestmark = [pytest.mark.nsys, pytest.mark.slow]

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_slowing.py"
TORCHRUN = ("--", "torchrun", "--standalone", "--nproc-per-node", "2", str(EXAMPLE))
# pauses are the same however busy the machine is: they are most of a step here, and far more than noise makes of it
FAULTS = {"slow-data-at": 300, "slow-data-ms": 40, "slow-rank-at": 580, "slow-rank-ms": 120}
RULES = ("--healthy-at", "60", "--drift", "50%", "--lag", "50%", "--sustained", "2s", "--cool-down", "1s")
STEPS = 660
WITHIN_S = 15


def arguments(**given: object) -> tuple[str, ...]:
    return tuple(word for name, value in given.items() for word in (f"--{name}", str(value)))


def ended_at(folder: Path, step: int) -> float:
    """When a step ended on rank 0, in seconds since 1970."""
    with StepReader(folder / "steps") as reader:
        rank = next(rank for rank in reader.poll() if rank.rank == 0)
    ended = next(one.ended_at_ns for one in rank.steps if one.number == step)
    return time.time() - (time.monotonic_ns() - ended) / 1e9


def phases(folder: Path, rank: int, phase: str) -> list[int]:
    """How long a rank was in a phase, in each step that was analysed."""
    analysis = json.loads((folder / "analysis.json").read_text())
    process = next(process for process in analysis["processes"] if process["rank"] == rank)
    return [step["phases"][phase] for step in process["steps"]["items"]]


def test_each_fault_is_captured_once_and_its_cause_is_named(tmp_path):
    with watching(tmp_path, *RULES, training=(*TORCHRUN, *arguments(steps=STEPS, **FAULTS))) as watch:
        out, _ = watch.process.communicate(timeout=2 * PATIENCE_S)
        assert watch.process.returncode == 0
    healthy, data, rank = watch.state().captures
    assert [healthy.trigger.kind, data.trigger.kind, rank.trigger.kind] == [
        TriggerKind.HEALTHY,
        TriggerKind.DRIFT,
        TriggerKind.LAG,
    ]
    assert {one.state for one in (healthy, data, rank)} == {CaptureState.DONE}

    assert data.headline == "Steps wait for data"
    assert "data loading" in data.change
    assert "all ranks" in data.change
    assert rank.trigger.rank == 1
    assert rank.headline.startswith("Rank 1 is slower")
    for told in (data.headline, data.change, rank.headline):
        assert told in out

    for capture, begun in ((data, FAULTS["slow-data-at"]), (rank, FAULTS["slow-rank-at"])):
        assert begun <= capture.first_step < capture.end_step <= STEPS
        assert capture.started_at - ended_at(watch.folder, begun) < WITHIN_S
        waits = phases(watch.folder / capture.folder, 0, "data loading")
        assert len(waits) >= 15
        assert min(waits) >= FAULTS["slow-data-ms"] * 1_000_000
    assert healthy.end_step <= FAULTS["slow-data-at"]
    assert max(phases(watch.folder / healthy.folder, 0, "data loading")) < FAULTS["slow-data-ms"] * 1_000_000


def test_a_healthy_training_is_not_captured(tmp_path):
    faults = {"slow-data-at": 9999, "slow-rank-at": 9999, "device-ms": 6}
    training = (*TORCHRUN, *arguments(steps=1000, **faults))
    with watching(tmp_path, "--healthy-at", "0", training=training) as watch:
        out, _ = watch.process.communicate(timeout=2 * PATIENCE_S)
    assert watch.state().captures == ()
    assert watch.state().usual_ns > 6_000_000
    assert "No captures" in out
    assert sum(row.steps for row in watch.record().times if row.rank == 0) == 999
