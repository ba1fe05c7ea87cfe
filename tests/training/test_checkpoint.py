"""Checkpoints of one rank: what is kept, what a damaged one does, and what goes wrong while one is written."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import pickle
import random
import resource
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from gapfinder.errors import CheckpointError, InputError
from gapfinder.training import Checkpoint, Layout, NewWorldSize, Parts, ResumableDistributedSampler, SavePolicy
from gapfinder.training.checkpoint.files import Manifest, file_problem, read_manifest, write_manifest
from gapfinder.training.rng import rng_state, set_rng_state


def parts(**others) -> Parts:
    torch.manual_seed(1)
    model = torch.nn.Linear(4, 4)
    return Parts(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), others=others)


def train(own: Parts, checkpoint: Checkpoint, *, steps: int) -> None:
    for _ in range(steps):
        own.optimizer.zero_grad()
        own.model(torch.rand(2, 4)).sum().backward()
        own.optimizer.step()
        checkpoint.step_done()


def begun(folder: Path, *, steps: int = 0, own: Parts | None = None, **policy) -> Checkpoint:
    own = own or parts()
    checkpoint = Checkpoint(folder, own, policy=SavePolicy(**{"every": 1} | policy))
    checkpoint.resume_or_start()
    train(own, checkpoint, steps=steps)
    return checkpoint


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".lock")


def step(number: int) -> str:
    return f"step-{number:09}"


def test_nothing_there_is_a_start(tmp_path):
    with Checkpoint(tmp_path / "a" / "b", parts()) as checkpoint:
        resumed = checkpoint.resume_or_start()
    assert (resumed.step, resumed.path, resumed.damaged) == (0, None, ())
    assert names(tmp_path / "a" / "b") == []


@pytest.mark.parametrize("background", [False, True])
def test_the_last_ones_are_kept_and_the_newest_is_gone_on_from(tmp_path, background):
    own = parts()
    with begun(tmp_path, steps=7, own=own, every=2, keep=2, background=background) as checkpoint:
        assert checkpoint.step == 7
    assert names(tmp_path) == [step(4), step(6)]
    again = parts()
    with Checkpoint(tmp_path, again) as checkpoint:
        resumed = checkpoint.resume_or_start()
        assert (resumed.step, resumed.path, resumed.damaged, checkpoint.step) == (6, tmp_path / step(6), (), 6)
        train(again, checkpoint, steps=1)
    assert all(torch.equal(a, b) for a, b in zip(own.model.parameters(), again.model.parameters(), strict=True))
    buffers = [one.optimizer.state_dict()["state"][0]["momentum_buffer"] for one in (own, again)]
    assert torch.equal(*buffers)


def test_a_step_saved_twice_is_there_twice_and_the_later_one_counts(tmp_path):
    own = parts()
    with begun(tmp_path, steps=1, own=own) as checkpoint:
        own.model.weight.data.fill_(7)
        checkpoint.save()
    assert names(tmp_path) == [step(1), f"{step(1)}.1"]
    again = parts()
    with begun(tmp_path, own=again):
        assert again.model.weight.unique().tolist() == [7]


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "a bit": lambda path: flip(path / "rank0.pt"),
    "cut": lambda path: os.truncate(path / "rank0.pt", 100),
    "empty": lambda path: (path / "rank0.pt").write_bytes(b""),
    "no part": lambda path: (path / "rank0.pt").unlink(),
    "no manifest": lambda path: (path / "rank0.json").unlink(),
    "half a manifest": lambda path: os.truncate(path / "rank0.json", 30),
    "no object": lambda path: (path / "rank0.json").write_text("[1]"),
    "wrong types": lambda path: (path / "rank0.json").write_text(json.dumps(values(path) | {"bytes": "9"})),
    "another step": lambda path: (path / "rank0.json").write_text(json.dumps(values(path) | {"rank": 3})),
}


def values(path: Path) -> dict:
    return json.loads((path / "rank0.json").read_text())


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_one_is_set_aside_and_the_one_before_is_taken(tmp_path, damage, capsys):
    begun(tmp_path, steps=3).close()
    DAMAGES[damage](tmp_path / step(3))
    with Checkpoint(tmp_path, parts()) as checkpoint:
        resumed = checkpoint.resume_or_start()
    assert (resumed.step, resumed.path) == (2, tmp_path / step(2))
    (told,) = resumed.damaged
    assert told.startswith(f"{step(3)}: rank 0: ")
    said = capsys.readouterr().err
    assert f"checkpoint {step(3)} is damaged" in said
    assert names(tmp_path) == [f"damaged-{step(3)}", step(1), step(2)]


def test_what_was_set_aside_is_not_counted_among_those_kept(tmp_path):
    begun(tmp_path, steps=5).close()
    flip(tmp_path / step(5) / "rank0.pt")
    begun(tmp_path, steps=2, keep=1, every=3).close()
    assert names(tmp_path) == [f"damaged-{step(5)}", step(6)]


def test_none_whole_is_an_error_and_all_stay_where_they_are(tmp_path):
    begun(tmp_path, steps=2).close()
    before = names(tmp_path)
    for path in tmp_path.glob("step-*"):
        flip(path / "rank0.pt")
    with pytest.raises(CheckpointError, match="has 2 checkpoints and none that is whole"):
        Checkpoint(tmp_path, parts()).resume_or_start()
    assert names(tmp_path) == before


def test_what_another_release_wrote_is_refused_and_not_called_damaged(tmp_path):
    begun(tmp_path, steps=2).close()
    path = tmp_path / step(2)
    (path / "rank0.json").write_text(json.dumps(values(path) | {"schema_version": 2}))
    with pytest.raises(CheckpointError, match="is of version 2, and this gapfinder reads 1"):
        Checkpoint(tmp_path, parts()).resume_or_start()
    assert names(tmp_path) == [step(1), step(2)]


class Evil:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return Path.touch, (self.path,)


def test_no_code_runs_from_a_file_whose_checksum_is_right(tmp_path):
    begun(tmp_path, steps=1).close()
    part, victim = tmp_path / step(1) / "rank0.pt", tmp_path / "victim"
    torch.save({"step": Evil(victim)}, part)
    manifest = values(part.parent) | {
        "bytes": part.stat().st_size,
        "sha256": hashlib.sha256(part.read_bytes()).hexdigest(),
    }
    write_manifest(part.with_suffix(".json"), Manifest(**manifest))
    assert file_problem(part, read_manifest(part.with_suffix(".json"))) is None
    with pytest.raises(CheckpointError, match="holds more than tensors and plain values"):
        Checkpoint(tmp_path, parts()).resume_or_start()
    assert not victim.exists()
    pickle.dumps(Evil(victim))


class Odd:
    """Has a state that no checkpoint gives back."""

    def state_dict(self) -> dict:
        return {"path": Path("x")}

    def load_state_dict(self, _: dict) -> None:
        raise AssertionError


def test_what_could_not_be_loaded_is_refused_when_it_is_saved(tmp_path):
    own = parts(odd=Odd())
    with begun(tmp_path, own=own) as checkpoint, pytest.raises(CheckpointError, match="more than tensors and plain"):
        train(own, checkpoint, steps=1)
    assert names(tmp_path) == []


@contextmanager
def files_limited(size: int):
    """Let no file grow above `size`, as a full disk would not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("limit", [0, 100, 4000])
