"""Runs examples in processes forked from this one, which has loaded torch: once, and not for each of them.

Takes a JSON list of {script, arguments, ranks, spoil, from, collectives}; prints a JSON list of what their first ranks
printed. Each rank gets the environment that torchrun would give it. `spoil` names a part of the checkpoint to replace
before the start, in a copy of the checkpoints in `from`; `collectives` a file for what rank 0 sends: a JSON list of name,
elements and type of each collective.
"""

from __future__ import annotations

import json
import math
import os
import runpy
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))

import sharded  # noqa: E402, F401 (loads what takes long to load)
import torch  # noqa: E402
import torch._dynamo  # noqa: E402 (an optimizer's first step loads it)
from torch.profiler import ProfilerActivity, profile  # noqa: E402

from gapfinder.training.checkpoint.files import read_manifest, write_content, write_manifest  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST_S = 60


def run(job: dict) -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    if "spoil" in job:
        folder = Path(job["arguments"][job["arguments"].index("--checkpoint") + 1])
        spoil(shutil.copytree(job["from"], folder), part=job["spoil"])
    with tempfile.TemporaryFile("w+") as output:
        children = [start(job, rank=rank, port=port, output=output.fileno()) for rank in range(job["ranks"])]
        if any(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children):
            output.seek(0)
            sys.exit(f"{job} failed: {output.read()}")
        output.seek(0)
        return output.read()


def start(job: dict, *, rank: int, port: int, output: int) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.alarm(_LONGEST_S)
        os.dup2(output, 1)
        if job["ranks"] > 1:
            place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": job["ranks"], "MASTER_PORT": port}
            os.environ.update({name: str(value) for name, value in place.items()}, MASTER_ADDR="127.0.0.1")
        sys.argv = [job["script"], *job["arguments"]]
        with written(job["collectives"]) if rank == 0 and "collectives" in job else nullcontext():
            runpy.run_path(str(EXAMPLES / job["script"]), run_name="__main__")
        sys.stdout.flush()
        code = 0
    except BaseException:  # noqa: BLE001 (a child must never run on as if it were the parent)
        traceback.print_exc()
    finally:
        os._exit(code)


@contextmanager
def written(path: str) -> Iterator[None]:
    """Write down what torch's own profiler sees of collectives: as they are called, and as gloo carries them out."""
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        yield
    events = profiler.profiler.kineto_results.events()
    collectives = [
        (event.name(), math.prod(event.shapes()[0]), event.dtypes()[0])
        for event in events
        if event.name().startswith(("c10d::", "gloo:")) and event.shapes()
    ]
    Path(path).write_text(json.dumps(collectives), encoding="utf-8")


def spoil(folder: Path, *, part: str) -> None:
    """Give the newest checkpoint what it would have if a training forgot one of its five parts."""
    newest = max(folder.glob("step-*"))
    saved = torch.load(newest / "rank0.pt", weights_only=True)
    if part == "model":
        saved["model"] = {name: torch.zeros_like(value) for name, value in saved["model"].items()}
    elif part == "optimizer":
        saved["optimizer"]["state"] = {}
    elif part == "rng":
        saved["rng"]["torch"] = torch.Generator().get_state()
    elif part == "sampler":
        saved["sampler"]["consumed"] = 0
    else:
        saved["step"] = 0
    size, checksum = write_content(newest / "rank0.pt", saved)
    manifest = read_manifest(newest / "rank0.json")
    write_manifest(newest / "rank0.json", replace(manifest, bytes=size, sha256=checksum))


if __name__ == "__main__":
    json.dump([run(job) for job in json.loads(sys.argv[1])], sys.stdout)
