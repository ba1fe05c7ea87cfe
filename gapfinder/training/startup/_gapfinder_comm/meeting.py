"""Brings the ranks together: where they meet, and what they tell each other before any data is sent."""

from __future__ import annotations

import json
import os
import platform
import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# How many ranks of the job are on this machine, by launcher; see also the families of the hook's place.py.
_LOCAL_SIZES = (
    "LOCAL_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_SIZE",
    "MV2_COMM_WORLD_LOCAL_SIZE",
    "MPI_LOCALNRANKS",
)
_FIRST_NODE = re.compile(r"([^\[,]+)(?:\[(\w+)[^\]]*\]([^,]*))?")


class NoAddressError(Exception):
    """Nobody says where the first rank is."""


def address(environment: Mapping[str, str], *, world_size: int) -> str:
    """Return the host of the first rank: as set, else this machine when all are on it, else Slurm's first node."""
    told = environment.get("MASTER_ADDR", "").strip()
    if told:
        return told
    if str(world_size) in (environment.get(name) for name in _LOCAL_SIZES):
        return "127.0.0.1"
    if environment.get("SLURM_STEP_NUM_NODES") == "1":
        return "127.0.0.1"
    first = _FIRST_NODE.match(environment.get("SLURM_STEP_NODELIST", ""))
    if first:
        return "".join(part or "" for part in first.groups())
    raise NoAddressError("MASTER_ADDR is not set; set it to the host of rank 0 and pass it to all ranks (mpirun -x)")


def meet(dist: Any, *, rank: int, world_size: int, port: int, patience: float) -> Any:
    """Return the store that all ranks share; rank 0 serves it where the launcher does not."""
    os.environ["MASTER_ADDR"] = address(os.environ, world_size=world_size)
    os.environ.setdefault("MASTER_PORT", str(port))
    store, _, _ = next(dist.rendezvous("env://", rank, world_size, timeout=timedelta(seconds=patience)))
    store.set_timeout(timedelta(seconds=patience))
    return Board(dist.PrefixStore("gapfinder", store))


class Board:
    """A store of JSON values that all ranks read; who reads waits until the value is there."""

    def __init__(self, store: Any) -> None:
        self.store = store

    def put(self, key: str, value: object) -> None:
        """Let all ranks read a value."""
        self.store.set(key, json.dumps(value))

    def get(self, key: str) -> Any:
        """Return a value once it is there."""
        return json.loads(self.store.get(key))

    def gather(self, key: str, ranks: list[int]) -> dict[int, Any]:
        """Return what each of some ranks has put."""
        return {rank: self.get(f"{key}/{rank}") for rank in ranks}


def own_facts(torch: Any, *, host: str, local_rank: int) -> dict[str, object]:
    """Return what a rank is and has; `device` is the GPU for it alone, None where there is none."""
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    device = local_rank if local_rank < gpus else 0 if gpus == 1 and local_rank == 0 else None
    return {
        "host": host,
        "local_rank": local_rank,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "nccl": _nccl(torch) if gpus else None,
        "gpus": gpus,
        "device": device,
        "gpu": None if device is None else torch.cuda.get_device_name(device),
    }


def _nccl(torch: Any) -> str | None:
    try:
        return ".".join(str(part) for part in torch.cuda.nccl.version()[:3])
    except (AttributeError, RuntimeError, TypeError):  # a build without NCCL
        return None
