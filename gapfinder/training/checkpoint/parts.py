"""What a checkpoint holds: the parts of a training that have a state, and their states at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from gapfinder.training.rng import rng_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gapfinder.training.rng import RngState
    from gapfinder.training.sampler import ResumableDistributedSampler, SamplerState


class Stateful(Protocol):
    """Anything that gives its state as a dict of tensors and plain values, and takes it back."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state."""

    def load_state_dict(self, state_dict: dict[str, Any], /) -> object:
        """Take the state."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """What of a training has a state, beside its random generators and its step.

    Attributes:
        sampler: None where samples have no place to go on from.
        others: what else a resume needs of each rank, by name, such as a learning-rate scheduler or a GradScaler.
        is_gathered: asking for a state needs all ranks, as where FSDP's shards are made whole. A rank that fails cannot
            save hot then: it would wait for the others for ever.
    """

    model: Stateful
    optimizer: Stateful
    sampler: ResumableDistributedSampler | None = None
    others: Mapping[str, Stateful] = field(default_factory=dict)
    is_gathered: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Position:
    """How far a training is, noted when a step ends: what runs on after it does not change this."""

    step: int
    sampler: SamplerState | None


class Content(TypedDict):
    """What one rank's file holds; model and optimizer are None where another rank's file has them."""

    step: int
    model: dict[str, Any] | None
    optimizer: dict[str, Any] | None
    rng: RngState
    sampler: SamplerState | None
    others: dict[str, dict[str, Any]]


def content_of(parts: Parts, position: Position, *, has_model: bool) -> Content:
    """Return what this rank saves; states that are gathered from all ranks are asked for on every rank."""
    model, optimizer = parts.model.state_dict(), parts.optimizer.state_dict()
    return {
        "step": position.step,
        "model": model if has_model else None,
        "optimizer": optimizer if has_model else None,
        "rng": rng_state(),
        "sampler": position.sampler,
        "others": {name: other.state_dict() for name, other in parts.others.items()},
    }


def copied(value: Any) -> Any:  # noqa: ANN401 (a state is nested as its owner likes)
    """Return a copy on the CPU that shares no tensor with `value`."""
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, dict):
        return {key: copied(one) for key, one in value.items()}
    if isinstance(value, list):
        return [copied(one) for one in value]
    if type(value) is tuple:
        return tuple(copied(one) for one in value)
    return value
