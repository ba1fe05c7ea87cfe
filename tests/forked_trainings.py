"""Runs scripts in processes forked from one that has loaded torch: once for all of them, and not for each.

As a program it takes one JSON object a line, {command, environment, folder, out, err}, and answers each with the exit code.
The hook attaches to the torch that is there already, as it does wherever a file in site-packages imported torch before it.
What loads torch behind the hook needs a process of its own: `run_training(..., is_forked=False)`.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LONGEST_S = 120


def run_forked(
    command: Sequence[str], *, environment: Mapping[str, str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """Run in `folder` what `python` would by this command."""
    with tempfile.TemporaryDirectory() as said:
        out, err = Path(said) / "stdout", Path(said) / "stderr"
        job = {"command": list(command), "environment": dict(environment), "folder": str(folder)}
        server = _server()
        server.stdin.write(json.dumps(job | {"out": str(out), "err": str(err)}) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        return subprocess.CompletedProcess(list(command), code, stdout=out.read_text(), stderr=err.read_text())


@cache
def _server() -> subprocess.Popen[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    server = subprocess.Popen(
        [sys.executable, "-P", __file__],
        env=environment | {"OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(_end, server)
    return server


def _end(server: subprocess.Popen[str]) -> None:
    server.stdin.close()
    server.wait(10)
    server.stdout.close()


def _become(job: dict, paths: list[str]) -> None:
    """Run the command in this process, which was forked for it, as one that Python started would."""
    signal.alarm(LONGEST_S)
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.clear()
    os.environ.update(job["environment"])
    os.chdir(job["folder"])
    main = sys.modules["__main__"] = ModuleType("__main__")
    first, *arguments = job["command"]
    if first == "-c":
        text, *arguments = arguments
        name, place = "<string>", ""
    else:
        text, name, place = Path(first).read_text(), first, str(Path(first).resolve().parent)
        main.__file__ = name
    sys.argv = [first, *arguments]
    sys.path[:] = [*job["environment"]["PYTHONPATH"].split(os.pathsep), *paths]
    sys.modules.pop("sitecustomize", None)
    if any((Path(path) / "sitecustomize.py").exists() for path in sys.path):
        import sitecustomize  # noqa: F401
    sys.path.insert(0, place)
    exec(compile(text, name, "exec"), vars(main))  # noqa: S102


def _serve() -> None:
    import torch
    import torch._dynamo  # an optimizer's first step loads it
    import torch.distributed
    import torch.utils.data  # noqa: F401

    paths, answers = [path for path in sys.path if path], sys.stdout
    for line in sys.stdin:
        child = os.fork()
        if not child:
            return _become(json.loads(line), paths)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), file=answers, flush=True)
    return None


if __name__ == "__main__":
    _serve()
