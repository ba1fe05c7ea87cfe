"""Runs the corpus through the commands, and holds what comes out against what is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hostile_base import Case, sound_bytes, written

ROOT = Path(__file__).parents[1]
PARTS = ("compute_only_ns", "hidden_ns", "exposed_ns", "copy_only_ns", "graph_only_ns", "idle_ns")
_MEASURES = ("text", "check", "diff", "collectives", "prepare", "export")
_JOINER = "\u200d"  # which signs are made of
_ALL = frozenset({0, 2, 3})


@dataclass(frozen=True)
class Worker:
    """A process that has loaded everything and forks for each file."""

    process: subprocess.Popen[str]
    folder: Path
    sound: Path

    def run(self, path: Path, plan: Sequence[str]) -> list[dict]:
        """Return what each command of the plan ended with; none may have been killed."""
        scratch = tempfile.mkdtemp(dir=self.folder)
        job = {"file": str(path), "other": str(self.sound), "scratch": scratch, "plan": list(plan)}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        ended = [one["what"] for one in answer["done"]]
        assert answer["code"] == 0, f"{path.name!a}: killed by {-answer['code']} after {ended}: {answer['stray']}"
        assert ended == list(plan)
        return answer["done"]


@contextmanager
def worker(folder: Path) -> Iterator[Worker]:
    """Start one; its libraries use one thread, so that memory and forks are what they seem."""
    home = folder / "sound"
    home.mkdir()
    sound = written(sound_bytes(), name="sound.sqlite")(home)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    environment = os.environ | threads | {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "tests")))}
    process = subprocess.Popen(
        (sys.executable, "-W", "error", "-m", "hostile_worker"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    warm = {"file": str(sound), "other": str(sound), "scratch": str(home)}
    process.stdin.write(json.dumps(warm | {"plan": ["analyze", *_MEASURES[:-1], "scrub"]}) + "\n")
    try:
        yield Worker(process, folder, sound)
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


def plan_of(case: Case, number: int) -> tuple[str, ...]:
    """Return the commands for a file: every one where it is refused, which is quick, else one of them in turn."""
    if 0 not in case.codes and 3 not in case.codes:
        return ("analyze", *_MEASURES, "scrub")
    return ("analyze", "scrub", _MEASURES[number % len(_MEASURES)])


def hold(case: Case, path: Path, done: dict) -> None:
    """Hold what one command ended with against what is right of any, and of this file."""
    what, code, line = done["what"], done["exit_code"], done["stderr"]
    assert not done["fault"], f"{what}: {done['fault']}"
    assert done["stray"] == "", f"{what} wrote past its streams"
    for shown in (line + done["stdout"]).split("\n"):
        assert shown.replace(_JOINER, "").isprintable(), f"{what}: {shown!a}"
    if code in (2, 4):
        assert line.startswith("gapfinder: error: "), line
        assert line.count("\n") == 1, line
        assert path.name in line or not path.name.isprintable(), line
        assert done["stdout"] == "", done["stdout"]
    if what == "analyze":
        assert code in case.codes, line
        assert case.words in line, line
    elif what == "scrub":
        assert code in _ALL | case.codes, line
    elif what == "export":
        assert code in (2, 4), line
    elif case.codes <= {2, 4}:
        assert code in _ALL | case.codes, line
    else:  # a check may not be able to answer, and a profile without GPU work is shown
        assert code in _ALL, line


def hold_numbers(case: Case, report: dict) -> None:
    """Hold a report in JSON against what was added up by hand; the parts of any window make it up."""
    lanes = report["lanes"]
    assert case.lanes in (None, len(lanes)), len(lanes)
    for lane in lanes:
        if lane["idle_ns"] is not None:
            assert sum(lane[part] for part in PARTS) == lane["window"]["duration_ns"]
    wrong = {name: lanes[0][name] for name, right in case.lane.items() if lanes[0][name] != right}
    assert not wrong, wrong
