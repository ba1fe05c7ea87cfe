"""The arithmetic of batches and learning rates that goes wrong when the number of cards changes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gapfinder.errors import InputError
from gapfinder.units import format_count


def global_batch(*, per_card: int, cards: int, accumulation: int = 1) -> int:
    """Return how many samples one optimizer step takes: per card, times cards, times micro-steps."""
    _require_counts(per_card=per_card, cards=cards, accumulation=accumulation)
    return per_card * cards * accumulation


def accumulation_for(batch: int, *, per_card: int, cards: int) -> int:
    """Return how many micro-steps make a global batch of exactly `batch` samples.

    Raises:
        InputError: no number of micro-steps does.
    """
    _require_counts(batch=batch, per_card=per_card, cards=cards)
    one = per_card * cards
    if batch % one:
        fitting = [count for count in range(1, batch + 1) if batch % (count * cards) == 0]
        advice = (
            f"take {_nearest(fitting, per_card)} per card" if fitting else f"take a batch that {cards} cards can share"
        )
        raise InputError(
            f"a global batch of {format_count(batch, 'sample')} is no multiple of {per_card} on each of {cards} cards "
            f"({one}); {advice}"
        )
    return batch // one


@dataclass(frozen=True, kw_only=True, slots=True)
class LinearScaling:
    """A learning rate that grows with the global batch, reached by linear warm-up.

    `2e-4` at 256 samples is `4e-4` at 512. Try the first hundred steps before you trust it.

    Attributes:
        base_lr: a learning rate that is known to work, with a global batch of `base_batch` samples.
        batch: the global batch of this training.
        warmup_steps: optimizer steps until the rate is reached; a batch that grew needs some.
    """

    base_lr: float
    base_batch: int
    batch: int
    warmup_steps: int

    def __post_init__(self) -> None:
        _require_counts(base_batch=self.base_batch, batch=self.batch)
        if not (self.base_lr > 0 and math.isfinite(self.base_lr)):
            raise InputError(f"a learning rate of {self.base_lr} teaches nothing; give one above 0")
        if self.warmup_steps < 0 or (self.warmup_steps == 0 and self.batch > self.base_batch):
            raise InputError(
                f"{self.warmup_steps} steps of warm-up to a batch of {self.batch} from {self.base_batch}: the rate "
                "grows with the batch, and would start too high; give some, such as 1000"
            )

    @property
    def peak_lr(self) -> float:
        """The learning rate after warm-up."""
        return self.base_lr * self.batch / self.base_batch

    def lr(self, step: int) -> float:
        """Return the learning rate of optimizer step `step`, counted from 0."""
        return self.peak_lr * self.factor(step)

    def factor(self, step: int) -> float:
        """Return the share of `peak_lr` in optimizer step `step`, counted from 0: what torch's LambdaLR asks for."""
        return 1.0 if step >= self.warmup_steps else (step + 1) / (self.warmup_steps + 1)


def _require_counts(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise InputError(f"{name}={count} is nothing to train with; give at least 1")


def _nearest(numbers: list[int], wanted: int) -> int:
    return min(numbers, key=lambda number: (abs(number - wanted), number))
