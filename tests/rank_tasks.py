"""Runs functions of this file on several ranks, in processes forked from this one, which has loaded torch.

Takes a JSON list of {task, ranks, folder}; prints a JSON list of what each task returned, rank by rank. A task gets the
folder and its rank; what it raises on purpose comes back as {"error": its text}. One for 0 ranks runs in this process.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import sys
import traceback
from dataclasses import asdict
from pathlib import Path

import torch
import torch._dynamo
import torch.distributed as dist
import torch.utils.serialization
from torch.utils.data import DataLoader

from gapfinder.errors import GapfinderError
from gapfinder.training import (
    Checkpoint,
    Layout,
    NewWorldSize,
    Parts,
    ResumableDistributedSampler,
    SavePolicy,
    self_check,
)

os.fsync = lambda _: None  # it takes most of the time here, and no disk fails in these tests
_LONGEST_S = 60
_DATA = list(range(48))


class Run:
    """A tiny data-parallel training: gradients are averaged by hand; a sharded one has weights of its own rank."""

    def __init__(self, folder: Path, rank: int, **policy) -> None:
        torch.manual_seed(10 + rank)
        self.is_sharded = policy.get("layout") is Layout.SHARDED
        self.weight = torch.nn.Parameter(torch.ones(8) * (1 + rank * self.is_sharded))
        self.model = torch.nn.ParameterDict({"weight": self.weight})
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.1)
        self.sampler = ResumableDistributedSampler(_DATA, batch_size=3, seed=3)
        self.loader = DataLoader(_DATA, batch_size=3, sampler=self.sampler)
        own = Parts(model=self.model, optimizer=self.optimizer, sampler=self.sampler)
        self.checkpoint = Checkpoint(folder, own, policy=SavePolicy(**{"every": 2, "patience_s": 5.0} | policy))
        self.resumed = self.checkpoint.resume_or_start()
        self.losses: list[str] = []
        self.seen: list[int] = []

    def train(self, steps: int) -> Run:
        while self.checkpoint.step < steps:
            for batch in self.sampler.batches(self.loader):
                self.seen += batch.tolist()
                self.optimizer.zero_grad()
                loss = (self.weight * torch.rand(8)).sum() * batch.float().mean() / 48
                loss.backward()
                if not self.is_sharded:
                    dist.all_reduce(self.weight.grad)
                self.optimizer.step()
                self.losses.append(loss.item().hex())
                if self.checkpoint.step_done() == steps:
                    break
        self.checkpoint.close()
        return self

    def told(self) -> dict:
        return {
            "start": self.resumed.step,
            "damaged": list(self.resumed.damaged),
            "losses": self.losses,
            "seen": self.seen,
            "weight": self.weight.tolist(),
        }


def whole(folder: Path, rank: int) -> dict:
    return Run(folder, rank).train(12).told()


def begun(folder: Path, rank: int) -> dict:
    return Run(folder, rank).train(7).told()


def resumed(folder: Path, rank: int) -> dict:
    return Run(folder, rank).train(12).told()


def sharded_whole(folder: Path, rank: int) -> dict:
    return Run(folder, rank, layout=Layout.SHARDED, background=True).train(12).told()


def sharded_begun(folder: Path, rank: int) -> dict:
    return Run(folder, rank, layout=Layout.SHARDED, background=True).train(7).told()


def sharded_resumed(folder: Path, rank: int) -> dict:
    return Run(folder, rank, layout=Layout.SHARDED, background=True).train(12).told()


def reseeded(folder: Path, rank: int) -> dict:
    run = Run(folder, rank, new_world_size=NewWorldSize.RESEED)
    epoch = [one for batch in run.sampler.batches(run.loader) for one in batch.tolist()]
    return run.told() | {"rest": epoch, "draw": torch.rand(()).item()}


def full_on_rank_1(folder: Path, rank: int) -> dict:
    run = Run(folder, rank)
    run.train(2)
    if rank == 1:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
    run.checkpoint.save()
    return run.told()


def both_hot(folder: Path, rank: int) -> dict:
    run = Run(folder, rank).train(5)
    run.checkpoint.save_hot(reason="SIGTERM", is_continued=True)
    return run.told()


def one_hot(folder: Path, rank: int) -> dict:
    run = Run(folder, rank).train(5)
    if rank == 0:
        run.checkpoint.save_hot(reason="SIGTERM", is_continued=True)
    return run.told()


def checked(_: Path, rank: int) -> dict:
    if rank == 1:
        sys.modules["torch"].__version__ = "2.0.0"
    check = self_check(is_strict=False)
    told = {"ranks": [asdict(one) for one in check.ranks], "own": check.own.rank}
    try:
        self_check()
    except GapfinderError as error:
        told["refused"] = str(error)
    return told


def damage(folder: Path) -> None:
    """Copy what was begun, and damage the newest checkpoint of two copies on rank 1."""
    for kind, name in (
        ("whole", "refused"),
        ("whole", "more"),
        ("whole", "fewer"),
        ("whole", "damaged"),
        ("sharded", "sharded refused"),
        ("sharded", "sharded damaged"),
    ):
        shutil.copytree(folder / kind, folder / name)
    for name in ("damaged", "sharded damaged"):
        part = folder / name / "step-000000006" / "rank1.pt"
        part.write_bytes(part.read_bytes()[:-1])


def run(job: dict) -> list:
    if not job["ranks"]:
        globals()[job["task"]](Path(job["folder"]))
        return []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    folder = Path(job["folder"])
    pipes = [os.pipe() for _ in range(job["ranks"])]
    children = [start(job["task"], folder, rank=rank, port=port, pipes=pipes) for rank in range(job["ranks"])]
    for _, tell in pipes:
        os.close(tell)
    told = []
    for heard, _ in pipes:
        with os.fdopen(heard) as file:
            told.append(file.read())
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if any(codes):
        sys.exit(f"{job} ended with {codes}")
    return [json.loads(text) for text in told]


def start(task: str, folder: Path, *, rank: int, port: int, pipes: list[tuple[int, int]]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.alarm(_LONGEST_S)
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": len(pipes), "MASTER_PORT": port}
        os.environ.update({name: str(value) for name, value in place.items()}, MASTER_ADDR="127.0.0.1")
        dist.init_process_group("gloo")
        try:
            told = globals()[task](folder, rank)
        except GapfinderError as error:
            told = {"error": str(error)}
        os.write(pipes[rank][1], json.dumps(told).encode())
        dist.barrier()
        code = 0
    except BaseException:  # noqa: BLE001 (a child must never run on as if it were the parent)
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    json.dump([run(job) for job in json.loads(sys.argv[1])], sys.stdout)