def test_no_room_is_a_clear_error_and_leaves_the_checkpoint_before(tmp_path, limit):
    own = parts()
    with begun(tmp_path, steps=1, own=own) as checkpoint:
        with (
            files_limited(limit),
            pytest.raises(CheckpointError, match=r"of step 2 was not saved to .*: File too large"),
        ):
            train(own, checkpoint, steps=1)
        assert names(tmp_path) == [step(1)]
        train(own, checkpoint, steps=1)
    assert names(tmp_path) == [step(1), step(3)]


def test_no_room_in_the_background_is_said_at_once_and_raised_by_the_next_call(tmp_path, capfd):
    own = parts()
    checkpoint = begun(tmp_path, steps=1, own=own, background=True)
    checkpoint.wait()
    with files_limited(100):
        train(own, checkpoint, steps=1)
        while "was not saved" not in (said := capfd.readouterr().err):
            pass
    assert said.startswith("gapfinder: the checkpoint of step 2 was not saved")
    with pytest.raises(CheckpointError, match="of step 2 was not saved"):
        train(own, checkpoint, steps=1)
    checkpoint.close()
    assert names(tmp_path) == [step(1)]


def test_in_the_background_a_copy_is_written_while_the_training_changes_the_rest(tmp_path, monkeypatch):
    own = parts()
    checkpoint = begun(tmp_path, own=own, background=True)
    own.model.weight.data.fill_(3)
    checkpoint.save()
    own.model.weight.data.fill_(4)
    checkpoint.close()
    again = parts()
    begun(tmp_path, own=again).close()
    assert again.model.weight.unique().tolist() == [3]


def test_an_error_of_the_training_is_not_hidden_by_one_of_the_background(tmp_path):
    checkpoint = begun(tmp_path, background=True)
    with files_limited(100):
        checkpoint.save()
        checkpoint._pending.exception()
    with pytest.raises(ZeroDivisionError) as caught, checkpoint:
        _ = 1 / 0
    assert any("was not saved" in note for note in caught.value.__notes__)


