"""Runs an example as torchrun does, with torch's own elastic agent, whose workers are forked from this process.

It has loaded torch, once and not for each of them; a worker attaches the hook as a Python that starts does. Arguments: a
folder, a step, and those of the example. Two ranks train twice: into FOLDER/whole, which nobody disturbs and no hook sees, and
into FOLDER/broken, where rank 1 ends with 1 after that step, once, and rank 0 comes late to the start after it. What rank 0 printed is in FOLDER/whole.txt and FOLDER/broken.txt.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(EXAMPLES))

import template  # noqa: E402
import torch._dynamo  # noqa: E402, F401 (an optimizer's first step loads it)
from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs  # noqa: E402
from torch.distributed.launcher import LaunchConfig, elastic_launch  # noqa: E402

SCRIPT = EXAMPLES / "train_resumable.py"
_LATE_S = 0.5  # enough to meet what the rank of the first start left in the store, where the store is the same
_LONGEST_S = 60


def train(name: str, folder: str, last_step: int, arguments: list[str]) -> None:
    """Be one worker."""
    signal.alarm(_LONGEST_S)
    rank, restarts = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    if rank == 0:
        output = os.open(f"{folder}/{name}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(output, 1)
    if name == "broken":
        from _gapfinder_hook.watch import watch_torch

        watch_torch()
        if restarts and rank == 0:
            time.sleep(_LATE_S)
        if not restarts and rank == 1:
            fail_after(last_step)
    sys.argv = [str(SCRIPT), *arguments, "--checkpoint", f"{folder}/{name}"]
    runpy.run_path(str(SCRIPT), run_name="__main__")
    sys.stdout.flush()


def fail_after(step: int) -> None:
    """Have this process end with 1 after a step."""
    step_done = template.Training.step_done

    def last_step_done(training: template.Training, *arguments: object, **options: object) -> None:
        step_done(training, *arguments, **options)
        if training.step == step:
            os._exit(1)

    template.Training.step_done = last_step_done


def launch(name: str, folder: str, last_step: int, arguments: list[str]) -> None:
    """Do what `torchrun --standalone --nproc-per-node 2 --max-restarts 1` does."""
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=2,
        run_id=name,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=1,
        monitor_interval=0.02,
        start_method="fork",
        logs_specs=DefaultLogsSpecs(log_dir=f"{folder}/logs-{name}"),
    )
    elastic_launch(config, train)(name, folder, last_step, arguments)


if __name__ == "__main__":
    for each in ("whole", "broken"):
        launch(each, sys.argv[1], int(sys.argv[2]), sys.argv[3:])
