"""Kills trainings while they save, starts them again, and prints as JSON what all of them together computed.

Each training is forked from this process, which has loaded torch: once, and not for each of them. It writes the loss of
every step as hexadecimal, and kills itself just before an operation of a save that it is told: one of the files that are
opened, written, forced to the disk, renamed or deleted. Arguments: the folder, and how many kills of which way of saving ("background=20", "at_once=30").
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import traceback
from pathlib import Path

import numpy as np
import torch
import torch._dynamo  # an optimizer's first step loads it
import torch.utils.serialization
from torch import nn
from torch.utils.data import DataLoader, Dataset

from gapfinder.training import Checkpoint, Parts, ResumableDistributedSampler, SavePolicy
from gapfinder.training.checkpoint import files
from gapfinder.training.checkpoint.save import Saving

SAMPLES, BATCH = 40, 8  # an epoch is five steps
_LONGEST_S = 60
_EVENTS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir"}


class Noisy(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Samples that draw from all three generators, so that none may be lost."""

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        noise = random.random() + np.random.standard_normal() + torch.rand(()).item()  # noqa: NPY002, S311
        return torch.full((16,), index / SAMPLES + noise), torch.tensor([index / SAMPLES])


def train(folder: Path, *, steps: int, losses: Path, background: bool) -> None:
    random.seed(1)
    np.random.seed(2)  # noqa: NPY002
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 7, gamma=0.9)
    data = Noisy()
    sampler = ResumableDistributedSampler(data, batch_size=BATCH, seed=5)
    loader = DataLoader(data, batch_size=BATCH, sampler=sampler)
    parts = Parts(model=model, optimizer=optimizer, sampler=sampler, others={"scheduler": scheduler})
    with Checkpoint(folder, parts, policy=SavePolicy(every=1, keep=2, background=background)) as checkpoint:
        resumed = checkpoint.resume_or_start()
        with losses.open("a") as log:
            log.write(f"resumed {resumed.step} {len(resumed.damaged)}\n")
            log.flush()
            while checkpoint.step < steps:
                for inputs, targets in sampler.batches(loader):
                    loss = nn.functional.mse_loss(model(inputs), targets)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    scheduler.step()
                    log.write(f"{checkpoint.step + 1} {loss.item().hex()}\n")
                    log.flush()
                    if checkpoint.step_done() == steps:
                        break


class Saboteur:
    """Counts the operations of every save, and kills this process just before one of them.

    Attributes:
        kill_at: the save and the operation in it, counted from 0; None to let it live.
        log: where the operations of each save go.
    """

    def __init__(self, *, kill_at: tuple[int, int] | None, log: Path) -> None:
        self._kill_at, self._log = kill_at, log
        self._saves, self._operations = -1, []
        self._is_saving = False
        sys.addaudithook(self._audited)
        run, write = Saving.run, files._Sink.write

        def counted_run(saving: Saving) -> None:
            self._saves += 1
            self._operations, self._is_saving = [], True
            run(saving)
            self._is_saving = False
            with self._log.open("a") as kept:
                kept.write(f"{json.dumps(self._operations)}\n")

        def counted_write(sink: object, data: bytes) -> int:
            self._operate("write")
            return write(sink, data)

        Saving.run, files._Sink.write = counted_run, counted_write
        # nothing is lost by a kill that is not on the disk yet, and forcing it there takes most of the time
        os.fsync = lambda _: self._operate("fsync")

    def _audited(self, event: str, arguments: tuple) -> None:
        if event in _EVENTS:
            self._operate(f"{event} {Path(str(arguments[0])).name}")

    def _operate(self, name: str) -> None:
        if self._is_saving:
            if self._kill_at == (self._saves, len(self._operations)):
                os.kill(os.getpid(), signal.SIGKILL)
            self._operations.append(name)


def run_one(folder: Path, *, steps: int, background: bool, kill_at: tuple[int, int] | None = None) -> int:
    """Return the exit code of a training in a process of its own."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 1
    try:
        signal.alarm(_LONGEST_S)
        Saboteur(kill_at=kill_at, log=folder / "operations")
        train(folder, steps=steps, losses=folder / "losses", background=background)
        code = 0
    except BaseException:  # noqa: BLE001 (a child must never run on as if it were the parent)
        traceback.print_exc()
    finally:
        os._exit(code)


def kill_many(folder: Path, *, kills: int, background: bool) -> dict:
    """Kill a training that many times, each time before another operation, and then let it end."""
    whole, broken = folder / "whole", folder / "broken"
    whole.mkdir(parents=True)
    broken.mkdir()
    steps = 2 * kills
    if run_one(whole, steps=steps, background=background):
        sys.exit("the training that nobody killed failed")
    operations = json.loads((whole / "operations").read_text().splitlines()[-1])
    chance = random.Random(7)  # noqa: S311
    # nine in ten are writes of the one file: each of the others, and as many of these as there are kills left
    moments = [at for at, name in enumerate(operations) if name != "write"][-kills:]
    writes = [at for at, name in enumerate(operations) if name == "write"]
    moments += chance.sample(writes, kills - len(moments))
    chance.shuffle(moments)
    codes = [run_one(broken, steps=steps, background=background, kill_at=(chance.randint(0, 2), at)) for at in moments]
    codes.append(run_one(broken, steps=steps, background=background))
    return {
        "codes": codes,
        "killed_before": sorted({operations[at].split()[0] for at in moments}),
        "left": sorted(path.name for path in broken.iterdir()),
        "whole": (whole / "losses").read_text(),
        "broken": (broken / "losses").read_text(),
    }


if __name__ == "__main__":
    jobs = {how: int(kills) for how, kills in (argument.split("=") for argument in sys.argv[2:])}
    json.dump(
        {
            how: kill_many(Path(sys.argv[1]) / how, kills=kills, background=how == "background")
            for how, kills in jobs.items()
        },
        sys.stdout,
    )
