"""What a watch costs a training while nothing is captured: the hook with its marks off, and an idle session of nsys.

A process of each kind stands ready with the same training, whose step takes 5 ms of processor time. They take turns in
short blocks of steps, in a new order each round, while all others wait, so that what else the machine does meets all
kinds alike. Compared is, block by block, the processor time of a step in the thread that trains; the elapsed time
stands beside it. Two equal processes differ from each other by chance (where their memory lies), so there are two of
each kind, and each is told: what two of a kind differ by cannot be told from nothing.

The watch itself runs in a process of its own: the processor time of its looks is told as a share of one core.
"""

from __future__ import annotations

import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from gapfinder.capture.nsys import find_nsys
from gapfinder.training.environment import hook_environment
from gapfinder.training.step_stream import MarkSwitch, StepReader
from gapfinder.watch.judge import Judge
from gapfinder.watch.nsys_options import session_options
from gapfinder.watch.rules import Rules
from gapfinder.watch.session import NsysSession

_STEP_NS = 5_000_000
_ALIKE = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}  # the order in sets and dicts is a part of chance
_WIDTH, _BATCH = 64, 16
_WARM_UP, _BLOCK = 60, 30
_SECONDS = 30.0
_LOOKS = 100
_TRACES = ("cuda,nvtx", "cuda,nvtx,osrt")
_OF_A_KIND = 2


@dataclass(kw_only=True)
class _Worker:
    """A training that waits for its turn."""

    kind: str
    process: subprocess.Popen[str]
    blocks: list[tuple[float, float]] = field(default_factory=list)

    def told(self, request: str = "") -> list[float]:
        """Send a line, and return the numbers in the line that comes back."""
        if request and self.process.stdin:
            self.process.stdin.write(f"{request}\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline() if self.process.stdout else ""
        return [float(number) for number in line.split()]


def _train() -> None:
    """Be a worker: find the depth where none is given, then run a block of steps for each line of input."""
    import torch

    def build(depth: int) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        layers = [torch.nn.Linear(_WIDTH, _WIDTH) for _ in range(depth)]
        model = torch.nn.Sequential(*layers)
        return model, torch.optim.SGD(model.parameters(), lr=1e-4)

    def batches() -> object:
        data = torch.utils.data.TensorDataset(torch.zeros(_BATCH, _WIDTH))
        while True:
            yield from torch.utils.data.DataLoader([data[0] for _ in range(_BATCH * 64)], batch_size=_BATCH)

    values = batches()

    def steps(count: int) -> tuple[float, float]:
        processor, elapsed = [], []
        for _ in range(count):
            begun = time.thread_time_ns(), time.perf_counter_ns()
            (batch,) = next(values)
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
            processor.append(time.thread_time_ns() - begun[0])
            elapsed.append(time.perf_counter_ns() - begun[1])
        return statistics.median(processor), statistics.median(elapsed)

    depth = int(sys.argv[2]) if len(sys.argv) > 2 else 8  # noqa: PLR2004
    model, optimizer = build(depth)
    if len(sys.argv) <= 2:  # noqa: PLR2004
        for _ in range(3):
            steps(_WARM_UP)
            depth = max(1, round(depth * _STEP_NS / steps(_BLOCK)[0]))
            model, optimizer = build(depth)
        print(depth)
        return
    steps(_WARM_UP)
    print("1", flush=True)
    for _ in sys.stdin:
        print(*steps(_BLOCK), flush=True)


def _environments(stack: ExitStack, folder: Path) -> dict[str, dict[str, str]]:
    """Return what each kind of training is started with."""
    bare = os.environ | _ALIKE
    (folder / "processes").mkdir()
    (folder / "steps").mkdir()
    MarkSwitch(folder / "steps").make()
    hook = hook_environment(
        window=None, status_folder=folder / "processes", watch_folder=folder / "steps", environment=bare
    )
    kinds = {"alone": bare, "hook": bare | hook}
    if shutil.which("nsys"):
        nsys = find_nsys()
        for traces in _TRACES:
            options = session_options(nsys, nsys_args=(f"--trace={traces}",))
            session = NsysSession(nsys, options=options, log=folder / "nsys.log", environment=bare)
            stack.callback(session.close)
            kinds[f"nsys {traces}"] = bare | dict(session.environment)
            if traces == "cuda,nvtx":
                kinds[f"hook and nsys {traces}"] = bare | hook | dict(session.environment)
    return kinds


def _take_turns(workers: list[_Worker]) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        for worker in random.sample(workers, len(workers)):
            processor, elapsed = worker.told("go")
            worker.blocks.append((processor, elapsed))


def _report(workers: list[_Worker]) -> None:
    alone = [worker for worker in workers if worker.kind == "alone"]
    rounds = [tuple(map(statistics.fmean, zip(*blocks, strict=True))) for blocks in zip(*_blocks(alone), strict=True)]
    processor, elapsed = (statistics.median(column) / 1e6 for column in zip(*rounds, strict=True))
    print(
        f"{len(rounds)} rounds of {_BLOCK} steps; alone, a step takes {processor:.2f} ms of processor time and "
        f"{elapsed:.2f} ms"
    )
    print("added to a step, of its processor time and of its elapsed time, by each process of a kind")
    for worker in workers:
        pairs = list(zip(worker.blocks, rounds, strict=True))
        added = [statistics.median(own[at] / usual[at] for own, usual in pairs) - 1 for at in (0, 1)]
        print(f"  {worker.kind:24} {added[0]:+8.2%} {added[1]:+8.2%}")


def _blocks(workers: list[_Worker]) -> list[list[tuple[float, float]]]:
    return [worker.blocks for worker in workers]


def _looks(folder: Path) -> None:
    """Tell what the looks of a watch take."""
    judge, reader = Judge(Rules()), StepReader(folder / "steps")
    reader.poll()
    begun = time.process_time()
    for _ in range(_LOOKS):
        judge.see(reader.poll(), now_ns=time.monotonic_ns())
        judge.trigger(time.monotonic_ns())
    spent = (time.process_time() - begun) / _LOOKS
    print(f"the watch itself: {spent * 1e3:.2f} ms a look, five times a second: {spent * 5:.2%} of a core")


def main() -> None:
    """Print all of it."""
    worker = (sys.executable, __file__, "worker")
    bare = os.environ | _ALIKE
    found = subprocess.run(worker, env=bare, capture_output=True, text=True, check=True, timeout=120)
    depth = found.stdout.strip()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        workers = [
            _Worker(
                kind=kind,
                process=stack.enter_context(
                    subprocess.Popen(
                        (*worker, depth), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                    )
                ),
            )
            for kind, environment in _environments(stack, folder).items()
            for _ in range(_OF_A_KIND)
        ]
        for one in workers:
            one.told()
        _take_turns(workers)
        _report(workers)
        _looks(folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        _train()
    else:
        main()
