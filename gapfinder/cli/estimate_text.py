"""The bill of one operation as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.cli.columns import in_columns
from gapfinder.cost import Operation
from gapfinder.estimate.collective import Batch
from gapfinder.units import format_bandwidth, format_bytes, format_count, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.estimate import CollectiveEstimate
    from gapfinder.estimate.collective import Scaling


_OF_GRADIENTS = (Operation.ALL_REDUCE, Operation.REDUCE_SCATTER)


def render_collective(result: CollectiveEstimate) -> str:
    """Return the bill of one operation, and what it leaves of a step where the compute time is known."""
    return "".join(f"{line}\n" for line in _collective(result))


def _collective(result: CollectiveEstimate) -> Iterator[str]:
    cards = format_count(result.ranks, "rank") + (f" on {result.nodes} nodes" if result.nodes > 1 else "")
    yield f"{result.operation} of {format_bytes(result.size_bytes)} over {cards}: {format_duration(result.time_ns)}"
    yield ""
    rows = [
        (
            part.operation.value,
            part.scope.value,
            str(part.ranks),
            format_bytes(part.size_bytes),
            format_bytes(part.sent_bytes),
            format_bandwidth(part.bandwidth),
            format_duration(part.latency_ns),
            format_duration(part.time_ns),
        )
        for part in result.stages
    ]
    headers = ("operation", "where", "ranks", "size", "sent per card", "bandwidth", "latency", "time")
    yield from in_columns([headers, *rows])
    if result.accumulation > 1:
        yield ""
        each = format_duration(result.per_micro_step_ns)
        yield f"Once in {result.accumulation} micro-steps: {each} for each of them."
    if result.scaling and result.ranks > 1:
        yield ""
        yield from _scaling(result)


def _scaling(result: CollectiveEstimate) -> Iterator[str]:
    yield "A step, and its speed-up over one card that computes the same samples"
    rows = [
        (
            f"{scaling.keeps} kept",
            format_duration(scaling.compute_ns),
            format_duration(scaling.exposed_step_ns),
            f"{scaling.exposed_speedup:.2f}",
            format_duration(scaling.hidden_at_best_ns),
            format_duration(scaling.hidden_step_ns),
            f"{scaling.hidden_speedup:.2f}",
        )
        for scaling in result.scaling
    ]
    headers = ("", "compute", "nothing hidden", "speed-up", "hidden at best", "step then", "speed-up")
    yield from in_columns([headers, *rows])
    yield ""
    for scaling in result.scaling:
        yield _verdict(scaling, ranks=result.ranks)
    if result.operation in _OF_GRADIENTS:
        yield "Gradients come with backward, about two thirds of the compute: no more than that hides their exchange."


def _verdict(scaling: Scaling, *, ranks: int) -> str:
    case = {
        Batch.PER_CARD: "Where every card keeps the batch of one",
        Batch.IN_ALL: "Where they share the batch of one",
    }[scaling.keeps]
    if scaling.hidden_speedup < 1:
        return f"{case}, {ranks} cards are slower than one, whatever is hidden."
    if scaling.exposed_speedup < 1:
        return f"{case}, {ranks} cards are slower than one, unless communication is hidden."
    return (
        f"{case}, {ranks} cards do the work of {scaling.exposed_speedup:.2f}, at best of {scaling.hidden_speedup:.2f}."
    )
