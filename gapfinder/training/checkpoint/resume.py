"""Finds the newest checkpoint that is whole on every rank, and gives its states back to the training."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.errors import CheckpointError
from gapfinder.training.checkpoint import folder as folders
from gapfinder.training.checkpoint.files import file_problem, load_content, read_manifest
from gapfinder.training.checkpoint.parts import copied
from gapfinder.training.checkpoint.policy import NewWorldSize
from gapfinder.training.rng import seed_all, set_rng_state
from gapfinder.units import format_count

if TYPE_CHECKING:
    from pathlib import Path

    from gapfinder.training.checkpoint.files import Manifest
    from gapfinder.training.checkpoint.parts import Content, Parts
    from gapfinder.training.ranks import Ranks

_NOT_CONTINUED = "not continued"


@dataclass(frozen=True, kw_only=True, slots=True)
class Resumed:
    """Where a training goes on.

    Attributes:
        step: steps done; 0 at the start.
        path: the checkpoint; None at the start.
        damaged: what is wrong with each newer one, which was set aside.
    """

    step: int
    path: Path | None
    damaged: tuple[str, ...]


def choose(folder: Path, names: list[str], *, ranks: Ranks) -> tuple[Path | None, tuple[str, ...]]:
    """Return the first checkpoint of `names` that no rank finds fault with, and the faults of those before it.

    Raises:
        CheckpointError: there are checkpoints, and none of them is whole.
    """
    damaged: dict[str, str] = {}
    for name in names:
        problems = ranks.gather(_problem(folder / name, ranks=ranks))
        told = [f"rank {rank}: {problem}" for rank, problem in enumerate(problems) if problem]
        if not told:
            return folder / name, _set_aside(folder, damaged, ranks=ranks)
        if _NOT_CONTINUED not in problems and not name.startswith("hot-"):
            damaged[name] = told[0]
    if damaged:
        each = "; ".join(f"{name}: {problem}" for name, problem in damaged.items())
        raise CheckpointError(
            f"{folder} has {format_count(len(damaged), 'checkpoint')} and none that is whole ({each}); to train from "
            "the start, name another folder"
        )
    return None, ()


def load(checkpoint: Path, parts: Parts, *, ranks: Ranks, new_world_size: NewWorldSize) -> Content:
    """Give the states of a checkpoint that was found whole to `parts` and to the random generators; return it."""
    first = folders.first_manifest(checkpoint)
    if first is None:
        raise CheckpointError(f"{checkpoint} was whole and is gone; start again")
    is_same = first.world_size == ranks.world_size
    if not is_same:
        _require_reseeding(checkpoint, first, ranks=ranks, new_world_size=new_world_size)
    own: Content = load_content(folders.part_path(checkpoint, ranks.rank if ranks.rank < first.world_size else 0))
    whole: Content = own if own["model"] is not None else load_content(folders.part_path(checkpoint, 0))
    _require_parts(checkpoint, own, parts)
    if whole["model"] is None or whole["optimizer"] is None:
        raise CheckpointError(f"{checkpoint} has no model for rank {ranks.rank}; start again with the ranks it is of")
    parts.model.load_state_dict(whole["model"])
    # copied, as an optimizer may keep the tensors it is given, and these are those of a file that will be deleted
    parts.optimizer.load_state_dict(copied(whole["optimizer"]))
    for name, other in parts.others.items():
        other.load_state_dict(copied(own["others"][name]))
    if parts.sampler is not None and own["sampler"] is not None:
        parts.sampler.load_state_dict(own["sampler"])
    if is_same:
        set_rng_state(own["rng"])
    else:
        seed_all(_seed(first, rank=ranks.rank))
    return own


def _problem(checkpoint: Path, *, ranks: Ranks) -> str | None:
    """Return what this rank finds wrong with a checkpoint; rank 0 sees to what belongs to no rank of now."""
    first = folders.first_manifest(checkpoint)
    if first is None:
        return f"{checkpoint.name} has no manifest that can be read"
    every = [rank for rank in range(first.world_size) if rank % ranks.world_size == ranks.rank]
    for rank in every:
        manifest = read_manifest(folders.manifest_path(checkpoint, rank))
        if manifest is None or (manifest.step, manifest.rank) != (first.step, rank):
            return f"rank{rank}.json is missing or damaged"
        if not manifest.is_continued:
            return _NOT_CONTINUED
        problem = file_problem(folders.part_path(checkpoint, rank), manifest)
        if problem:
            return problem
    return None


def _set_aside(folder: Path, damaged: dict[str, str], *, ranks: Ranks) -> tuple[str, ...]:
    told = tuple(f"{name}: {problem}" for name, problem in damaged.items())
    if ranks.rank == 0:
        for found in folders.found_in(folder):
            if found.path.name in damaged:
                path = folders.set_aside(found)
                sys.stderr.write(
                    f"gapfinder: checkpoint {found.path.name} is damaged ({damaged[found.path.name]}); it is now "
                    f"{path.name}, and training goes on from the one before\n"
                )
    return told


def _require_reseeding(checkpoint: Path, first: Manifest, *, ranks: Ranks, new_world_size: NewWorldSize) -> None:
    manifests = [read_manifest(folders.manifest_path(checkpoint, rank)) for rank in range(first.world_size)]
    is_sharded = any(one.has_model for one in manifests[1:] if one)
    saved = f"{checkpoint} was saved by {format_count(first.world_size, 'rank')} and there are {ranks.world_size} now"
    if is_sharded:
        raise CheckpointError(f"{saved}: shards fit only as many ranks as before; start with {first.world_size}")
    if new_world_size is NewWorldSize.REFUSE:
        raise CheckpointError(
            f"{saved}: start with {first.world_size}, or let it go on with new random numbers "
            "(new_world_size=NewWorldSize.RESEED), which is not what the training would have been"
        )


def _require_parts(checkpoint: Path, content: Content, parts: Parts) -> None:
    missing = sorted(parts.others.keys() - content["others"].keys())
    if parts.sampler is not None and content["sampler"] is None:
        missing.append("the sampler's place")
    if missing:
        raise CheckpointError(f"{checkpoint} was saved without {', '.join(missing)}; resume with the parts it has")


def _seed(manifest: Manifest, *, rank: int) -> int:
    digest = hashlib.sha256(f"{manifest.sha256} {rank}".encode()).digest()
    return int.from_bytes(digest[:7])
