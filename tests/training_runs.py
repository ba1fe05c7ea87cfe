"""Runs scripts as a training with the hook, under a stand-in for the nvtx package, and reads back what it would write."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from forked_trainings import run_forked

from gapfinder.training.environment import CaptureWindow, hook_environment
from gapfinder.training.status import ProcessStatus, read_statuses

FOLDER = Path(__file__).parent / "training"
STUB = FOLDER / "stub"
SCENARIOS = FOLDER / "scenarios"


@dataclass(frozen=True, kw_only=True)
class TrainingRun:
    """What one run left: its exit code, what it said, the NVTX calls and the statuses."""

    code: int
    stdout: str
    stderr: str
    calls: tuple[dict, ...]
    statuses: tuple[ProcessStatus, ...]

    def section(self, name: str) -> tuple[dict, ...]:
        """Return the calls between the announcement of `name` and the next one."""
        starts = [at for at, call in enumerate(self.calls) if call["kind"] == "section"]
        begin = next(at for at in starts if self.calls[at]["value"] == name)
        end = next((at for at in starts if at > begin), len(self.calls))
        return self.calls[begin + 1 : end]


def run_training(
    folder: Path,
    *command: str | Path,
    window: CaptureWindow | None = None,
    watch: Path | None = None,
    path: tuple[Path, ...] = (),
    is_forked: bool = False,
    **variables: str,
) -> TrainingRun:
    """Run `command` by this Python with the hook; `path` comes behind the hook in PYTHONPATH, then the stand-in.

    One that is forked has torch before it has the hook, and takes a second in place of seven.
    """
    statuses = folder / "status"
    statuses.mkdir()
    log = folder / "calls"
    environment = os.environ | variables
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (*path, STUB)))
    environment |= {"NVTX_LOG": str(log), "OMP_NUM_THREADS": "1"}
    environment |= hook_environment(window=window, watch_folder=watch, status_folder=statuses, environment=environment)
    if is_forked:
        done = run_forked(list(map(str, command)), environment=environment, folder=folder)
    else:
        done = subprocess.run(
            [sys.executable, *map(str, command)],
            check=False,
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
    return TrainingRun(
        code=done.returncode,
        stdout=done.stdout,
        stderr=done.stderr,
        calls=calls_in(log),
        statuses=read_statuses(statuses),
    )


def calls_in(log: Path) -> tuple[dict, ...]:
    """Return what the stand-in for nvtx wrote."""
    return tuple(map(json.loads, log.read_text().splitlines())) if log.exists() else ()


def outline(calls: tuple[dict, ...], *, without: tuple[str, ...] = ("garbage collection",)) -> str:
    """Draw ranges that nest as `text( )` and the others as `<text text>`; what began before the calls ends unseen."""
    words: list[str] = []
    stack: list[str | None] = []
    tokens: dict[int, str] = {}
    for call in calls:
        if call["kind"] == "push":
            text = None if call["value"] in without else call["value"]
            stack.append(text)
            words += [f"{text}("] if text else []
        elif call["kind"] == "pop" and stack:
            words += [")"] if stack.pop() else []
        elif call["kind"] == "start":
            token, text = call["value"]
            tokens[token] = text
            words.append(f"<{text}")
        elif call["kind"] == "end" and call["value"] in tokens:
            words.append(f"{tokens[call['value']]}>")
    return " ".join(words)
