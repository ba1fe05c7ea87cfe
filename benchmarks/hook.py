"""What the hook costs a training: steps of about 5 ms and very short ones, without it, with it, and with it under nsys.

Times are the processor's, for the thread that trains: other programs of a shared machine do not count. The kinds take
turns and the best of several medians counts. Compare the numbers of one run with each other only.
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
_TURNS = 3
_STARTS = 20
_TRAIN = "train"
_NSYS = ("nsys", "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true")


def _train() -> None:
    """Print the median step of a large and of a small model, in µs."""
    import torch

    for width, depth, batch in ((128, 16, 128), (4, 2, 2)):
        model = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(depth)))
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        data = torch.utils.data.TensorDataset(torch.zeros(_STEPS * batch, width))
        times = []
        before = time.thread_time_ns()
        for (values,) in torch.utils.data.DataLoader(data, batch_sampler=torch.arange(len(data)).split(batch)):
            optimizer.zero_grad()
            model(values).square().mean().backward()
            optimizer.step()
            now = time.thread_time_ns()
            times.append(now - before)
            before = now
        print(statistics.median(times) / 1000)


def _measure(*, is_hooked: bool, is_profiled: bool, folder: Path) -> list[float]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    if is_hooked:
        environment |= hook_environment(window=None, status_folder=folder, environment=environment)
    profiler = (*_NSYS, f"--output={folder / 'report'}") if is_profiled else ()
    done = subprocess.run(
        [*profiler, sys.executable, __file__, _TRAIN], env=environment, capture_output=True, text=True, check=True
    )
    return [float(line) for line in done.stdout.splitlines() if line.replace(".", "", 1).isdigit()]


def _start(environment: dict[str, str]) -> float:
    """Return the processor time that a Python needs to do nothing, in ms."""
    child = subprocess.Popen([sys.executable, "-c", ""], env=environment)
    _, code, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(code)
    return (used.ru_utime + used.ru_stime) * 1000


def main() -> None:
    """Print steps and ratios, and what a Python without torch pays at its start."""
    kinds = {"without hook": (False, False), "with hook": (True, False)}
    if shutil.which("nsys"):
        kinds |= {"nsys without hook": (False, True), "nsys with hook": (True, True)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        turns = [
            {
                kind: _measure(is_hooked=hooked, is_profiled=profiled, folder=folder)
                for kind, (hooked, profiled) in kinds.items()
            }
            for _ in range(_TURNS)
        ]
        best = {kind: [min(values) for values in zip(*(turn[kind] for turn in turns), strict=True)] for kind in kinds}
        base_long, base_short = best["without hook"]
        for kind, (long, short) in best.items():
            print(f"{kind:18} {long:8.0f} µs ({long / base_long:.3f})  {short:6.1f} µs ({short - base_short:+.1f} µs)")
        bare = dict(os.environ)
        hooked = bare | hook_environment(window=None, status_folder=folder, environment=bare)
        starts = [(_start(bare), _start(hooked)) for _ in range(_STARTS)]
    without, with_hook = (min(values) for values in zip(*starts, strict=True))
    print(f"start of Python    {without:.1f} ms, with hook {with_hook:.1f} ms ({with_hook - without:+.1f} ms)")


if __name__ == "__main__":
    _train() if sys.argv[1:] == [_TRAIN] else main()
