"""Runs commands on hostile files, each file in a process forked from this one, which has loaded everything.

Takes one JSON object a line, {file, other, scratch, plan}; prints one a line: what every command of the plan ended with, the
processor time, the memory that was added, and the signal that ended it all where one did. A command that takes too long
or too much memory dies of it, and nothing else does.
"""

# ruff: noqa: T201 - a script, whose answers are lines

from __future__ import annotations

import gc
import json
import os
import re
import resource
import shutil
import signal
import sys
import traceback
from pathlib import Path

LONGEST_S = 20
"""Processor time of one command: how long it takes by the clock says how busy the machine is."""

LONGEST_WAIT_S = 90
"""By the clock, for what waits and does nothing."""

MOST_BYTES = 1_500_000_000

ARGUMENTS = {
    "analyze": ("analyze", "{file}", "--format", "json"),
    "text": ("analyze", "{file}"),
    "check": ("check", "{file}", "--fail-on", "idle_share>99%", "--no-record"),
    "diff": ("diff", "{file}", "{other}"),
    "collectives": ("collectives", "{file}", "--format", "csv"),
    "scrub": ("scrub", "{file}", "{scratch}/scrubbed.sqlite"),
    "export": ("export", "{file}", "--output", "{scratch}/exported.sqlite"),
}
"""Command lines by what a plan calls them; `prepare` is what a dashboard does with an upload."""


def run(what: str, places: dict[str, str]) -> dict:
    """Run one command of the plan."""
    if what == "prepare":
        return prepare(places)
    from click.testing import CliRunner

    from gapfinder.cli.app import commands

    done = CliRunner().invoke(commands, [part.format(**places) for part in ARGUMENTS[what]])
    fault = None
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        fault = "".join(traceback.format_exception(done.exception))
    return {"exit_code": done.exit_code, "stdout": done.stdout, "stderr": done.stderr, "fault": fault}


def prepare(places: dict[str, str]) -> dict:
    """Do what the dashboard's worker does, and say a refusal as a command would."""
    from dashboards.data.preparing import prepare_profile
    from gapfinder.errors import GapfinderError, visible
    from gapfinder.settings import Settings

    end = {"exit_code": 0, "stdout": "", "stderr": "", "fault": None}
    try:
        prepare_profile(
            [Path(places["file"])],
            folder=Path(places["scratch"]) / "prepared",
            settings=Settings(),
            told=lambda _stage, _progress: None,
        )
    except GapfinderError as error:
        message = visible(" ".join(str(error).split()))
        return end | {"exit_code": error.exit_code, "stderr": f"gapfinder: error: {message}\n"}
    except BaseException:  # noqa: BLE001 (whatever it is, it is the finding)
        return end | {"exit_code": 1, "fault": traceback.format_exc()}
    return end


def memory(name: str) -> int:
    """Return a size that the system tells of this process, in bytes."""
    return int(re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024


def child(job: dict, answer: int) -> None:
    """Work on one file; whatever is written past the commands' own streams is told as well."""
    places = {key: job[key] for key in ("file", "other", "scratch")}
    stray = os.open(Path(job["scratch"]) / "stray", os.O_CREAT | os.O_RDWR)
    os.dup2(stray, 1)
    os.dup2(stray, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    most = memory("VmSize") + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    before = memory("VmRSS")
    os.environ["TMPDIR"] = job["scratch"]
    os.chdir(job["scratch"])
    for what in job["plan"]:
        signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
        signal.alarm(LONGEST_WAIT_S)
        spent = os.times()
        told = run(what, places)
        now = os.times()
        told |= {
            "what": what,
            "seconds": now.user + now.system - spent.user - spent.system,
            "bytes": memory("VmHWM") - before,
            "stray": os.pread(stray, 10_000, 0).decode(errors="replace"),
        }
        os.write(answer, json.dumps(told).encode() + b"\n")


def main() -> None:
    """Answer jobs until there are no more."""
    import gapfinder.cli.app  # noqa: F401 (loads what takes long to load)

    gc.disable()  # as the command line does; what is forked then shares its memory
    warm = json.loads(sys.stdin.readline())
    for what in warm["plan"]:
        told = run(what, warm)
        if told["fault"] or told["exit_code"] not in (0, 2):
            sys.exit(f"{what} fails on a sound file: {told}")
    for line in sys.stdin:
        job = json.loads(line)
        answers, answer = os.pipe()
        pid = os.fork()
        if not pid:
            code = 1
            try:
                os.close(answers)
                child(job, answer)
                code = 0
            except BaseException:  # noqa: BLE001 (a child must never run on as if it were the parent)
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(answer)
        with os.fdopen(answers) as read:
            done = [json.loads(one) for one in read]
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        stray = (Path(job["scratch"]) / "stray").read_text(errors="replace") if code else ""
        shutil.rmtree(job["scratch"], ignore_errors=True)
        print(json.dumps({"done": done, "code": code, "stray": stray}), flush=True)


if __name__ == "__main__":
    main()
