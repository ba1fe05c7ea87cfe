"""Where a process stands in its job: rank, local rank, world size and host."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

# Rank, world size, local rank; the most specific launcher first. A torchrun under srun has both.
_FAMILIES = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"),
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    # not SLURM_NTASKS: a batch script has that of its whole allocation and is one process
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
)


class Place(NamedTuple):
    """A process's place; `is_final` where the process group itself told, `told_local_rank` where a launcher did."""

    rank: int
    world_size: int
    told_local_rank: int | None
    is_final: bool

    @property
    def local_rank(self) -> int:
        """The rank on this host; the rank itself where no launcher tells."""
        return self.rank if self.told_local_rank is None else self.told_local_rank

    @property
    def mark(self) -> str:
        """The text of the mark that tells the place; the host comes last because it may hold anything."""
        return f"rank={self.rank} local_rank={self.local_rank} world_size={self.world_size} host={host()}"


def host() -> str:
    """Return this machine's name."""
    return os.uname().nodename


def plain(text: str) -> str:
    """Return `text` as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", text)[:100]


def has_process_group(torch: ModuleType) -> bool:
    """Say whether the process group exists, which knows the rank best."""
    distributed = getattr(torch, "distributed", None)  # a torch that lacks what the hook needs still has a place
    return distributed is not None and distributed.is_available() and distributed.is_initialized()


def find_place(torch: ModuleType, environment: Mapping[str, str] = os.environ) -> Place:
    """Return what the process group tells, else what the launcher's variables do, else rank 0 of 1."""
    rank, world_size, local_rank = _from_launcher(environment)
    if has_process_group(torch):
        return Place(torch.distributed.get_rank(), torch.distributed.get_world_size(), local_rank, is_final=True)
    return Place(rank, world_size, local_rank, is_final=False)


def _from_launcher(environment: Mapping[str, str]) -> tuple[int, int, int | None]:
    for names in _FAMILIES:
        rank, world_size, local_rank = (_number(environment.get(name)) for name in names)
        if rank is not None and world_size is not None and rank < world_size:
            return rank, world_size, local_rank
    return 0, 1, None


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None  # noqa: PLR2004
