"""What the hook costs a training, alone and under nsys, and what it costs a Python that never sees torch.

Marked steps and unmarked ones take turns in one process, so that a slow moment of a shared machine meets both alike;
what counts is the median of the thread's own processor time. Compare the numbers of one run with each other only.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from gapfinder.training.environment import hook_environment

_STEPS = 200
_CALLS = 20_000
_STARTS = 30
_TRAIN = "train"
_NSYS = ("nsys", "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none")


def _train() -> None:
    """Print the step of a large and of a small model without marks, and how much longer it is with them."""
    import torch
    from _gapfinder_hook import attach

    (recorder,) = attach._recorders  # noqa: SLF001 - the only way to have steps without marks in the same process
    for width, depth, batch in ((128, 16, 128), (4, 2, 2)):
        model = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(depth)))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        data = torch.utils.data.TensorDataset(torch.zeros(2 * _STEPS * batch, width))
        times: tuple[list[int], list[int]] = ([], [])
        batches = iter(torch.utils.data.DataLoader(data, batch_sampler=torch.arange(len(data)).split(batch)))
        for step in range(2 * _STEPS):
            is_marked = step % 2
            recorder.phase = None if is_marked else "over"
            begin = time.thread_time_ns()
            (values,) = next(batches)
            optimizer.zero_grad()
            model(values).square().mean().backward()
            optimizer.step()
            times[is_marked].append(time.thread_time_ns() - begin)
        bare, marked = (statistics.median(values) / 1000 for values in times)
        print(f"  step {bare:7.0f} µs, marked {marked - bare:+.0f} µs, which is {(marked - bare) / 5000:.2%} of 5 ms")
    recorder.phase = "over"
    inner = torch.nn.Identity()
    call = torch.nn.Module.__call__
    print(f"  module inside another: {_nanoseconds(call, inner) - _nanoseconds(call.__wrapped__, inner):+.0f} ns")


def _nanoseconds(call: object, module: object) -> float:
    """Return the best of several means of calling `module`."""
    means = []
    for _ in range(5):
        begin = time.perf_counter_ns()
        for _ in range(_CALLS):
            call(module, 0)
        means.append((time.perf_counter_ns() - begin) / _CALLS)
    return min(means)


def _start(environment: dict[str, str]) -> float:
    """Return the processor time that a Python needs to do nothing, in ms."""
    child = subprocess.Popen([sys.executable, "-c", ""], env=environment)
    _, code, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(code)
    return (used.ru_utime + used.ru_stime) * 1000


def main() -> None:
    """Print all of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = os.environ | {"OMP_NUM_THREADS": "1"}
        hooked = bare | hook_environment(window=None, status_folder=folder, environment=bare)
        profilers: dict[str, tuple[str, ...]] = {"alone": ()}
        if shutil.which("nsys"):
            profilers["under nsys"] = (*_NSYS, f"--output={folder / 'report'}")
        for title, profiler in profilers.items():
            command = [*profiler, sys.executable, __file__, _TRAIN]
            done = subprocess.run(command, env=hooked, capture_output=True, text=True, check=True)
            told = [line for line in done.stdout.splitlines() if line.startswith(("  step", "  module"))]
            print(title, *told, sep="\n")
        starts = [(_start(bare), _start(hooked)) for _ in range(_STARTS)]
    without, with_hook = (min(values) for values in zip(*starts, strict=True))
    print(f"start of Python: {without:.1f} ms, with the hook {with_hook - without:+.1f} ms")


if __name__ == "__main__":
    _train() if sys.argv[1:] == [_TRAIN] else main()
