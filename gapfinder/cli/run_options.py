"""The options of `gapfinder run` that say what to capture and how; they reach the command as one value."""

from __future__ import annotations

from dataclasses import dataclass

import click

from gapfinder.cli.gathering import gathered


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What a user wrote, unjudged."""

    steps: str | None
    per_rank: bool
    capture_range: str | None
    nvtx_range: str | None
    no_annotate: bool
    nsys_args: tuple[str, ...]


capture_options = gathered(
    "wanted",
    Wanted,
    click.option("--steps", metavar="FIRST:END", help="Capture exactly these steps; up to step 30 when not given."),
    click.option("--per-rank", is_flag=True, help="An nsys in each rank of torchrun, mpirun or srun, not around all."),
    click.option(
        "--capture-range",
        type=click.Choice(["nvtx", "cudaProfilerApi", "none"]),
        help="What starts and stops the capture, in place of steps.",
    ),
    click.option("--nvtx-range", metavar="NAME@DOMAIN", help="The range of --capture-range nvtx; * is any domain."),
    click.option("--no-annotate", is_flag=True, help="Mark no steps and phases; captures the whole run."),
    click.option(
        "--nsys-arg",
        "nsys_args",
        metavar="ARG",
        multiple=True,
        help="For nsys profile, such as --sample=cpu; may be repeated.",
    ),
)
