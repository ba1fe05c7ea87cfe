"""`gapfinder doctor --comm`: measures how the ranks of a job reach each other, through the user's launcher."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from gapfinder.cli.gathering import gathered
from gapfinder.cli.terminal import progress_line
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gapfinder.doctor import Check
    from gapfinder.doctor.comm import Probed, ProbeRequest

_SECONDS, _PATIENCE = 60.0, "60s"


@dataclass(frozen=True, kw_only=True, slots=True)
class CommWanted:
    """What a user wrote, unjudged."""

    comm: bool
    link: str | None
    sizes: str | None
    seconds: float | None
    patience: str | None


comm_options = gathered(
    "wanted",
    CommWanted,
    click.option("--comm", is_flag=True, help="Measure communication: a program on every rank of the LAUNCHER."),
    click.option("--link", metavar="BANDWIDTH|GPU", help="What a link should carry, such as 100Gb/s, or H200."),
    click.option(
        "--sizes",
        metavar="SIZE,...",
        help="Sizes of collectives, such as 1MB,64MB; from 1 kB to 64 MB (NCCL: 1 GB) when not given.",
    ),
    click.option(
        "--seconds", metavar="N", type=click.FloatRange(min=1), help="Measure no longer than this; 60 when not given."
    ),
    click.option("--patience", metavar="DURATION", help="Give up when nothing moves for so long; 60s when not given."),
)


def measured_report(command: tuple[str, ...], *, wanted: CommWanted, form: str) -> tuple[Sequence[Check], str]:
    """Run the launcher, and return the checks of what was measured, and the report."""
    from gapfinder.cli.doctor_comm_text import render_measured
    from gapfinder.cli.doctor_text import checks_json, render_checks
    from gapfinder.doctor.comm import checks_of, find_link

    request = _request(command, wanted=wanted)
    link = None if wanted.link is None else find_link(wanted.link)
    probed = _probed(request)
    checks = checks_of(probed, link=link)
    if form == "json":
        return checks, checks_json(checks, communication=_as_json(probed))
    tables = "" if probed.measured is None else render_measured(probed.measured)
    return checks, tables + render_checks(checks)


def require_comm(command: tuple[str, ...], *, wanted: CommWanted) -> None:
    """Refuse words and options that need --comm."""
    given = [name for name in ("link", "sizes", "seconds", "patience") if getattr(wanted, name) is not None]
    if command or given:
        what = f"--{given[0]}" if given else repr(command[0])
        raise InputError(f"{what} needs --comm, which measures communication: gapfinder doctor --comm -- torchrun ...")


def _as_json(probed: Probed) -> dict[str, Any] | None:
    """Return what was measured, for JSON; None where nothing was."""
    measured = probed.measured
    if measured is None:
        return None
    return {
        "backend": measured.backend,
        "seconds": measured.seconds,
        "ranks": [asdict(rank) for rank in measured.ranks],
        "collectives": [
            {
                "operation": one.operation,
                "size_bytes": one.size_bytes,
                "time_ns": one.time_ns,
                "algorithm_bandwidth": one.algorithm_bandwidth,
                "bus_bandwidth": one.bus_bandwidth,
                "repeats": one.repeats,
            }
            for one in measured.collectives
        ],
        "skipped": [{"operation": operation, "size_bytes": size} for operation, size in measured.skipped],
        "pairs": [
            {
                "ranks": list(pair.ranks),
                "is_within_host": pair.is_within,
                "size_bytes": pair.size_bytes,
                "there_bandwidth": pair.there,
                "back_bandwidth": pair.back,
                "latency_ns": pair.latency_ns,
                "times_measured": pair.times,
            }
            for pair in measured.pairs
        ],
        "pairs_in_all": measured.pairs_in_all,
    }


def _request(command: tuple[str, ...], *, wanted: CommWanted) -> ProbeRequest:
    from gapfinder.doctor.comm import ProbeRequest
    from gapfinder.units import NS_PER_S, parse_bytes, parse_duration

    if not command:
        raise InputError("--comm needs a launcher: gapfinder doctor --comm -- torchrun --nproc-per-node 8")
    sizes = tuple(parse_bytes(size) for size in (wanted.sizes or "").split(",") if size.strip())
    if 0 in sizes:
        raise InputError("--sizes: nothing is sent with 0 bytes; write sizes such as 1kB,64MB")
    patience = parse_duration(wanted.patience or _PATIENCE)
    if patience < NS_PER_S:
        raise InputError(f"--patience {wanted.patience}: ranks need a second to say that they live; write 1s or more")
    return ProbeRequest(
        command=command, sizes=sizes, seconds=wanted.seconds or _SECONDS, patience_s=patience / NS_PER_S
    )


def _probed(request: ProbeRequest) -> Probed:
    """Measure, and show on a terminal what is being done."""
    from rich.markup import escape

    from gapfinder.cli.streams import say
    from gapfinder.doctor.comm import probe

    with progress_line("Measuring") as status:
        return probe(
            request,
            tell=lambda sentence: say(f"gapfinder: {sentence}"),
            show=lambda stage: status.update(f"Measuring: {escape(stage)}"),
        )