def test_another_training_in_the_folder_is_refused(tmp_path):
    begun(tmp_path, steps=1).close()
    child = os.fork()
    if not child:
        with (tmp_path / ".lock").open("w") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            (tmp_path / "held").touch()
            while not (tmp_path / "leave").exists():
                pass
        os._exit(0)
    while not (tmp_path / "held").exists():
        pass
    with pytest.raises(CheckpointError, match="another training writes"):
        Checkpoint(tmp_path, parts()).resume_or_start()
    (tmp_path / "leave").touch()
    os.waitpid(child, 0)
    with begun(tmp_path) as checkpoint:
        assert checkpoint.step == 1


def test_what_a_killed_training_left_is_swept(tmp_path):
    begun(tmp_path, steps=1).close()
    (tmp_path / ".step-000000002.abc-1.half").mkdir()
    (tmp_path / ".step-000000002.abc-1.half" / "rank0.pt").write_bytes(b"x")
    begun(tmp_path).close()
    assert names(tmp_path) == [step(1)]


def test_other_parts_are_refused(tmp_path):
    begun(tmp_path, steps=1).close()
    wanted = parts(scheduler=Odd())
    wanted = Parts(
        model=wanted.model,
        optimizer=wanted.optimizer,
        others=wanted.others,
        sampler=ResumableDistributedSampler(range(8), batch_size=2),
    )
    with pytest.raises(CheckpointError, match="was saved without scheduler, the sampler's place"):
        Checkpoint(tmp_path, wanted).resume_or_start()


def test_a_training_that_has_not_begun_cannot_be_saved(tmp_path):
    checkpoint = Checkpoint(tmp_path, parts())
    for call in (checkpoint.step_done, checkpoint.save, lambda: checkpoint.step):
        with pytest.raises(CheckpointError, match="call resume_or_start before the loop"):
            call()
    checkpoint.resume_or_start()
    with pytest.raises(CheckpointError, match="has begun already"):
        checkpoint.resume_or_start()


@pytest.mark.parametrize(
    "policy",
    [{"every": 0}, {"keep": 0}, {"layout": Layout.SHARDED, "new_world_size": NewWorldSize.RESEED}],
)
def test_a_policy_that_makes_no_sense_is_refused(policy):
    with pytest.raises(InputError):
        SavePolicy(**policy)


def test_a_hot_one_of_a_failure_is_kept_apart_and_not_gone_on_from(tmp_path):
    own = parts()
    checkpoint = begun(tmp_path, steps=2, own=own)
    own.model.weight.data.fill_(float("nan"))
    path = checkpoint.save_hot(reason="loss is nan", is_continued=False)
    checkpoint.close()
    assert path == tmp_path / "hot-000000002" / "rank0.pt"
    assert values(path.parent)["reason"] == "loss is nan"
    again = parts()
    with begun(tmp_path, own=again) as checkpoint:
        assert (checkpoint.step, bool(again.model.weight.isnan().any())) == (2, False)
    assert names(tmp_path) == ["hot-000000002", step(1), step(2)]


def test_a_hot_one_of_the_end_of_a_step_is_gone_on_from_until_a_planned_one_is_newer(tmp_path):
    checkpoint = begun(tmp_path, steps=5, every=4)
    checkpoint.save_hot(reason="SIGTERM", is_continued=True)
    checkpoint.close()
    with begun(tmp_path, every=4) as checkpoint:
        assert checkpoint.step == 5
    assert names(tmp_path) == ["hot-000000005", step(4)]
    begun(tmp_path, steps=3, every=4).close()
    assert names(tmp_path) == [step(4), step(8)]


def test_a_damaged_hot_one_is_passed_by(tmp_path):
    checkpoint = begun(tmp_path, steps=5, every=4)
    flip(checkpoint.save_hot(reason="SIGTERM", is_continued=True))
    checkpoint.close()
    with begun(tmp_path, every=4) as checkpoint:
        assert checkpoint.step == 4


def test_only_the_last_hot_one_is_kept(tmp_path):
    own = parts()
    checkpoint = begun(tmp_path, steps=1, own=own, every=9)
    checkpoint.save_hot(reason="one", is_continued=False)
    train(own, checkpoint, steps=1)
    checkpoint.save_hot(reason="two", is_continued=False)
    checkpoint.close()
    assert names(tmp_path) == ["hot-000000002"]


def draws() -> tuple[float, float, float, float]:
    return random.random(), np.random.standard_normal(), np.random.random(), torch.rand(()).item()  # noqa: NPY002, S311


def test_all_generators_go_on_where_they_were():
    np.random.standard_normal()  # noqa: NPY002 (it draws two and keeps one)
    state = rng_state()
    first = [draws() for _ in range(3)]
    random.seed(9)
    np.random.seed(9)  # noqa: NPY002
    torch.manual_seed(9)
    assert draws() != first[0]
    set_rng_state(state)
    assert [draws() for _ in range(3)] == first
