"""The checkpoints of one training: saved as it goes, and gone on from when it is started again."""

from __future__ import annotations

import os
import secrets
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gapfinder.errors import CheckpointError, GapfinderError
from gapfinder.training.checkpoint import folder as folders
from gapfinder.training.checkpoint.parts import Parts, Position, content_of, copied
from gapfinder.training.checkpoint.policy import Layout, SavePolicy
from gapfinder.training.checkpoint.resume import Resumed, choose, load
from gapfinder.training.checkpoint.save import Saving, write_part
from gapfinder.training.ranks import own_ranks

if TYPE_CHECKING:
    from concurrent.futures import Future
    from types import TracebackType

    from gapfinder.training.checkpoint.parts import Content


class Checkpoint:
    """Saves a training's five parts and continues it: model, optimizer, random generators, place among samples, step.

    Every rank makes one, with the same folder on a file system that all of them share, and calls the same methods.

    Args:
        folder: is made where it is not there; of this training alone.
        parts: what has a state.
        policy: when and how to save.

    Attributes:
        step: steps done.
    """

    def __init__(self, folder: Path | str, parts: Parts, *, policy: SavePolicy | None = None) -> None:
        self.folder = Path(folder)
        self._parts, self._policy = parts, policy or SavePolicy()
        self._ranks = own_ranks()
        self._token, self._saves = "", 0
        self._lock: int | None = None
        self._position: Position | None = None
        self._writer = ThreadPoolExecutor(1, "gapfinder-checkpoint") if self._policy.background else None
        self._pending: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            self.close()
        except CheckpointError as failed:
            if error is None:
                raise
            error.add_note(f"gapfinder: {failed}")

    @property
    def step(self) -> int:
        """Steps done."""
        return self._noted().step

    def resume_or_start(self) -> Resumed:
        """Go on from the newest checkpoint that is whole, or start where there is none; say where.

        Call it once all parts are built, just before the loop. A damaged checkpoint is set aside, on stderr and in what
        is returned, and the one before it is taken.

        Raises:
            CheckpointError: none of the checkpoints is whole, they are of another number of ranks or of other parts, or
                another training is using the folder.
        """
        if self._position is not None:
            raise CheckpointError("this training has begun already; make a new Checkpoint to resume again")
        self._ranks = own_ranks()  # the process group may be younger than this object
        self._ranks.require_joined()
        names = self._open()
        path, damaged = choose(self.folder, names, ranks=self._ranks)
        step = 0
        if path is not None:
            content = load(path, self._parts, ranks=self._ranks, new_world_size=self._policy.new_world_size)
            step = content["step"]
        self._note(step)
        return Resumed(step=step, path=path, damaged=damaged)

    def step_done(self) -> int:
        """Count an optimizer step, save where it is time to, and return how many steps are done.

        The batches that the sampler has handed out by now count as trained on.
        """
        step = self._noted().step + 1
        self._note(step)
        if step % self._policy.every == 0:
            self.save()
        return step

    def save(self) -> None:
        """Save the step that is done; in the background, return as soon as its states are copied.

        Raises:
            CheckpointError: this checkpoint could not be saved, or the one before that was written in the background.
        """
        self.wait()
        is_copied = self._writer is not None
        content = self._content()
        self._saves += 1
        saving = Saving(
            folder=self.folder,
            attempt=f"{self._token}-{self._saves}",
            ranks=self._ranks,
            policy=self._policy,
            content=copied(content) if is_copied else content,
        )
        if self._writer is None:
            saving.run()
            return
        self._pending = self._writer.submit(saving.run)
        self._pending.add_done_callback(_say_failure)

    def save_hot(self, *, reason: str, is_continued: bool) -> Path:
        """Save this rank's part at once, to a folder of its own, without the other ranks; return its path.

        Args:
            reason: why, for whoever finds it.
            is_continued: the states are those of the step that is done, and nothing is wrong with them: the next start
                may go on from it, once all ranks have left their part.
        """
        if self._parts.is_gathered and self._ranks.world_size > 1:
            raise CheckpointError("the states are gathered from all ranks, of which some may be gone: none is saved")
        content = self._content()
        path = folders.hot_path(self.folder, content["step"])
        try:
            path.mkdir(parents=True, exist_ok=True)
            write_part(path, content, ranks=self._ranks, is_continued=is_continued, reason=reason)
            for found in folders.found_in(self.folder):
                if found.is_hot and found.path != path:
                    _forget_part(found.path, rank=self._ranks.rank)
        except OSError as error:
            raise CheckpointError(f"{path} could not be written: {error.strerror or error}") from error
        return folders.part_path(path, self._ranks.rank)

    def wait(self) -> None:
        """Wait for what is written in the background; raise what went wrong there."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def close(self) -> None:
        """Wait for what is written, and leave the folder to others."""
        try:
            self.wait()
        finally:
            if self._writer is not None:
                self._writer.shutdown()
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    def _open(self) -> list[str]:
        """Take the folder on rank 0; return the checkpoints in it, the newest first, as rank 0 sees them."""
        told: list[str] = ["", secrets.token_hex(4)]
        if self._ranks.rank == 0:
            try:
                self._lock = folders.claim(self.folder)
                folders.sweep(self.folder)
                told += [found.path.name for found in folders.found_in(self.folder)]
            except (OSError, GapfinderError) as failed:
                told[0] = str(failed)
        error, self._token, *names = self._ranks.from_first(told)
        if error:
            raise CheckpointError(error)
        return names

    def _content(self) -> Content:
        has_model = self._policy.layout is Layout.SHARDED or self._ranks.rank == 0
        return content_of(self._parts, self._noted(), has_model=has_model)

    def _note(self, step: int) -> None:
        sampler = self._parts.sampler
        self._position = Position(step=step, sampler=None if sampler is None else sampler.state_dict())

    def _noted(self) -> Position:
        if self._position is None:
            raise CheckpointError("this training has not begun; call resume_or_start before the loop")
        return self._position


def _say_failure(done: Future[None]) -> None:
    """Say it at once: the next call, which raises it, may never come."""
    error = done.exception()
    if error is not None:
        sys.stderr.write(f"gapfinder: {error}\n")


def _forget_part(checkpoint: Path, *, rank: int) -> None:
    """Delete what this rank left there, and the folder with the last rank's part."""
    folders.manifest_path(checkpoint, rank).unlink(missing_ok=True)
    folders.part_path(checkpoint, rank).unlink(missing_ok=True)
    if not any(checkpoint.iterdir()):
        checkpoint.rmdir()
