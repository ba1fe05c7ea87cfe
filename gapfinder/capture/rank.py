"""Runs one rank under an nsys of its own; a launcher starts it with the training's Python, so it imports nothing else.

Arguments: a JSON object (`nsys`: the words of its command line, `folder` of the reports, `environment` to set), then
how to run what follows (`script` or `module` with this Python, or `program`), then the training.
"""

from __future__ import annotations

import json
import os
import sys

RANK_VARIABLES = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
"""Where launchers tell a process its rank: torchrun, Open MPI, PMIx, MPICH, Slurm."""

_USAGE = 2


def main() -> None:
    """Become nsys; the rank's own environment decides the report's name."""
    spec, how, training = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3:]
    rank = next((os.environ[name] for name in RANK_VARIABLES if os.environ.get(name, "").isdigit()), None)
    if rank is None:
        sys.stderr.write(
            f"gapfinder: error: this process has no rank: none of {', '.join(RANK_VARIABLES)} is set; "
            "start it with torchrun, mpirun or srun, or leave --per-rank out\n"
        )
        sys.exit(_USAGE)
    python = {"script": [sys.executable, "-u"], "module": [sys.executable, "-u", "-m"], "program": []}[how]
    os.makedirs(spec["folder"], exist_ok=True)  # noqa: PTH103 (pathlib would take 10 ms of each rank's start)
    os.environ.update(spec["environment"])
    # nsys replaces %p, %h and %q{NAME} in a report's name, and %% by %
    folder = spec["folder"].replace("%", "%%")
    output = f"--output={folder}/rank{rank}"
    command = [*spec["nsys"], output, *python, *training]
    os.execvp(command[0], command)  # noqa: S606 (the user's own training)


if __name__ == "__main__":
    main()
