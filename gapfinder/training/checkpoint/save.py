"""Writes this rank's part of a checkpoint; rank 0 waits for the parts of all and gives the checkpoint its name."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.errors import CheckpointError
from gapfinder.training.checkpoint import folder as folders
from gapfinder.training.checkpoint.files import Manifest, write_content, write_manifest

if TYPE_CHECKING:
    from pathlib import Path

    from gapfinder.training.checkpoint.parts import Content
    from gapfinder.training.checkpoint.policy import SavePolicy
    from gapfinder.training.ranks import Ranks

_LOOK_AGAIN_S = 0.02


@dataclass(frozen=True, kw_only=True, slots=True)
class Saving:
    """One checkpoint on its way to the disk; no rank talks to another but by files, so it may run in any thread."""

    folder: Path
    attempt: str
    ranks: Ranks
    policy: SavePolicy
    content: Content

    @property
    def step(self) -> int:
        """The step that it is of."""
        return self.content["step"]

    def run(self) -> None:
        """Write; on rank 0 return when all of the checkpoint is on the disk, elsewhere when this rank's part is."""
        half = folders.half_path(self.folder, self.step, attempt=self.attempt)
        try:
            half.mkdir(exist_ok=True)
            write_part(half, self.content, ranks=self.ranks, is_continued=True)
            if self.ranks.rank == 0:
                self._await_others(half)
                path = folders.commit(half, folder=self.folder, step=self.step)
                folders.prune(self.folder, keep=self.policy.keep, newest=path)
        except OSError as error:
            self._give_up(half)
            raise CheckpointError(
                f"the checkpoint of step {self.step} was not saved to {self.folder}: {error.strerror or error}; those "
                "before it are as they were: see to the disk and start again"
            ) from error
        except CheckpointError:
            self._give_up(half)
            raise

    def _await_others(self, half: Path) -> None:
        deadline = time.monotonic() + self.policy.patience_s
        missing = set(range(1, self.ranks.world_size))
        while missing:
            missing -= {rank for rank in missing if folders.manifest_path(half, rank).exists()}
            failed = sorted(rank for rank in missing if folders.failure_path(half, rank).exists())
            if failed or (missing and time.monotonic() > deadline):
                why = f"rank {failed[0]} failed to write" if failed else f"rank {min(missing)} did not write"
                raise CheckpointError(
                    f"the checkpoint of step {self.step} was not saved to {self.folder}: {why} its part within "
                    f"{self.policy.patience_s:g} s; see what that rank says, and that all ranks share this folder"
                )
            if missing:
                time.sleep(_LOOK_AGAIN_S)

    def _give_up(self, half: Path) -> None:
        """Make room, and let rank 0 know; what fails here tells nothing new."""
        if self.ranks.rank == 0:
            folders.discard(half)
            return
        try:
            folders.part_path(half, self.ranks.rank).unlink(missing_ok=True)
            folders.failure_path(half, self.ranks.rank).touch()
        except OSError:
            return


def write_part(checkpoint: Path, content: Content, *, ranks: Ranks, is_continued: bool, reason: str = "") -> int:
    """Write this rank's file and its manifest into a folder that is there; return the file's size."""
    size, checksum = write_content(folders.part_path(checkpoint, ranks.rank), content)
    manifest = Manifest(
        step=content["step"],
        rank=ranks.rank,
        world_size=ranks.world_size,
        has_model=content["model"] is not None,
        bytes=size,
        sha256=checksum,
        is_continued=is_continued,
        reason=reason,
    )
    write_manifest(folders.manifest_path(checkpoint, ranks.rank), manifest)
    return size
