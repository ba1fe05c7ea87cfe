"""When checkpoints are saved, what each rank saves, and how many are kept."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gapfinder.errors import InputError


class Layout(StrEnum):
    """Which ranks save model and optimizer; each saves its random generators and its place among the samples."""

    RANK_0 = "rank 0"
    SHARDED = "sharded"


class NewWorldSize(StrEnum):
    """What to do with a checkpoint of another number of ranks, which cannot continue to the last bit."""

    REFUSE = "refuse"
    RESEED = "reseed"


@dataclass(frozen=True, kw_only=True, slots=True)
class SavePolicy:
    """When checkpoints are saved and how.

    Attributes:
        every: steps between two of them.
        keep: how many are kept.
        layout: which ranks save model and optimizer: rank 0, where they are the same on all, or each its own.
        background: copy the states to the CPU and write the copy while the training goes on; what goes wrong then is
            raised by the next call.
        new_world_size: whether a checkpoint of another number of ranks is refused, or continued with random generators
            seeded anew on all ranks.
        patience_s: how long rank 0 waits for the others' parts.
    """

    every: int = 1000
    keep: int = 3
    layout: Layout = Layout.RANK_0
    background: bool = False
    new_world_size: NewWorldSize = NewWorldSize.REFUSE
    patience_s: float = 600.0

    def __post_init__(self) -> None:
        if self.every < 1 or self.keep < 1:
            raise InputError(f"every={self.every}, keep={self.keep} saves or keeps nothing; give at least 1 of each")
        if self.layout is Layout.SHARDED and self.new_world_size is NewWorldSize.RESEED:
            raise InputError(
                "each rank's own shard fits only as many ranks as before; keep new_world_size at refuse, or save "
                "whole states with layout rank 0"
            )
