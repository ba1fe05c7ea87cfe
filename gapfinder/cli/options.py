"""The options of every command that measures, and the settings they make with the settings file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from gapfinder.errors import InputError
from gapfinder.settings import CountCopies, Settings, override, read_settings

Command = TypeVar("Command", bound=Callable[..., Any])


def measuring_options(command: Command) -> Command:
    """Add the options; the command takes them as keyword arguments and hands them to `chosen_settings`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def format_option(*forms: str) -> Callable[[Command], Command]:
    """Return the option that chooses the kind of report; the command takes it as `form`."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        help=f"Kind of report; {forms[0]} when not given.",
    )


def report_options(*forms: str) -> Callable[[Command], Command]:
    """Return what adds the options of a report: its kind (`form`), its file (`output`), and `force`."""
    options = (
        format_option(*forms),
        click.option(
            "-o", "--output", type=click.Path(path_type=Path), help="File to write, in place of standard output."
        ),
        click.option("--force", is_flag=True, help="Overwrite the output file."),
    )

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def chosen_settings(*, config: Path | None, **options: object) -> Settings:
    """Return what the options say, else the settings file, else the defaults."""
    given = {name.replace("_", "-"): value for name, value in options.items() if value not in (None, ())}
    table = {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}
    return override(read_settings(file=config, start=Path()), table, source="options")


def _numbers(_context: click.Context, _option: click.Parameter, text: str | None) -> list[int] | None:
    try:
        return None if text is None else [int(number) for number in text.split(",")]
    except ValueError as error:
        raise InputError(f"not a list of numbers: {text!r}; write them with commas, such as 0,1,2") from error


_NUMBER = click.IntRange(min=0)
_OPTIONS = (
    click.option("--min-gap", metavar="DURATION", help="Shortest gap and hole that counts; 100us when not given."),
    click.option("--window", metavar="START:END", help="Only this time on the report's clock, such as 1.2s:1.9s."),
    click.option("--steps", metavar="FIRST:END", help="Only these steps; 3:8 are the steps 3 to 7."),
    click.option("--step-pattern", metavar="REGEX", help="What the whole text of a step's NVTX range matches."),
    click.option(
        "--communication-pattern",
        "communication_patterns",
        metavar="REGEX",
        multiple=True,
        help="Kernels that communicate as well; may be repeated.",
    ),
    click.option(
        "--compute-pattern",
        "compute_patterns",
        metavar="REGEX",
        multiple=True,
        help="Kernels that compute, whatever else matches; may be repeated.",
    ),
    click.option(
        "--count-copies",
        type=click.Choice([choice.value for choice in CountCopies]),
        help="Which copies count as communication; collective when not given.",
    ),
    click.option("--gpu", "gpus", metavar="N", multiple=True, type=_NUMBER, help="Only this device; may be repeated."),
    click.option(
        "--ranks", metavar="N,N,...", callback=_numbers, help="Rank of each lane, in the order of the report."
    ),
    click.option("--top", metavar="N", type=_NUMBER, help="How many holes of each lane to keep; 10 when not given."),
    click.option(
        "--link-bandwidth",
        metavar="RATE",
        help="What each GPU's link to the others carries in one direction, such as 400Gb/s: gives ideal times.",
    ),
    click.option("--config", type=click.Path(path_type=Path), help="Settings file, in place of the nearest one."),
)
