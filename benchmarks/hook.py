"""What the hook costs a training: per step alone and under nsys, in a whole run, and a Python that never sees torch.

With and without the hook take turns, and what counts is the median of the differences of pairs, beside the range of the
middle half of them: a slow moment of a shared machine meets both of a pair alike. A step's time is the thread's own
processor time. The two models have steps of 5 ms: one of many small operations, like the thread that only launches work
for a GPU, and one that computes by itself and leaves the hook with cold caches.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gapfinder.training.startup._gapfinder_hook.annotators import Annotator

sys.path.insert(0, str(Path(__file__).parents[1]))

from gapfinder.training.environment import hook_environment

_STEP_NS = 5_000_000
_SIZES = {"many small operations": (8, 2), "computing": (128, 64)}  # width and batch; the depth is what 5 ms take
_PAIRS = 40
_BLOCK = 16  # steps, as many as the hook prepares texts for at once
_RUN = 200
_RUNS = 5
_RUN_SIZES = (8, 50, 2)  # width, depth and batch
_STARTS = 30
_NSYS = ("nsys", "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true")


def _steps(width: int, depth: int, batch: int) -> Callable[[], None]:
    """Return a function that makes a training step of a new model."""
    import torch

    model = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(depth)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    data = torch.utils.data.TensorDataset(torch.zeros(batch, width))
    batches = iter(torch.utils.data.DataLoader(data, batch_sampler=itertools.repeat(range(batch))))

    def step() -> None:
        (values,) = next(batches)
        optimizer.zero_grad()
        model(values).square().mean().backward()
        optimizer.step()

    return step


def _sized(width: int, batch: int) -> int:
    """Return the depth of the model of this width whose step takes 5 ms."""
    depth = 8
    for _ in range(3):
        step = _steps(width, depth, batch)
        depth = max(1, round(depth * _STEP_NS / statistics.median(_nanoseconds(step) for _ in range(30))))
    return depth


def _nanoseconds(step: Callable[[], None]) -> int:
    begin = time.thread_time_ns()
    step()
    return time.thread_time_ns() - begin


@contextlib.contextmanager
def _unhooked() -> Iterator[None]:
    """Put back what the hook replaced, as if it were not there."""
    import torch

    optimizers = sys.modules["torch.optim.optimizer"]
    functions = (
        (torch.nn.Module, "__call__"),
        (torch.autograd, "_engine_run_backward"),
        (torch.utils.data.dataloader._BaseDataLoaderIter, "__next__"),  # noqa: SLF001
    )
    hooked = [(owner, name, getattr(owner, name)) for owner, name in functions]
    calls = [optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks]  # noqa: SLF001
    kept = [dict(one) for one in calls]
    for owner, name, function in hooked:
        setattr(owner, name, function.__wrapped__)
    for one in calls:
        one.clear()
    yield
    for owner, name, function in hooked:
        setattr(owner, name, function)
    for one, before in zip(calls, kept, strict=True):
        one.update(before)


def _block(step: Callable[[], None]) -> float:
    """Return the mean of a block of steps, in µs, after one that meets what has just been replaced."""
    step()
    return statistics.fmean(_nanoseconds(step) for _ in range(_BLOCK)) / 1000


def _compare_steps() -> None:
    """Print the step of each model without the hook, and how much longer it is with it."""
    for title, (width, batch) in _SIZES.items():
        with _unhooked():
            depth = _sized(width, batch)
            step = _steps(width, depth, batch)
        pairs = []
        for number in range(_PAIRS):
            without = with_hook = 0.0
            for is_hooked in (True, False) if number % 2 else (False, True):
                if is_hooked:
                    with_hook = _block(step)
                else:
                    with _unhooked():
                        without = _block(step)
            pairs.append((without, with_hook))
        bare = statistics.median(without for without, _ in pairs)
        added, text = _middle([with_hook - without for without, with_hook in pairs], "µs")
        print(f"  {title}: step {bare:.0f} µs of {depth} modules, with the hook {text}: {added / bare:+.2%}")


def _middle(values: list[float], unit: str) -> tuple[float, str]:
    """Return the median, and it with the range of the middle half."""
    low, middle, high = statistics.quantiles(values, n=4)
    return middle, f"{middle:+.1f} {unit} (middle half {low:+.1f} to {high:+.1f})"


def _run() -> None:
    """Print the time that 200 steps take, in ms."""
    step = _steps(*map(int, sys.argv[2:]))
    begin = time.perf_counter_ns()
    for _ in range(_RUN):
        step()
    print((time.perf_counter_ns() - begin) / 1e6)


def _count() -> None:
    """Print how many ranges a step has."""
    from _gapfinder_hook import annotators

    written: collections.Counter[str] = collections.Counter()
    find = annotators.find_annotator
    annotators.find_annotator = lambda torch: _Counting(find(torch), written)
    step = _steps(4, 1, 2)
    step()
    written.clear()
    for _ in range(_BLOCK):
        step()
    print(*(f"{number / _BLOCK:.0f} {kind}" for kind, number in written.items()), sep=" and ", end=" a step\n")


class _Counting:
    """An annotator whose ranges and marks are counted."""

    name = "counting"

    def __init__(self, annotator: Annotator, written: collections.Counter[str]) -> None:
        self._annotator, self._written = annotator, written
        self.pop, self.end = annotator.pop, annotator.end

    def pusher(self, text: str) -> Callable[[], object]:
        return self._counted("ranges", self._annotator.pusher(text))

    def start(self, text: str) -> object:
        return self.starters([text])[0]()

    def starters(self, texts: list[str]) -> list[Callable[[], object]]:
        return [self._counted("ranges", start) for start in self._annotator.starters(texts)]

    def marker(self, text: str) -> Callable[[], object]:
        return self._counted("mark", self._annotator.marker(text))

    def _counted(self, kind: str, write: Callable[[], object]) -> Callable[[], object]:
        def counted() -> object:
            self._written[kind] += 1
            return write()

        return counted


def _compare_runs(bare: dict[str, str], hooked: dict[str, str], profiler: tuple[str, ...]) -> None:
    """Print how long 200 steps take on the clock, in runs of their own without and with the hook in turns."""
    pairs = []
    for number in range(_RUNS):
        pair = [0.0, 0.0]
        for is_hooked in (True, False) if number % 2 else (False, True):
            told = _said(("run", *map(str, _RUN_SIZES)), hooked if is_hooked else bare, profiler=profiler)
            pair[is_hooked] = next(float(line) for line in told if line.replace(".", "").isdigit())
        pairs.append(pair)
    without = statistics.median(pair[0] for pair in pairs)
    added, text = _middle([with_hook - bare for bare, with_hook in pairs], "ms")
    print(f"  {_RUN} steps on the clock: {without:.0f} ms, with the hook {text}: {added / without:+.2%}")


def _start(environment: dict[str, str]) -> float:
    """Return the processor time that a Python needs to do nothing, in ms."""
    child = subprocess.Popen([sys.executable, "-c", ""], env=environment)
    _, code, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(code)
    return (used.ru_utime + used.ru_stime) * 1000


def _said(command: tuple[str, ...], environment: dict[str, str], *, profiler: tuple[str, ...] = ()) -> list[str]:
    """Run this file with `command` and return what it prints."""
    parts = [*profiler, sys.executable, __file__, *command]
    done = subprocess.run(parts, env=environment, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.splitlines()


def main() -> None:
    """Print all of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = os.environ | {"OMP_NUM_THREADS": "1"}
        hooked = bare | hook_environment(window=None, status_folder=folder, environment=bare)
        print(*_said(("count",), hooked))
        profilers: dict[str, tuple[str, ...]] = {"alone": ()}
        if shutil.which("nsys"):
            profilers["under nsys"] = (*_NSYS, f"--output={folder / 'report'}")
        for title, profiler in profilers.items():
            told = [line for line in _said(("steps",), hooked, profiler=profiler) if line.startswith("  ")]
            print(title, *told, sep="\n")
            _compare_runs(bare, hooked, profiler)
        starts = [(_start(bare), _start(hooked)) for _ in range(_STARTS)]
    without, with_hook = (min(values) for values in zip(*starts, strict=True))
    print(f"start of Python: {without:.1f} ms, with the hook {with_hook - without:+.1f} ms")


if __name__ == "__main__":
    {"steps": _compare_steps, "run": _run, "count": _count}.get("".join(sys.argv[1:2]), main)()
