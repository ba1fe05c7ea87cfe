"""Trainings under `gapfinder watch` with the real nsys: started, looked at, and never left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.watch.following import FollowedRecord
from gapfinder.watch.record import read_state

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gapfinder.watch.following import WatchRecord
    from gapfinder.watch.model import WatchState

ROOT = Path(__file__).parents[1]
PATIENCE_S = 120
# It waits to be told to go, and leaves its exit code where its parent cannot lose it.
TRAINING = """
import atexit, os, signal, sys, time
from pathlib import Path

def end(code):
    Path("exit_code").write_text(str(code))
    sys.exit(code)

signal.signal(signal.SIGTERM, lambda *_: end(33))
signal.signal(signal.SIGINT, lambda *_: end(34))
print("training", flush=True)
Path("pid").write_text(str(os.getpid()))
for _ in range(12000):
    if Path("go").exists():
        print("trained", flush=True)
        end(int(sys.argv[1]))
    time.sleep(0.01)
end(99)
"""


@dataclass(kw_only=True)
class Watching:
    """A watch that runs; the training's working folder is `place`, and `folder` in it is the watch's."""

    process: subprocess.Popen[str]
    place: Path

    @property
    def folder(self) -> Path:
        return self.place / "watched"

    @property
    def training_pid(self) -> int:
        return int((self.place / "pid").read_text())

    def state(self) -> WatchState:
        state = read_state(self.folder)
        assert state is not None
        return state

    def record(self) -> WatchRecord:
        return FollowedRecord(self.folder).read("")

    def has_started(self) -> bool:
        """Whether the training runs and its watch has written its state."""
        return (
            (self.place / "pid").exists()
            and (self.place / "pid").read_text() != ""
            and ((self.folder / "watch.json").exists())
        )

    def go(self) -> None:
        """Let the training end."""
        (self.place / "go").touch()

    def end(self) -> tuple[int, str, str]:
        """Wait for the watch, and return its exit code and what it and the training said."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err

    def agents(self) -> list[int]:
        """The processes that nsys keeps for this watch's session."""
        return [pid for pid, words in _processes() if f"--session-name=gapfinder-{self.process.pid}-".encode() in words]


def wait_for(is_so: Callable[[], object], *, seconds: float = PATIENCE_S) -> None:
    """Wait until something is so; fail where it does not become so."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.05)


def surroundings() -> dict[str, str]:
    """The environment of a watch: this Python is the active one, and gapfinder is this one."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path, "OMP_NUM_THREADS": "1"}


@contextmanager
def watching(place: Path, *options: str, training: tuple[str, ...] = ("train.py", "7")) -> Iterator[Watching]:
    """Watch a training in `place`; whatever a test leaves running is ended."""
    place.mkdir(exist_ok=True)
    (place / "train.py").write_text(TRAINING)
    words = [sys.executable, "-m", "gapfinder", "watch", "-o", "watched", "--no-history", *options, *training]
    process = subprocess.Popen(
        words, cwd=place, env=surroundings(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watching = Watching(process=process, place=place)
    try:
        yield watching
    finally:
        watching.go()
        if process.poll() is None:
            process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()
        process.communicate()
        for agent in watching.agents():
            with suppress(ProcessLookupError):
                os.kill(agent, 9)


def _processes() -> Iterator[tuple[int, bytes]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                yield int(entry.name), (entry / "cmdline").read_bytes()
