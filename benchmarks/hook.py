"""What the hook costs a training: per step alone and under nsys; and a Python that never sees torch.

Processes without and with the hook take turns, since nothing can be taken out of a running one: replacing
`Module.__call__` throws away what the interpreter has specialised at every call of a module. Three things are told,
from the surest to the one that takes in everything:

- Counts: how many more Python functions a step enters with the hook, and how many NVTX events it writes. They are the
  same on every machine.
- Time in the hook: clocks are read before and behind every place where the hook stands, and once more where the hook
  calls on to what it stands in front of. What lies between the two is the hook's. Processes without the hook read the
  same clocks at the same places; their sum, the cost of reading, is taken off. In it is what cold caches cost the hook;
  not in it is what the hook displaces for others, and what nsys does in threads of its own.
- Steps: the processor time of the training thread. It takes in everything, but processes differ from each other by more
  than the hook costs, unless nothing else runs there.

Each process trains one model, as trainings do. Processes differ, and a machine that others share may change its speed
within seconds, by a factor of two: so the time in the hook is also told as a share of the steps that it was measured
in, which change with it. What the hook does only now and then is in all of it: a value is the mean of 32 steps. The
time of a fixed loop stands beside them, so that the figures of two machines can be compared.

The two models have steps of about 5 ms on an idle machine: one of many small operations, like a thread that only
launches work for a GPU, and one that computes by itself and leaves the hook with cold caches.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from table import row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

sys.path.insert(0, str(Path(__file__).parents[1]))

from gapfinder.training.environment import CaptureWindow, hook_environment

_STEP_NS = 5_000_000
_SIZES = {"many small operations": (8, 2), "computing": (128, 64)}  # width and batch; the depth is what 5 ms take
_BLOCK = 32  # after so many steps the hook has done all that it does only now and then
_WARM_UP, _STEPS = 2 * _BLOCK, 6 * _BLOCK
_PAIRS = 5
_STARTS = 15
_NVTX = ("push_range", "pop_range", "start_range", "end_range", "mark")
ALIKE = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}  # the order in sets and dicts is a part of chance
_NSYS = ("nsys", "profile", "--trace=nvtx", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true")

_WINDOW = CaptureWindow(first=10, end=None)  # as with --steps 10: in what is measured, everything is marked

_clock = time.perf_counter_ns


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What every process is started with: environments without and with the hook, what stands before Python, depths."""

    folder: Path
    bare: dict[str, str]
    hooked: dict[str, str]
    profiler: tuple[str, ...] = ()
    depths: dict[str, str] = field(default_factory=dict)

    def told(self, *command: str, is_hooked: bool) -> list[Any]:
        """Run this file with `command`, and return what it tells, in a file: nsys writes to stdout too."""
        file = self.folder / "told.json"
        file.unlink(missing_ok=True)
        subprocess.run(
            [*self.profiler, sys.executable, __file__, str(file), *command],
            env=self.hooked if is_hooked else self.bare,
            capture_output=True,
            check=True,
            timeout=300,
        )
        told: list[Any] = json.loads(file.read_text(encoding="utf-8"))
        return told


class Training:
    """A training of a new model."""

    def __init__(self, width: int, batch: int, *, depth: int) -> None:
        import torch

        self.model = torch.nn.Sequential(*(torch.nn.Linear(width, width) for _ in range(depth)))
        self.call: Callable[..., Any] = self.model
        self._optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-4)
        data = torch.utils.data.TensorDataset(torch.zeros(batch, width))
        self._batches = iter(torch.utils.data.DataLoader(data, batch_sampler=itertools.repeat(range(batch))))

    def step(self) -> None:
        """Run one."""
        (values,) = next(self._batches)
        self._optimizer.zero_grad()
        self.call(values).square().mean().backward()
        self._optimizer.step()

    def median_ns(self, *, count: int) -> float:
        """Return the median of the processor time of a step in this thread."""
        times = []
        for _ in range(count):
            begin = time.thread_time_ns()
            self.step()
            times.append(time.thread_time_ns() - begin)
        return statistics.median(times)


class _Clocks:
    """Read around what the hook does in a training.

    Attributes:
        spent: ns between the outer and the inner clocks, one by one.
    """

    def __init__(self) -> None:
        import torch

        self.spent: list[int] = []
        self._inside: list[tuple[int, int]] = []
        self._put(torch.utils.data.dataloader._BaseDataLoaderIter, "__next__")  # noqa: SLF001
        self._put(torch.autograd, "_engine_run_backward")
        self._put(torch.optim.SGD, "step")

    def put_around(self, training: Training) -> None:
        """Put clocks around the training's forward pass."""
        model: Any = training.model
        model._compiled_call_impl = self._inner(model._call_impl)  # noqa: SLF001 - what is called wherever it is set
        training.call = self._outer(model)

    def _put(self, holder: object, name: str) -> None:
        """Put clocks around `name` and, inside the hook's function if there is one, around what that calls on to."""
        function = getattr(holder, name)
        if "_gapfinder_hook" in function.__code__.co_filename:
            cell = function.__closure__[function.__code__.co_freevars.index("run")]
            cell.cell_contents = self._inner(cell.cell_contents)
        else:
            function = self._inner(function)
        setattr(holder, name, self._outer(function))

    def _inner(self, function: Callable[..., object]) -> Callable[..., object]:
        def inner(*args: object, **kwargs: object) -> object:
            begin = _clock()
            result = function(*args, **kwargs)
            self._inside.append((begin, _clock()))
            return result

        return inner

    def _outer(self, function: Callable[..., object]) -> Callable[..., object]:
        def outer(*args: object, **kwargs: object) -> object:
            begin = _clock()
            result = function(*args, **kwargs)
            end = _clock()
            inner_begin, inner_end = self._inside.pop()
            self.spent.append(inner_begin - begin + end - inner_end)
            return result

        return outer


