"""What was measured between ranks, as plain text: collectives by size, then pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.cli.columns import in_columns
from gapfinder.errors import visible
from gapfinder.units import format_bandwidth, format_bytes, format_count, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.doctor.comm import Measured
    from gapfinder.doctor.comm.judge import Kind
    from gapfinder.doctor.comm.measured import PairTime

_SLOWEST = 3


def render_measured(measured: Measured) -> str:
    """Return the tables."""
    return "".join(f"{visible(line)}\n" for line in _lines(measured))


def _lines(measured: Measured) -> Iterator[str]:
    from gapfinder.doctor.comm.judge import judge

    rows = [("operation", "size", "time", "algorithm", "bus")]
    rows += [
        (
            one.operation.value,
            format_bytes(one.size_bytes),
            format_duration(one.time_ns),
            format_bandwidth(one.algorithm_bandwidth),
            format_bandwidth(one.bus_bandwidth),
        )
        for one in measured.collectives
    ]
    yield from in_columns(rows)
    yield ""
    pairs: list[tuple[str, ...]] = [("pairs", "slowest", "median", "fastest", "latency")]
    pairs += [(_name(kind), *_speeds(kind), format_duration(kind.latency_ns)) for kind in judge(measured)]
    if len(measured.pairs) > _SLOWEST:
        pairs += [
            _row(pair) for pair in sorted(measured.pairs, key=lambda pair: (pair.bandwidth, pair.ranks))[:_SLOWEST]
        ]
    yield from in_columns(pairs)
    yield ""


def _name(kind: Kind) -> str:
    return f"{format_count(kind.pairs, 'pair')} {'within hosts' if kind.is_within else 'between hosts'}"


def _speeds(kind: Kind) -> Iterator[str]:
    for speed in (kind.slowest.bandwidth, kind.typical, kind.fastest.bandwidth):
        yield format_bandwidth(speed)


def _row(pair: PairTime) -> tuple[str, str, str, str, str]:
    name = "ranks {} and {}".format(*pair.ranks)
    return name, format_bandwidth(pair.bandwidth), "", "", format_duration(pair.latency_ns)
