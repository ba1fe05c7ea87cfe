"""What the hook costs a training: per step alone and under nsys, and what it costs a Python that never sees torch.

Whole processes without and with the hook take turns, as nothing can be taken out of a running one: replacing
`Module.__call__` throws away what the interpreter has specialised at every call of a module. Each process tells the
median of the processor time that its training thread needs for a step, once warm, and the time of all its steps on the
clock. Of the processes of each kind the best, the median and the worst are printed. A difference of two medians that is
smaller than the range of either tells nothing; the best ones are least disturbed by whatever else runs.

Beside that, processes of their own measure the time inside the recorder's methods, less that of measuring it. It is
far steadier, but a lower bound: neither the functions around torch's that call the recorder are in it, nor what it
displaces from the processor's caches, nor the work that nsys does in threads of its own.

The two models have steps of about 5 ms: one of many small operations, like a thread that only launches work for a GPU,
and one that computes by itself and leaves the hook with cold caches. Run it where nothing else runs; it takes about two
minutes there.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

sys.path.insert(0, str(Path(__file__).parents[1]))

from gapfinder.training.environment import hook_environment

_STEP_NS = 5_000_000
_SIZES = {"many small operations": (8, 2), "computing": (128, 64)}  # width and batch; the depth is what 5 ms take
_WARM_UP, _STEPS = 50, 200
_PAIRS = {"alone": 5, "under nsys": 3}
_STARTS = 30
_CALIBRATING_CALLS = 10_000
_NSYS = ("nsys", "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true")


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """What every process is started with: environments without and with the hook, what stands before Python, depths."""

    folder: Path
    bare: dict[str, str]
    hooked: dict[str, str]
    profiler: tuple[str, ...] = ()
    depths: tuple[str, ...] = ()

    def told(self, command: str, *, is_hooked: bool) -> list[Any]:
        """Run this file with `command`, and return what it tells, in a file: nsys writes to stdout too."""
        file = self.folder / "told.json"
        file.unlink(missing_ok=True)
        subprocess.run(
            [*self.profiler, sys.executable, __file__, str(file), command, *self.depths],
            env=self.hooked if is_hooked else self.bare,
            capture_output=True,
            check=True,
            timeout=300,
        )
        told: list[Any] = json.loads(file.read_text(encoding="utf-8"))
        return told


def _training(width: int, batch: int, *, depth: int) -> Callable[[], None]:
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


def _median_ns(step: Callable[[], None], *, count: int) -> float:
    """Return the median of the processor time of a step in this thread."""
    times = []
    for _ in range(count):
        begin = time.thread_time_ns()
        step()
        times.append(time.thread_time_ns() - begin)
    return statistics.median(times)


def _find_depths() -> list[int]:
    """Return for each model the depth whose step takes 5 ms."""
    depths = []
    for width, batch in _SIZES.values():
        depth = 8
        for _ in range(3):
            step = _training(width, batch, depth=depth)
            depth = max(1, round(depth * _STEP_NS / _median_ns(step, count=30)))
        depths.append(depth)
    return depths


def _trainings(depths: Sequence[str]) -> list[Callable[[], None]]:
    """Return the step of each model, warm."""
    steps = [_training(*size, depth=int(depth)) for size, depth in zip(_SIZES.values(), depths, strict=True)]
    for step in steps:
        _median_ns(step, count=_WARM_UP)
    return steps


def _measure_steps(depths: Sequence[str]) -> list[tuple[float, float]]:
    """Return for each model the median time of a step in µs, and the time of all of them on the clock in ms."""
    told = []
    for step in _trainings(depths):
        begin = time.perf_counter_ns()
        median = _median_ns(step, count=_STEPS)
        told.append((median / 1e3, (time.perf_counter_ns() - begin) / 1e6))
    return told


def _measure_inside(depths: Sequence[str]) -> list[float]:
    """Return for each model how many µs of a step are spent inside the recorder's methods, as a median."""
    from _gapfinder_hook.recorder import Recorder  # before torch is imported, which puts its methods behind torch's

    spent: list[int] = []
    for name, method in list(vars(Recorder).items()):
        if callable(method) and not name.startswith("_"):
            setattr(Recorder, name, _timed(method, spent))
    empty = _timed(lambda: None, spent)
    for _ in range(_CALIBRATING_CALLS):
        empty()
    measuring = statistics.median(spent)
    told = []
    for step in _trainings(depths):
        sums = []
        for _ in range(_STEPS):
            spent.clear()
            step()
            sums.append(sum(spent) - measuring * len(spent))
        told.append(statistics.median(sums) / 1e3)
    return told


