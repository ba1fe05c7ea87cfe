"""`gapfinder doctor`: what a machine needs checked before a long training."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.doctor import Check, Machine

_FAILED = 1
_SCHEMA_VERSION = 1


@click.command()
@click.option(
    "--format", "form", type=click.Choice(("text", "json")), default="text", help="Kind of report; text when not given."
)
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
def doctor(*, form: str, output: Path, deepspeed: Path | None, nsys: str | None) -> None:
    """Check this machine before a long training.

    What is looked at: nsys, GPUs, network, versions, names, space and limits. It only reads. What could not be looked
    at is told as "not checked", and is neither good nor bad.

    \b
    Exit codes: 0 no failure (warnings do not count), 1 a failure, 2 bad input.
    """  # noqa: D301 (click's mark for text that is not wrapped again)
    from gapfinder.doctor import Status, examine, this_machine

    machine = this_machine(output=output, nsys=nsys)
    checks = list(_shown(examine(machine, configuration=deepspeed), machine=machine))
    click.echo(_json(checks) if form == "json" else _text(checks), nl=False)
    if any(check.status is Status.FAILURE for check in checks):
        raise click.exceptions.Exit(_FAILED)


def _shown(checks: Iterator[Check], *, machine: Machine) -> Iterator[Check]:
    """Pass checks on, and show on a terminal where they are: some wait for programs."""
    from rich.console import Console

    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    with Console(stderr=True, quiet=not is_terminal).status(f"Checking {machine.host_name}") as status:
        for check in checks:
            status.update(f"Checking {machine.host_name}: {check.area}")
            yield check


def _text(checks: list[Check]) -> str:
    from gapfinder.cli.doctor_text import render_checks

    return render_checks(checks)


def _json(checks: list[Check]) -> str:
    from gapfinder.doctor import Status

    counts = {status: sum(check.status is status for check in checks) for status in Status}
    report = {
        "schema_version": _SCHEMA_VERSION,
        "checks": [asdict(check) for check in checks],
        "failures": counts[Status.FAILURE],
        "warnings": counts[Status.WARNING],
        "not_checked": counts[Status.NOT_CHECKED],
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"
