"""The strategies as plain text: one sentence on what to take, then memory and communication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.cli.columns import in_columns
from gapfinder.estimate.transfers import Behind
from gapfinder.units import format_bytes, format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gapfinder.estimate import Plan
    from gapfinder.estimate.plan import Choice

_NOT_ESTIMATED = "?"
_SOURCES = (
    ("ZeRO", "memory and communication as in https://arxiv.org/abs/1910.02054"),
    ("Tensor parallelism", "https://arxiv.org/abs/1909.08053 (Megatron-LM)"),
    ("Bubble (p-1)/(m+p-1)", "https://arxiv.org/abs/1811.06965 (GPipe)"),
    ("Time of an operation", "https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md"),
)


def render_plan(result: Plan) -> str:
    """Return the strategies as two tables, memory and communication, under one sentence on what to take."""
    return "".join(f"{line}\n" for line in _plan(result))


def _plan(result: Plan) -> Iterator[str]:
    request, first = result.request, result.choices[0]
    if result.simplest is None:
        yield "Nothing fits: take more cards, or cards with more memory, or keep optimizer states on the host (slower)."
    else:
        left = format_bytes(first.left_bytes)
        yield f"Simplest that fits: {first.name}. It leaves {left} of each card for activations and buffers."
    dtype = request.model.dtype
    each = dtype.bytes_per_parameter
    yield ""
    yield f"Memory of each card, of {format_bytes(request.memory_bytes)}"
    yield f"{each} + {each} + {dtype.optimizer_bytes} bytes a parameter: itself, its gradient, Adam's states ({dtype})."
    headers: tuple[str, ...] = ("strategy", "parameters", "gradients", "optimizer", "in all", "left")
    yield from in_columns([headers, *map(_memory, result.choices)])
    yield ""
    yield "Communication of each card in a step"
    headers = ("strategy", "sent", "time", "can hide behind", "bubble")
    yield from in_columns([headers, *map(_communication, result.choices)])
    if request.compute_ns is not None:
        yield ""
        yield f"A step with {format_duration(request.compute_ns)} of compute on each card"
        headers = ("strategy", "nothing hidden", "hidden at best", "step then")
        yield from in_columns([headers, *map(_step, result.choices)])
    yield ""
    yield from _remarks(result)


def _memory(choice: Choice) -> tuple[str, ...]:
    held = choice.states
    sizes = (held.parameters_bytes, held.gradients_bytes, held.optimizer_bytes, choice.total_bytes)
    left = format_bytes(choice.left_bytes) if choice.fits else "does not fit"
    return (choice.name, *map(format_bytes, sizes), left)


def _communication(choice: Choice) -> tuple[str, ...]:
    hiding = [behind.value for behind in (Behind.FORWARD, Behind.BACKWARD) if _has(choice, behind)]
    if _has(choice, Behind.NOTHING):
        hiding.append("in part nothing" if hiding else "nothing")
    return (
        choice.name,
        _known(choice.sent_bytes, format_bytes),
        _known(choice.communication_ns, format_duration),
        ", ".join(hiding) if choice.not_estimated is None else _NOT_ESTIMATED,
        format_share(choice.bubble),
    )


def _has(choice: Choice, behind: Behind) -> bool:
    return any(transfer.behind is behind for transfer in choice.transfers)


def _step(choice: Choice) -> tuple[str, ...]:
    times = (choice.exposed_step_ns, choice.hidden_at_best_ns, choice.hidden_step_ns)
    return (choice.name, *(_known(time, format_duration) for time in times))


def _known(value: int | None, form: Callable[[int], str]) -> str:
    return _NOT_ESTIMATED if value is None else form(value)


def _remarks(result: Plan) -> Iterator[str]:
    for reason in dict.fromkeys(choice.not_estimated for choice in result.choices if choice.not_estimated):
        yield f"{_NOT_ESTIMATED} {reason}."
    yield "Activations are not estimated; what is left must hold them, communication buffers and fragmentation."
    yield from (f"{what}: {source}" for what, source in _SOURCES)