def _find_depths() -> Sequence[float]:
    """Return for each model the depth whose step takes 5 ms."""
    depths = []
    for width, batch in _SIZES.values():
        depth = 8
        for _ in range(3):
            training = Training(width, batch, depth=depth)
            depth = max(1, round(depth * _STEP_NS / training.median_ns(count=30)))
        depths.append(depth)
    return depths


def warm(model: str, depth: str) -> Training:
    """Return a training whose first steps are done."""
    training = Training(*_SIZES[model], depth=int(depth))
    training.median_ns(count=_WARM_UP)
    return training


def _measure(model: str, depth: str) -> Sequence[float]:
    """Return the processor time of a step, and what the clocks tell of one, in µs and as a share of the same steps."""
    training = warm(model, depth)
    step = training.median_ns(count=_STEPS)
    clocks = _Clocks()
    clocks.put_around(training)
    training.median_ns(count=_WARM_UP)
    spent, shares = [], []
    for _ in range(_STEPS // _BLOCK):
        clocks.spent.clear()
        begin = _clock()
        for _ in range(_BLOCK):
            training.step()
        spent.append(sum(clocks.spent) / _BLOCK)
        shares.append(sum(clocks.spent) / (_clock() - begin))
    return step / 1e3, statistics.median(spent) / 1e3, statistics.median(shares)


def _count(model: str, depth: str) -> Sequence[float]:
    """Return how many Python functions and NVTX events a step has."""
    from nvtx._lib import lib

    written: Counter[str] = Counter()
    for name in _NVTX:
        setattr(lib, name, _counted(getattr(lib, name), name, written))
    training = warm(model, depth)
    entered: Counter[str] = Counter()
    gc.disable()
    written.clear()
    own = _count.__code__.co_filename
    sys.setprofile(lambda frame, event, _: entered.update([event] if frame.f_code.co_filename != own else []))
    for _ in range(_BLOCK):
        training.step()
    sys.setprofile(None)
    return entered["call"] / _BLOCK, written.total() / _BLOCK


def _counted(function: Callable[..., object], name: str, written: Counter[str]) -> Callable[..., object]:
    def counted(*args: object) -> object:
        written[name] += 1
        return function(*args)

    return counted


def _loop_ms() -> float:
    """Return the time of a loop of Python that is the same everywhere."""
    times = []
    for _ in range(5):
        begin = _clock()
        total = 0
        for number in range(1_000_000):
            total += number
        times.append(_clock() - begin)
    return min(times) / 1e6


def with_depths(setting: Setting) -> Setting:
    """Return `setting` with the depths that 5 ms take now, and print how fast Python is."""
    row("a loop of a million additions in Python", f"{_loop_ms():.0f} ms")
    depths = map(str, setting.told("depths", is_hooked=False))
    return replace(setting, depths=dict(zip(_SIZES, depths, strict=True)))


def compare(title: str, setting: Setting) -> None:
    """Print what processes of both kinds tell, which take turns."""
    for model, depth in setting.depths.items():
        told: dict[bool, list[Any]] = {False: [], True: []}
        for number in range(_PAIRS):
            for is_hooked in (True, False) if number % 2 else (False, True):
                told[is_hooked].append(setting.told("measure", model, depth, is_hooked=is_hooked))
        bare, hooked = (list(zip(*told[is_hooked], strict=True)) for is_hooked in (False, True))
        what = f"hook, {title}: {model}, {depth} modules"
        for column, clock in enumerate(("processor time", "clocks")):
            row(f"{what}: {clock}", f"{_row(bare[column])} µs a step without it; {_row(hooked[column])} with it")
        least, median, share = (
            of(hooked[column]) - of(bare[column])
            for of, column in ((min, 1), (statistics.median, 1), (statistics.median, 2))
        )
        row(
            f"{what}: in the hook",
            f"{least:.0f} µs by the least, {median:.0f} µs by the median; {share:.2%} of the steps",
        )


def _row(values: Sequence[float]) -> str:
    return ", ".join(f"{of(values):.0f}" for of in (min, statistics.median, max))


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
        bare = os.environ | ALIKE
        hooked = bare | hook_environment(window=_WINDOW, status_folder=folder, environment=bare)
        setting = with_depths(Setting(folder=folder, bare=bare, hooked=hooked))
        model, depth = next(iter(setting.depths.items()))
        without, with_hook = (setting.told("count", model, depth, is_hooked=kind) for kind in (False, True))
        added = f"{with_hook[0] - without[0]:.1f} Python functions, {with_hook[1]:.1f} NVTX events"
        row("hook: added to a step", added)
        compare("alone", setting)
        if shutil.which("nsys"):
            compare("under nsys", replace(setting, profiler=(*_NSYS, f"--output={folder / 'report'}")))
        starts = [(_start_ms(bare), _start_ms(hooked)) for _ in range(_STARTS)]
    without, with_hook = (min(values) for values in zip(*starts, strict=True))
    row("hook: start of Python", f"{without:.1f} ms, with the hook {with_hook - without:+.1f} ms of CPU")


def _tell(file: str, command: str, *model_and_depth: str) -> None:
    """Write what a process of this benchmark measures."""
    commands: dict[str, Callable[..., Sequence[float]]] = {"depths": _find_depths, "measure": _measure, "count": _count}
    Path(file).write_text(json.dumps(commands[command](*model_and_depth)), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        _tell(*sys.argv[1:])
    else:
        main()
