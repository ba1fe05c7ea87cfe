"""The model to train, and what its states take on one card."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gapfinder.errors import InputError

if TYPE_CHECKING:
    from gapfinder.estimate.strategies import Strategy


class Dtype(StrEnum):
    """The type that parameters and gradients have while training with Adam."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP32 = "fp32"

    @property
    def bytes_per_parameter(self) -> int:
        """How long one parameter, and one gradient, is."""
        return 4 if self is Dtype.FP32 else 2

    @property
    def optimizer_bytes(self) -> int:
        """Adam's two moments in FP32; below FP32 there is an FP32 copy of the parameters as well (ZeRO paper, 3.1)."""
        return 8 if self is Dtype.FP32 else 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """What is trained; the last four, given together, tell how long activations between layers are.

    Attributes:
        batch: sequences per card and step, so `ranks` * `batch` in all.
    """

    parameters: int
    dtype: Dtype
    layers: int | None = None
    hidden: int | None = None
    sequence: int | None = None
    batch: int | None = None

    def __post_init__(self) -> None:
        if self.parameters < 1:
            raise InputError("a model without parameters needs no plan; write --parameters 7B, for example")
        shape = (self.layers, self.hidden, self.sequence, self.batch)
        if any(shape) and None in shape:
            raise InputError("--layers, --hidden, --sequence and --batch go together: give all four or none")

    @property
    def activation_bytes(self) -> int | None:
        """Size of the activations between two layers, for one card's part of the batch; None when not told."""
        if self.hidden is None or self.sequence is None or self.batch is None:
            return None
        return self.batch * self.sequence * self.hidden * self.dtype.bytes_per_parameter


@dataclass(frozen=True, kw_only=True, slots=True)
class States:
    """What stays in a card's memory from step to step, in bytes; activations are not among it."""

    parameters_bytes: int
    gradients_bytes: int
    optimizer_bytes: int

    @property
    def total_bytes(self) -> int:
        """All of it."""
        return self.parameters_bytes + self.gradients_bytes + self.optimizer_bytes


def states(model: Model, *, strategy: Strategy) -> States:
    """Return what a card holds: ZeRO 1 shards optimizer states, 2 gradients as well, 3 parameters as well (3.1, 5)."""
    cut = strategy.tensor * strategy.stages

    def held(each: int, *, sharded_from: int) -> int:
        pieces = cut * (strategy.data if strategy.zero >= sharded_from else 1)
        return -(-model.parameters * each // pieces)

    return States(
        parameters_bytes=held(model.dtype.bytes_per_parameter, sharded_from=3),
        gradients_bytes=held(model.dtype.bytes_per_parameter, sharded_from=2),
        optimizer_bytes=held(model.dtype.optimizer_bytes, sharded_from=1),
    )
