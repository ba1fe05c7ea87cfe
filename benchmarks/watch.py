"""What a watch costs a training while it captures nothing: the hook with its marks off, and an idle session of nsys.

- Time in the hook: by the clocks of `hook.py`, in processes without a watch and with one, which take turns; those with
  one are started under the idle session, as a watch starts them.
- Time in nsys: what the threads take that it starts in the training, by the kernel's own count, and how many of perf's
  samples of the whole process lie in nsys's libraries or in code of no file, where a patched function would lead. A
  session that also traces OS calls is told beside it, to see that samples find nsys where it is at work.
- The watch itself runs in a process of its own: the processor time of its looks is told as a share of one core.

Whole steps of two processes cannot be told apart by half a percent: where their memory lies makes more of a difference
than that, also with the same environment. The rows of processor time show by how much.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from hook import ALIKE, Setting, compare, warm, with_depths
from table import row

from gapfinder.capture.nsys import find_nsys
from gapfinder.training.environment import hook_environment
from gapfinder.training.step_stream import MarkSwitch, StepReader
from gapfinder.watch.judge import Judge
from gapfinder.watch.nsys_options import TRACES, session_options
from gapfinder.watch.rules import Rules
from gapfinder.watch.session import open_session

_SECONDS = 15.0
_LOOKS = 100
_PERF = ("perf", "record", "--quiet", "--event=cpu-clock:u", "--freq=5000")
_NO_FILE = ("[unknown", "//", "anon")
_REPORT = ("perf", "report", "--quiet", "--stdio", "--fields=sample,dso")


def _watched(stack: ExitStack, folder: Path, bare: dict[str, str], *nsys_args: str) -> dict[str, str]:
    """Return the environment of a training under a watch, whose session is open until `stack` closes it."""
    MarkSwitch(folder).make()
    environment = bare | hook_environment(window=None, status_folder=folder, environment=bare, watch_folder=folder)
    if shutil.which("nsys"):
        nsys = find_nsys()
        options = session_options(nsys, nsys_args=nsys_args)
        session = open_session(nsys, options=options, log=folder / "nsys.log", environment=bare)
        stack.callback(session.close)
        environment |= session.environment
    return environment


def _rest(title: str, setting: Setting) -> None:
    """Print what nsys does in a training while it is idle."""
    file = setting.folder / "told.json"
    model, depth = next(iter(setting.depths.items()))
    subprocess.run([sys.executable, __file__, str(file), model, depth], env=setting.hooked, check=True, timeout=300)
    told = json.loads(file.read_text(encoding="utf-8"))
    what = f"watch: {title} in a training"
    row(
        f"{what}: its threads",
        f"{told['others']} beside the one that trains; {told['others_ns'] / told['own_ns']:.3%} of its processor time",
    )
    if "samples" in told:
        row(
            f"{what}: its code",
            f"{told['samples_in_nsys']} of {told['samples']:,} samples in it, or in code of no file",
        )
    else:
        row(f"{what}: its code", "not measured: no perf that may sample")


def _train(file: Path, model: str, depth: str) -> None:
    """Be that training, and write what its threads and its code took."""
    training = warm(model, depth)
    data = file.with_suffix(".perf")
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    perf = None
    if shutil.which("perf"):
        command = (*_PERF, f"--output={data}", f"--pid={os.getpid()}")
        perf = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    before, end = _thread_times(), time.monotonic() + _SECONDS
    while time.monotonic() < end:
        training.step()
    spent = {thread: ns - before.get(thread, 0) for thread, ns in _thread_times().items()}
    own = spent.pop(os.getpid())
    told = {"own_ns": own, "others": len(spent), "others_ns": sum(spent.values())}
    if perf is not None:
        perf.send_signal(signal.SIGINT)
        perf.wait(60)
        told |= _samples(data, environment)
    file.write_text(json.dumps(told), encoding="utf-8")


def _thread_times() -> dict[int, int]:
    """Return the processor time of each thread of this process, in ns."""
    return {
        int(task.name): int((task / "schedstat").read_text().split()[0]) for task in Path("/proc/self/task").iterdir()
    }


def _samples(data: Path, environment: dict[str, str]) -> dict[str, int]:
    """Return how many samples there are, and how many of them are not in a file of the training's own."""
    done = subprocess.run((*_REPORT, f"--input={data}"), env=environment, capture_output=True, text=True, check=False)
    found = [line.split(maxsplit=1) for line in done.stdout.splitlines() if line.strip()]
    if not found:
        return {}
    folder = os.environ.get("NVTX_INJECTION64_PATH", "")
    of_nsys = {file.name for file in Path(folder).parent.glob("*.so*")} if folder else set()
    foreign = [
        int(count) for count, name in found if name.strip() in of_nsys or name.startswith(("[unknown", "//", "anon"))
    ]
    return {"samples": sum(int(count) for count, _ in found), "samples_in_nsys": sum(foreign)}


def _looks(folder: Path) -> None:
    """Print what the looks of a watch take."""
    judge, reader = Judge(Rules()), StepReader(folder)
    reader.poll()
    begun = time.process_time()
    for _ in range(_LOOKS):
        judge.see(reader.poll(), now_ns=time.monotonic_ns())
        judge.trigger(time.monotonic_ns())
    spent = (time.process_time() - begun) / _LOOKS
    row("watch: its looks", f"{spent * 1e3:.2f} ms each, five times a second: {spent * 5:.2%} of a core")


def main() -> None:
    """Print all of it."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        bare = os.environ | ALIKE
        hooked = _watched(stack, folder, bare)
        setting = with_depths(Setting(folder=folder, bare=bare, hooked=hooked))
        compare("of a watch, with an idle nsys" if hooked.get("LD_PRELOAD") else "of a watch", setting)
        if hooked.get("LD_PRELOAD"):
            _rest("an idle nsys", setting)
            with_osrt = _watched(stack, folder, bare, f"--trace={TRACES},osrt")
            _rest("an idle nsys with osrt", replace(setting, hooked=with_osrt))
        _looks(folder)


if __name__ == "__main__":
    if sys.argv[1:]:
        _train(Path(sys.argv[1]), *sys.argv[2:])
    else:
        main()
