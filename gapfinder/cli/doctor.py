"""`gapfinder doctor`: what a machine needs checked before a long training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gapfinder.cli.doctor_comm import comm_options, measured_report, require_comm
from gapfinder.cli.options import format_option
from gapfinder.cli.terminal import progress_line
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gapfinder.cli.doctor_comm import CommWanted
    from gapfinder.doctor import Check, Machine

_FAILED = 1


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="[-- LAUNCHER...]", nargs=-1, type=click.UNPROCESSED)
@format_option("text", "json")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Folder that the run will write to, for its free space; the current one when not given.",
)
@click.option(
    "--deepspeed",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A DeepSpeed configuration (JSON) whose ZeRO settings are judged as well.",
)
@click.option("--nsys", metavar="PATH", help="The nsys to look at, in place of the newest that is found.")
@comm_options
def doctor(  # noqa: PLR0913 (one for each option)
    command: tuple[str, ...],
    *,
    form: str,
    output: Path,
    deepspeed: Path | None,
    nsys: str | None,
    wanted: CommWanted,
) -> None:
    """Check a machine before a long training, or its communication.

    What is looked at: nsys, GPUs, network, versions, names, space and limits. It only reads. What could not be looked
    at is told as "not checked", and is neither good nor bad.

    With --comm, the launcher after -- (torchrun, mpirun or srun, with its options) starts a small program as every
    rank, which measures collectives and all pairs of ranks: what is slow is named.

    \b
    Exit codes: 0 no failure (warnings do not count), 1 a failure, 2 bad input.
    """  # noqa: D301 (click's mark for text that is not wrapped again)
    if wanted.comm:
        if deepspeed is not None or nsys is not None or output != Path():
            raise InputError("--comm looks at communication only; leave --output, --deepspeed and --nsys out")
        checks, report = measured_report(command, wanted=wanted, form=form)
    else:
        require_comm(command, wanted=wanted)
        checks, report = _examined(output=output, deepspeed=deepspeed, nsys=nsys, form=form)
    from gapfinder.doctor import Status

    click.echo(report, nl=False)
    if any(check.status is Status.FAILURE for check in checks):
        raise click.exceptions.Exit(_FAILED)


def _examined(*, output: Path, deepspeed: Path | None, nsys: str | None, form: str) -> tuple[Sequence[Check], str]:
    from gapfinder.cli.doctor_text import checks_json, render_checks
    from gapfinder.doctor import examine, this_machine

    machine = this_machine(output=output, nsys=nsys)
    checks = list(_shown(examine(machine, configuration=deepspeed), machine=machine))
    return checks, checks_json(checks) if form == "json" else render_checks(checks)


def _shown(checks: Iterator[Check], *, machine: Machine) -> Iterator[Check]:
    """Pass checks on, and show on a terminal where they are: some wait for programs."""
    with progress_line(f"Checking {machine.host_name}") as status:
        for check in checks:
            status.update(f"Checking {machine.host_name}: {check.area}")
            yield check
