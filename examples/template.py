"""What the examples share, to copy from: launch, seeded data, and going on from checkpoints of five parts.

A script calls `start`, builds its model and optimizer, loops over `Training.batches`, and tells `Training.step_done`.
Started any number of times with the same --checkpoint it goes on where it was, with the losses of a run never stopped.
"""

from __future__ import annotations

import argparse
import atexit
import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from gapfinder.errors import GapfinderError
from gapfinder.training import Checkpoint, Parts, ResumableDistributedSampler, SavePolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gapfinder.training import Stateful

CLASSES = 10
SAMPLES = 1024
_TORCHRUN = (("RANK", "0"), ("LOCAL_RANK", "0"), ("WORLD_SIZE", "1"))


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return the options that every example has; a script adds its own."""
    options = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=40, help="optimizer steps in all, those before a resume included")
    options.add_argument("--batch", type=int, default=16, help="samples a rank takes per forward pass")
    options.add_argument("--width", type=int, default=256, help="of each layer; on a GPU try 4096")
    options.add_argument("--depth", type=int, default=6, help="hidden layers; on a GPU try 16")
    options.add_argument("--seed", type=int, default=1, help="of parameters, data, order and dropout")
    options.add_argument("--workers", type=int, help="loader processes per rank; by default 2 with a GPU, 0 without")
    options.add_argument("--checkpoint", type=Path, help="folder to save to, and to go on from what is there")
    options.add_argument("--save-every", type=int, default=20, help="steps between two savings")
    options.add_argument("--log-every", type=int, default=10, help="steps between two printed losses")
    return options


def start(options: argparse.Namespace, *, distributed: bool = True) -> Training:
    """Join the process group that torchrun describes, or one of this process alone, and seed this rank."""
    rank, local_rank, world_size = (int(os.environ.get(n, d)) for n, d in _TORCHRUN)
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if distributed:
        alone = {} if "RANK" in os.environ else {"store": dist.HashStore(), "rank": 0, "world_size": 1}
        dist.init_process_group("nccl" if cuda else "gloo", device_id=device if cuda else None, **alone)
        # At exit, when the model is gone. A DDP module that outlives the group is the one to end it, and waits for a
        # thread of gloo with Python's lock in its hands, for which that thread may be waiting.
        atexit.register(dist.destroy_process_group)
    elif world_size > 1:
        raise SystemExit("this example is for one process; take train_ddp.py for more")
    random.seed(options.seed + rank)
    torch.manual_seed(options.seed + rank)
    sampler = ResumableDistributedSampler(
        range(SAMPLES), batch_size=options.batch, seed=options.seed, drop_last=True, rank=rank, world_size=world_size
    )
    return Training(options=options, rank=rank, world_size=world_size, device=device, sampler=sampler)


def network(training: Training) -> nn.Sequential:
    """Return a deep perceptron with the same parameters on every rank; its dropout needs the RNG states of a resume."""
    options = training.options
    layers: list[nn.Module] = []
    with torch.random.fork_rng():
        torch.manual_seed(options.seed)
        for _ in range(options.depth):
            layers += [nn.Linear(options.width, options.width), nn.ReLU(), nn.Dropout(0.1)]
        layers.append(nn.Linear(options.width, CLASSES))
        return nn.Sequential(*layers).to(training.device)


def samples(options: argparse.Namespace) -> Dataset[tuple[torch.Tensor, ...]]:
    """Return noise with one of ten inputs raised, which is the class; the same on every rank."""
    own = torch.Generator().manual_seed(options.seed)
    inputs = torch.randn(SAMPLES, options.width, generator=own)
    targets = torch.randint(CLASSES, (SAMPLES,), generator=own)
    inputs[torch.arange(SAMPLES), targets] += 5
    return TensorDataset(inputs, targets)


@dataclass(kw_only=True)
class Training:
    """One rank's training: where it runs and how far it is.

    Attributes:
        sampler: knows the epoch, and how much of it was trained on.
        step: optimizer steps done.
        extra: tensors of each rank that a resume needs beside model and optimizer, by name.
        checkpoint: None without --checkpoint.
    """

    options: argparse.Namespace
    rank: int
    world_size: int
    device: torch.device
    sampler: ResumableDistributedSampler
    step: int = 0
    extra: dict[str, torch.Tensor] = field(default_factory=dict)
    checkpoint: Checkpoint | None = None

    def batches(self, dataset: Dataset[Any] | None = None) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield batches on the device until all steps are done, over as many epochs as that takes."""
        options = self.options
        cuda = self.device.type == "cuda"
        workers = options.workers if options.workers is not None else 2 if cuda else 0
        loader = DataLoader(
            samples(options) if dataset is None else dataset,
            batch_size=options.batch,
            sampler=self.sampler,
            drop_last=True,
            num_workers=workers,
            persistent_workers=workers > 0,
            pin_memory=cuda,
        )
        while self.step < options.steps:
            for inputs, targets in self.sampler.batches(loader):
                yield inputs.to(self.device, non_blocking=True), targets.to(self.device, non_blocking=True)
                if self.step == options.steps:
                    break
        if self.checkpoint is not None:
            self.checkpoint.close()
        if dist.is_initialized():
            dist.barrier()  # nobody leaves while another rank still talks to it

    def step_done(self, loss: torch.Tensor, *, count: Callable[[], int] | None = None) -> None:
        """Count an optimizer step; print its loss and save where it is time to. `count` counts it in place of this."""
        if count is None:
            count = self._count if self.checkpoint is None else self.checkpoint.step_done
        self.step = count()
        last = self.step == self.options.steps
        if self.rank == 0 and (last or self.step % self.options.log_every == 0):
            print(f"step {self.step} loss {loss.item():.9g}", flush=True)
        if last and self.checkpoint is not None and self.step % self.options.save_every:
            self.checkpoint.save()

    def _count(self) -> int:
        return self.step + 1


class Tensors:
    """Tensors by name, as a part of a checkpoint."""

    def __init__(self, tensors: dict[str, torch.Tensor], device: torch.device) -> None:
        self.tensors, self.device = tensors, device

    def state_dict(self) -> dict[str, Any]:
        """Return them."""
        return self.tensors

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put what was saved in their place."""
        self.tensors.update({name: tensor.to(self.device) for name, tensor in state.items()})


def resume(
    training: Training,
    model: Stateful,
    optimizer: Stateful,
    *,
    others: Mapping[str, Stateful] | None = None,
    is_gathered: bool = False,
) -> None:
    """Go on from the newest checkpoint, where there is one, and let `training` save to the same folder.

    `is_gathered` says that all ranks must ask for the states of model and optimizer together.
    """
    if training.options.checkpoint is None:
        return
    parts = Parts(
        model=model,
        optimizer=optimizer,
        sampler=training.sampler,
        others={"extra": Tensors(training.extra, training.device), **(others or {})},
        is_gathered=is_gathered,
    )
    policy = SavePolicy(every=training.options.save_every)
    training.checkpoint = Checkpoint(training.options.checkpoint, parts, policy=policy)
    try:
        training.step = training.checkpoint.resume_or_start().step
    except GapfinderError as error:
        raise SystemExit(f"{error}") from error