def _timed(method: Callable[..., object], spent: list[int]) -> Callable[..., object]:
    """Return the method, made to add the time of each of its calls in ns."""

    @functools.wraps(method)
    def timed(*args: object, **kwargs: object) -> object:
        begin = time.perf_counter_ns()
        result = method(*args, **kwargs)
        spent.append(time.perf_counter_ns() - begin)
        return result

    return timed


def _compare(title: str, setting: _Setting) -> None:
    """Print what processes of both kinds tell, which take turns."""
    told: dict[bool, list[Any]] = {False: [], True: []}
    for number in range(_PAIRS[title]):
        for is_hooked in (True, False) if number % 2 else (False, True):
            told[is_hooked].append(setting.told("steps", is_hooked=is_hooked))
    inside = setting.told("inside", is_hooked=True)
    print(f"{title}, {_PAIRS[title]} processes of each kind: best, median, worst")
    for place, model in enumerate(_SIZES):
        print(f"  {model}, {setting.depths[place]} modules")
        for column, what, unit in ((0, "step, processor time", "µs"), (1, f"{_STEPS} steps on the clock", "ms")):
            bare, hooked = (_spread([one[place][column] for one in told[kind]]) for kind in (False, True))
            print(f"    {what}: without {_row(bare, unit)}; with the hook {_row(hooked, unit)}")
            best, median = (
                f"{with_hook - without:+.0f} {unit} ({with_hook / without - 1:+.2%})"
                for without, with_hook in list(zip(bare, hooked, strict=True))[:2]
            )
            print(f"      added: {best} of the best, {median} of the medians")
        print(
            f"    inside the recorder: {inside[place]:.0f} µs a step ({inside[place] * 1e3 / _STEP_NS:.2%} of 5 ms)",
            flush=True,
        )


def _spread(values: list[float]) -> tuple[float, float, float]:
    return min(values), statistics.median(values), max(values)


def _row(values: tuple[float, ...], unit: str) -> str:
    return f"{', '.join(f'{value:.0f}' for value in values)} {unit}"


def _start_ms(environment: dict[str, str]) -> float:
    """Return the processor time that a Python takes which does nothing, in ms."""
    started = subprocess.Popen([sys.executable, "-c", ""], env=environment)
    _, _, used = os.wait4(started.pid, 0)
    started.returncode = 0
    return (used.ru_utime + used.ru_stime) * 1000


def main() -> None:
    """Print all of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bare = os.environ | {"OMP_NUM_THREADS": "1"}
        hooked = bare | hook_environment(window=None, status_folder=folder, environment=bare)
        setting = _Setting(folder=folder, bare=bare, hooked=hooked)
        setting = replace(setting, depths=tuple(map(str, setting.told("depths", is_hooked=False))))
        _compare("alone", setting)
        if shutil.which("nsys"):
            _compare("under nsys", replace(setting, profiler=(*_NSYS, f"--output={folder / 'report'}")))
        starts = [(_start_ms(bare), _start_ms(hooked)) for _ in range(_STARTS)]
    without, with_hook = (min(values) for values in zip(*starts, strict=True))
    print(f"start of Python: {without:.1f} ms, with the hook {with_hook - without:+.1f} ms")


def _tell(file: str, command: str, *depths: str) -> None:
    """Write what a process of this benchmark measures."""
    commands: dict[str, Callable[[Sequence[str]], Sequence[object]]]
    commands = {"depths": lambda _: _find_depths(), "steps": _measure_steps, "inside": _measure_inside}
    Path(file).write_text(json.dumps(commands[command](depths)), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        _tell(*sys.argv[1:])
    else:
        main()
