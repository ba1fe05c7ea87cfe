"""Options of the estimates: quantities with units, and groups of options that reach a command as one value."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from gapfinder.cli.gathering import Decorator, gathered
from gapfinder.cli.options import format_option
from gapfinder.cost import Algorithm
from gapfinder.errors import InputError
from gapfinder.estimate import Network
from gapfinder.units import parse_bandwidth, parse_bytes, parse_count, parse_duration

if TYPE_CHECKING:
    from collections.abc import Callable
    from enum import StrEnum

    from gapfinder.estimate import CollectiveEstimate, Plan


def quantity(option: str, *names: str, parse: Callable[[str], int], **settings: Any) -> Decorator:  # noqa: ANN401
    """Return an option whose value `parse`, one of the parsers of `gapfinder.units`, reads."""

    def read(_context: click.Context, _option: click.Parameter, text: str | None) -> int | None:
        try:
            return None if text is None else parse(text)
        except InputError as error:
            raise InputError(f"{option}: {error}") from error

    return click.option(option, *names, callback=read, **settings)


def member(option: str, kind: type[StrEnum], **settings: Any) -> Decorator:  # noqa: ANN401
    """Return an option whose value is a member of `kind`."""

    def read(_context: click.Context, _option: click.Parameter, text: str | None) -> StrEnum | None:
        return None if text is None else kind(text)

    return click.option(option, type=click.Choice([choice.value for choice in kind]), callback=read, **settings)


def _parse_compute(text: str) -> int:
    if nanoseconds := parse_duration(text):
        return nanoseconds
    raise InputError("without compute there is nothing to hide behind; leave the option out, or write 1s")


size = partial(quantity, parse=parse_bytes, metavar="SIZE")
count = partial(quantity, parse=parse_count, metavar="COUNT")
bandwidth = partial(quantity, parse=parse_bandwidth, metavar="BANDWIDTH")
duration = partial(quantity, parse=parse_duration, metavar="DURATION")
compute = partial(quantity, "--compute", "compute_ns", parse=_parse_compute, metavar="DURATION")


def print_estimate(result: CollectiveEstimate | Plan, *, form: str, render: Callable[..., str]) -> None:
    """Print a result as the text that `render` makes of it, or as JSON with the names of its attributes."""
    text = json.dumps({"schema_version": 1, **asdict(result)}, indent=2) + "\n" if form == "json" else render(result)
    click.echo(text, nl=False)


NUMBER = click.IntRange(min=1)

network_options = gathered(
    "network",
    Network,
    click.option("--ranks", type=NUMBER, required=True, metavar="N", help="Cards in all."),
    bandwidth("--bandwidth", required=True, help="Of each card in one direction, such as 40Gb/s or 5GB/s."),
    click.option("--nodes", type=NUMBER, default=1, metavar="N", help="Machines; 1 when not given."),
    bandwidth("--intra-bandwidth", help="Of each card inside its node, where there are several nodes."),
    duration("--latency", "latency_ns", default="0ns", help="Of one hop; none when not given."),
    member("--algorithm", Algorithm, default="ring", help="Decides the hops; ring when not given."),
)
estimate_format_option = format_option("text", "json")
