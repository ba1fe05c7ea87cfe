"""Files of one rank's part: written with their checksum, forced to the disk, and checked against it."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle  # for the name of its error: nothing is unpickled
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from gapfinder.errors import CheckpointError
from gapfinder.units import format_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from gapfinder.training.checkpoint.parts import Content

_VERSION = 1  # of what a checkpoint holds and how
# what torch.load has been seen to raise; an OSError tells by itself
_UNREADABLE = (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError, AttributeError, TypeError)


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """What stands beside one rank's file.

    Attributes:
        sha256, bytes: of the file.
        has_model: model and optimizer are in the file, not in that of rank 0.
        is_continued: whether a training may go on from it by itself; not from what was saved after an error.
        reason: why it was saved, where that is not the plan.
        schema_version: of this, and of what the file holds.
    """

    step: int
    rank: int
    world_size: int
    has_model: bool
    bytes: int
    sha256: str
    is_continued: bool
    reason: str
    schema_version: int = _VERSION


_TYPES = {field.name: {"int": int, "str": str, "bool": bool}[str(field.type)] for field in fields(Manifest)}


class _Sink:
    """A file that torch may write to: it hashes what comes and keeps the first error for later.

    torch's writer cannot be told of an error halfway; it would end the process.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb", buffering=0)
        self._hash = hashlib.sha256()
        self.bytes = 0
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        view = memoryview(data).cast("B")
        self._hash.update(view)
        self.bytes += len(view)
        at = 0
        while self.error is None and at < len(view):
            try:
                at += self._file.write(view[at:])
            except OSError as error:
                self.error = error
        return len(view)

    def flush(self) -> None:
        """Nothing is kept back."""

    def finish(self) -> str:
        """Force what was written to the disk, close, and return its checksum; raise the first error."""
        try:
            if self.error is None:
                os.fsync(self._file.fileno())
        finally:
            self._file.close()
        if self.error is not None:
            raise self.error
        return self._hash.hexdigest()


def write_content(path: Path, content: Content) -> tuple[int, str]:
    """Write a part and return its size and checksum.

    Raises:
        OSError: the file could not be written.
        CheckpointError: it holds what no checkpoint gives back, as only tensors and plain values are loaded.
    """
    import torch

    sink = _Sink(path)
    try:
        torch.save(content, sink)
    finally:
        checksum = sink.finish()
    load_content(path)
    return sink.bytes, checksum


def load_content(path: Path) -> Any:  # noqa: ANN401 (the states are their owners')
    """Return what a file holds: tensors and plain values, of which tensors are read from the disk when used."""
    import torch

    try:
        return torch.load(path, map_location="cpu", mmap=True, weights_only=True)
    except _UNREADABLE as error:
        told = str(error).strip().splitlines()
        raise CheckpointError(
            f"{path} holds more than tensors and plain values, or is of another torch ({type(error).__name__}: "
            f"{told[0] if told else 'no reason given'}); let state_dict() return those only"
        ) from error


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write beside, force to the disk, rename: whoever sees the name sees all of it."""
    half = path.with_name(f".{path.name}.half")
    with half.open("w", encoding="utf-8") as file:
        json.dump(asdict(manifest), file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    half.replace(path)


def read_manifest(path: Path) -> Manifest | None:
    """Return the manifest; None where there is none that is whole.

    Raises:
        CheckpointError: another release wrote it, in a way that this one does not read.
    """
    try:
        values = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    version = values.get("schema_version") if isinstance(values, dict) else None
    if isinstance(version, int) and version != _VERSION:
        raise CheckpointError(
            f"{path} is of version {version}, and this gapfinder reads {_VERSION}; go on with the one that wrote it"
        )
    if not isinstance(values, dict) or values.keys() != _TYPES.keys():
        return None
    if any(type(values[name]) is not kind for name, kind in _TYPES.items()):
        return None
    return Manifest(**values)


def file_problem(path: Path, manifest: Manifest) -> str | None:
    """Return what is wrong with the file that the manifest describes; None where it is as it was written."""
    try:
        size = path.stat().st_size
        if size != manifest.bytes:
            return f"{path.name} has {format_bytes(size)} of {format_bytes(manifest.bytes)}"
        with path.open("rb", buffering=0) as file:
            checksum = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"{path.name}: {error.strerror}"
    return None if checksum == manifest.sha256 else f"{path.name} is not what was written: its checksum differs"


def sync_folder(folder: Path) -> None:
    """Force the names in `folder` to the disk, where its file system knows how."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)
