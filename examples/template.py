"""What the examples share, to copy from: launch, seeded data, a checkpoint of five parts, and resuming from it.

A script calls `start`, builds its model and optimizer, loops over `Training.batches`, and tells `Training.step_done`.
Started any number of times with the same --checkpoint it goes on where it was, with the losses of a run never stopped.
"""

from __future__ import annotations

import argparse
import atexit
import os
import random
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler, TensorDataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    options.add_argument("--checkpoint", type=Path, help="file to resume from, where it exists, and to save to")
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
    return Training(options=options, rank=rank, world_size=world_size, device=device)


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


class ResumableSampler(DistributedSampler[Any]):
    """A DistributedSampler that leaves out what was used of the epoch before a resume."""

    used = 0

    def __iter__(self) -> Iterator[Any]:
        return islice(super().__iter__(), self.used, None)

    def __len__(self) -> int:
        return super().__len__() - self.used


@dataclass(kw_only=True)
class Training:
    """One rank's training: where it runs and how far it is.

    Attributes:
        step: optimizer steps done.
        epoch: of the sampler.
        index: batches that this rank took of the epoch.
        extra: what else a resume needs of each rank; a script may put tensors there.
    """

    options: argparse.Namespace
    rank: int
    world_size: int
    device: torch.device
    step: int = 0
    epoch: int = 0
    index: int = 0
    extra: dict[str, Any] = field(default_factory=dict)
    save: Callable[[], None] = lambda: None

    def batches(self, dataset: Dataset[Any] | None = None) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield batches on the device until all steps are done, over as many epochs as that takes."""
        options = self.options
        cuda = self.device.type == "cuda"
        dataset = samples(options) if dataset is None else dataset
        sampler = ResumableSampler(
            dataset, num_replicas=self.world_size, rank=self.rank, seed=options.seed, drop_last=True
        )
        workers = options.workers if options.workers is not None else 2 if cuda else 0
        loader = DataLoader(
            dataset,
            batch_size=options.batch,
            sampler=sampler,
            drop_last=True,
            num_workers=workers,
            persistent_workers=workers > 0,
            pin_memory=cuda,
            generator=torch.Generator().manual_seed(options.seed),  # a loader without one draws from the global RNG
        )
        if not len(loader):
            raise SystemExit(f"--batch {options.batch} is more than a rank's share of {SAMPLES} samples")
        while self.step < options.steps:
            sampler.set_epoch(self.epoch)
            sampler.used = self.index * options.batch
            for inputs, targets in loader:
                self.index += 1
                yield inputs.to(self.device, non_blocking=True), targets.to(self.device, non_blocking=True)
                if self.step == options.steps:
                    break
            else:
                self.epoch, self.index = self.epoch + 1, 0
        if dist.is_initialized():
            dist.barrier()  # nobody leaves while another rank still talks to it

    def step_done(self, loss: torch.Tensor) -> None:
        """Count an optimizer step; print its loss and save where it is time to."""
        self.step += 1
        last = self.step == self.options.steps
        if self.rank == 0 and (last or self.step % self.options.log_every == 0):
            print(f"step {self.step} loss {loss.item():.9g}", flush=True)
        if last or self.step % self.options.save_every == 0:
            self.save()


def resume(
    training: Training,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    read: Callable[[nn.Module, torch.optim.Optimizer], tuple[dict[str, Any], dict[str, Any]]] | None = None,
    write: Callable[[nn.Module, torch.optim.Optimizer, dict[str, Any], dict[str, Any]], None] | None = None,
) -> None:
    """Load the checkpoint, where there is one, and let `training` save there.

    `read` and `write` get and set the states of parameters and optimizer; without them, each rank has both whole.
    """
    path: Path | None = training.options.checkpoint
    if path is None:
        return
    read, write = read or _read, write or _write

    def save() -> None:
        parameters, state = read(model, optimizer)
        ranks = _gathered(training, {"rng": _rng(training.device), "extra": training.extra})
        if training.rank == 0:
            position = {"epoch": training.epoch, "index": training.index}
            whole = {"parameters": parameters, "optimizer": state, "ranks": ranks, "sampler": position}
            _store({**whole, "step": training.step}, path)

    training.save = save
    if not path.exists():
        return
    # mapped, not copied: a rank reads only what it needs of the file
    saved = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
    if len(saved["ranks"]) != training.world_size:
        raise SystemExit(f"{path} was saved by {len(saved['ranks'])} ranks, and these are {training.world_size}")
    write(model, optimizer, saved["parameters"], saved["optimizer"])
    training.step = saved["step"]
    training.epoch, training.index = saved["sampler"]["epoch"], saved["sampler"]["index"]
    own = saved["ranks"][training.rank]
    training.extra.update({name: tensor.to(training.device) for name, tensor in own["extra"].items()})
    _set_rng(own["rng"], training.device)


def _read(model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[dict[str, Any], dict[str, Any]]:
    return model.state_dict(), optimizer.state_dict()


def _write(
    model: nn.Module, optimizer: torch.optim.Optimizer, parameters: dict[str, Any], state: dict[str, Any]
) -> None:
    model.load_state_dict(parameters)
    optimizer.load_state_dict(state)


def _gathered(training: Training, own: dict[str, Any]) -> list[Any]:
    """Return every rank's own part, on rank 0."""
    if not dist.is_initialized():
        return [own]
    parts: list[Any] | None = [None] * training.world_size if training.rank == 0 else None
    dist.gather_object(own, parts)
    return parts or []


def _store(checkpoint: dict[str, Any], path: Path) -> None:
    """Write to a temporary name, then rename: killed at any moment, a whole checkpoint is there."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        torch.save(checkpoint, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _rng(device: torch.device) -> dict[str, Any]:
    cuda = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
    return {"python": random.getstate(), "cpu": torch.get_rng_state(), "cuda": cuda}


def _set_rng(states: dict[str, Any], device: torch.device) -> None:
    random.setstate(states["python"])
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states["cuda"], device)
