"""Reads the step times that the hook leaves in memory while a training runs, and switches its marks on and off."""

from __future__ import annotations

import os
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Self

from gapfinder.training.startup._gapfinder_hook import step_stream as layout

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The oldest entries of the ring are left alone: the writer may be at them by the time that they have been read.
_MARGIN = 64
_KEPT = layout.ENTRIES - _MARGIN
_LARGEST_NUMBER = 2**62
_WORD = Struct("=Q")
_ENTRY = Struct("=QQ")


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step of one process.

    Attributes:
        number: from 0, as in its range.
        ended_at_ns: on CLOCK_MONOTONIC.
        duration_ns: since the end of the step before; None for the first, which warms up.
        apart_ns: the part of it outside backward passes, in which ranks wait for each other.
    """

    number: int
    ended_at_ns: int
    duration_ns: int | None
    apart_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class RankSteps:
    """What is new from one process.

    Attributes:
        begun_at_ns: when its training began, on CLOCK_MONOTONIC: of two processes of a rank, the later one counts.
        steps: those whose times are new since the last poll, in order; times come a few hundredths of a second late.
        total: how many have ended by now.
        missed: how many of those since the last poll are lost: it was too long ago, or the clock went back.
    """

    pid: int
    host: str
    rank: int
    local_rank: int
    world_size: int
    begun_at_ns: int
    steps: tuple[Step, ...]
    total: int
    missed: int


class StepReader:
    """Reads the streams in `folder`, where processes come and go."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._streams: dict[str, _Stream] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def poll(self) -> tuple[RankSteps, ...]:
        """Return what is new from every process that has a stream, also one that has ended, by rank, host and pid."""
        found = [steps for steps in self._read() if steps is not None]
        return tuple(sorted(found, key=lambda one: (one.rank, one.host, one.pid, one.begun_at_ns)))

    def close(self) -> None:
        """Let go of the files."""
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()

    def _read(self) -> Iterator[RankSteps | None]:
        try:
            names = [path.name for path in self._folder.iterdir() if path.suffix == layout.SUFFIX]
        except OSError:  # what is open can be read all the same
            names = []
        for name in {*names, *self._streams}:
            known = self._streams.get(name)
            stream = _open(self._folder / name) if known is None or not known.is_at(self._folder / name) else None
            if known is not None:
                yield known.read()  # also what a process left whose pid another one has now
            if stream is None:
                continue
            if known is not None:
                known.close()
            self._streams[name] = stream
            yield stream.read()


class MarkSwitch:
    """Tells the processes of a training whether to mark; they look at each step's end."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / layout.MARKS

    def make(self) -> None:
        """Make it, off, before the training starts. Raises OSError."""
        self._write(os.O_CREAT, b"\0")

    def turn_on(self) -> None:
        """Have the next steps marked. Raises OSError."""
        self._write(0, b"\1")

    def turn_off(self) -> None:
        """Have them no longer marked. Raises OSError."""
        self._write(0, b"\0")

    def _write(self, flags: int, value: bytes) -> None:
        # never truncated: reading a map of what a file no longer has would end the training
        file = os.open(self._path, os.O_WRONLY | flags, 0o644)
        try:
            os.pwrite(file, value, 0)
        finally:
            os.close(file)


class _Stream:
    """One process's file, read and not mapped: a map of a file that somebody cut short would end the reader."""

    def __init__(self, file: int, *, pid: int, host: str, begun_at_ns: int) -> None:
        self._file, self._pid, self._host, self._begun_at_ns = file, pid, host, begun_at_ns
        status = os.fstat(file)
        self._identity = status.st_dev, status.st_ino
        self._next = self._lost = 0
        self._halted_at: int | None = None

    def is_at(self, path: Path) -> bool:
        """Say whether this is the file at `path`, or there is none any more."""
        try:
            status = path.stat()
        except OSError:
            return True
        return (status.st_dev, status.st_ino) == self._identity

    def close(self) -> None:
        os.close(self._file)

    def read(self) -> RankSteps | None:
        """Return what is new; None where the file cannot be read."""
        try:
            before = self._word(layout.WRITTEN_WORD)
            ring = os.pread(self._file, layout.ENTRIES * _ENTRY.size, layout.HEADER_BYTES)
            after = self._word(layout.WRITTEN_WORD)
            total = max(self._word(layout.COUNT_WORD), after)
            rank, local_rank, world_size = layout.places(self._word(layout.PLACE_WORD))
        except (OSError, EOFError):
            return None
        if len(ring) < layout.ENTRIES * _ENTRY.size or not self._next <= before <= after <= total < _LARGEST_NUMBER:
            return None
        begin = self._next
        first = max(begin, min(after - _KEPT, before))
        steps = tuple(self._steps(ring, first, before))
        missed, self._lost = self._lost + first - begin, 0
        self._next = first + len(steps)
        if self._next < before:
            self._pass_over_again()
        return RankSteps(
            pid=self._pid,
            host=self._host,
            rank=rank,
            local_rank=local_rank,
            world_size=world_size,
            begun_at_ns=self._begun_at_ns,
            steps=steps,
            total=total,
            missed=missed,
        )

    def _pass_over_again(self) -> None:
        """Give up the entry at which reading ended if it ended there the last time: it is whole, and cannot be.

        So it is where a clock went back, and without this nothing would be read until the ring came round.
        """
        if self._next == self._halted_at:
            self._next, self._lost = self._next + 1, 1
        self._halted_at = self._next

    def _steps(self, ring: bytes, first: int, end: int) -> Iterator[Step]:
        """Return the steps up to one whose entry is not whole yet: on some machines the count may be seen before it."""
        last = _entry(ring, first - 1)[0] if first else self._begun_at_ns
        for number in range(first, end):
            ended_at, apart_since = _entry(ring, number)
            if not last <= apart_since <= ended_at < _LARGEST_NUMBER:
                return
            yield Step(
                number=number,
                ended_at_ns=ended_at,
                duration_ns=ended_at - last if number else None,
                apart_ns=ended_at - apart_since,
            )
            last = ended_at

    def _word(self, place: int) -> int:
        content = os.pread(self._file, layout.WORD, place * layout.WORD)
        if len(content) < layout.WORD:
            raise EOFError
        word: int = _WORD.unpack(content)[0]
        return word


def _entry(ring: bytes, step: int) -> tuple[int, int]:
    ended_at, apart_since = _ENTRY.unpack_from(ring, step % layout.ENTRIES * _ENTRY.size)
    return ended_at, apart_since


def _open(path: Path) -> _Stream | None:
    """Return the stream in a file; None where there is none, or one of another version."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        content = os.pread(file, layout.HEADER.size, 0)
        if len(content) == layout.HEADER.size:
            magic, version, entries, pid, begun_at, _, _, _, host = layout.HEADER.unpack(content)
            if (magic, version, entries) == (layout.MAGIC, layout.VERSION, layout.ENTRIES):
                name = host.rstrip(b"\0").decode(errors="replace")
                return _Stream(file, pid=pid, host=name, begun_at_ns=begun_at)
    except OSError:
        pass  # a folder, or a file that has gone bad
    os.close(file)
    return None
