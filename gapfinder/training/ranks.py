"""The ranks of a training, and how they tell each other what they know."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

from gapfinder.errors import InputError
from gapfinder.training.startup._gapfinder_hook.place import find_place, has_process_group

_Json = TypeVar("_Json")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ranks:
    """This process's rank among those of its job.

    Attributes:
        is_joined: the process group is initialised, so that ranks can talk.
    """

    rank: int
    world_size: int
    is_joined: bool

    def gather(self, value: _Json) -> list[_Json]:
        """Return what every rank gave, which JSON can hold, in the order of ranks; all of them must call it."""
        if self.world_size == 1:
            return [value]
        self.require_joined()
        import torch.distributed as dist

        texts: list[str | None] = [None] * self.world_size
        dist.all_gather_object(texts, json.dumps(value))
        return [json.loads(text or "null") for text in texts]

    def from_first(self, value: _Json) -> _Json:
        """Return what rank 0 gave."""
        return self.gather(value)[0]

    def require_joined(self) -> None:
        """Refuse a job of several ranks that cannot talk yet."""
        if self.world_size > 1 and not self.is_joined:
            raise InputError(
                f"{self.world_size} ranks have no process group; call torch.distributed.init_process_group first"
            )


def own_ranks() -> Ranks:
    """Return what the process group tells, else the launcher's variables, else rank 0 of 1."""
    torch = sys.modules.get("torch", ModuleType("torch"))  # what was never imported has no process group
    place = find_place(torch)
    return Ranks(rank=place.rank, world_size=place.world_size, is_joined=has_process_group(torch))
