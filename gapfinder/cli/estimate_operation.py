"""`gapfinder estimate all-reduce` and its like: the bill of one operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gapfinder.cli.estimate_options import (
    NUMBER,
    compute,
    count,
    estimate_format_option,
    member,
    network_options,
    print_estimate,
    size,
)
from gapfinder.cli.gathering import gathered
from gapfinder.errors import InputError
from gapfinder.estimate import Dtype, Schedule, compressed, estimate_collective

if TYPE_CHECKING:
    from gapfinder.cost import Operation
    from gapfinder.estimate import Network


def _size(*, given: int | None, parameters: int | None, dtype: Dtype | None, compression: float) -> int:
    if parameters is not None and dtype is not None and given is None:
        return compressed(parameters * dtype.bytes_per_parameter, factor=compression)
    if given is not None and parameters is None and dtype is None:
        return compressed(given, factor=compression)
    raise InputError("how much is sent? Write --bytes 14GB, or --parameters 7B with --dtype bf16")


_size_options = gathered(
    "size_bytes",
    _size,
    size("--bytes", "given", help="Size of the whole array, such as 14GB or 512MiB."),
    count("--parameters", help="In place of --bytes: this many gradients, such as 7B."),
    member("--dtype", Dtype, help="Type of these gradients."),
    click.option("--compression", type=float, default=1, metavar="FACTOR", help="How many times fewer bytes are sent."),
)
_schedule_options = gathered(
    "schedule",
    Schedule,
    click.option(
        "--accumulation", type=NUMBER, default=1, metavar="N", help="Micro-steps from one operation to the next."
    ),
    compute(help="Of one micro-step on a card: what can hide the operation."),
)


def command(operation: Operation) -> click.Command:
    """Return the command that estimates one operation."""

    @click.command(operation.value, help=f"Time of one {operation} over all ranks.", no_args_is_help=True)
    @_size_options
    @network_options
    @_schedule_options
    @estimate_format_option
    def bill(*, size_bytes: int, network: Network, schedule: Schedule, form: str) -> None:
        from gapfinder.cli.estimate_text import render_collective

        result = estimate_collective(operation, size_bytes=size_bytes, network=network, schedule=schedule)
        print_estimate(result, form=form, render=render_collective)

    return bill
