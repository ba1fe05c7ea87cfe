"""Writes when each step of this process ended into a small ring in memory that a watch reads: no call, no lock.

The file is a header, then a ring of entries, all of 64-bit words of this machine, each of which is written at once. An
entry is two: when its step ended, and when that step would have begun had it had no backward passes. So the second lies
between the ends of two steps, and whoever meets a word from the last time round sees that it is not this step's.

How many steps have ended is written with each of them, so that of ranks that stand still the one behind can be told;
their entries every few hundredths of a second, for that costs less.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from struct import Struct
from typing import TYPE_CHECKING

from .place import host, plain

if TYPE_CHECKING:
    from .place import Place

SUFFIX = ".steps"
MARKS = "marks"  # the file whose one byte tells the processes of a training whether to mark
MAGIC, VERSION = b"gapsteps", 2
ENTRIES = 4096
WORD = 8
HEADER = Struct("=8sIIQQQQQ256s")  # magic, version, entries, pid, begun at, place, steps, entries ever; host
HEADER_BYTES = 512
FILE_BYTES = HEADER_BYTES + ENTRIES * 2 * WORD
PLACE_WORD, COUNT_WORD, WRITTEN_WORD = 4, 5, 6
FIRST_WORD = HEADER_BYTES // WORD
_BITS = 21  # of each number of a place, so that all three are one word
_LARGEST = (1 << _BITS) - 1


class StepStream:
    """The ring of this process.

    Attributes:
        words: the whole file; the entry of step N begins at FIRST_WORD + N % ENTRIES * 2, and is written before the
            number at WRITTEN_WORD.
        times: what is not written yet, entry after entry.
    """

    def __init__(self, folder: str, *, place: Place, now_ns: int) -> None:
        """Make the file in `folder`, in place of one that an earlier process of this pid left; raises OSError."""
        path = os.path.join(folder, f"{plain(host())}-{os.getpid()}{SUFFIX}")
        half = os.path.join(folder, f".{os.path.basename(path)}.half")
        file = os.open(half, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o644)
        try:
            # Every block now: writing to a map where the disk has no room for it would end the training.
            os.posix_fallocate(file, 0, FILE_BYTES)
            header = HEADER.pack(
                MAGIC, VERSION, ENTRIES, os.getpid(), now_ns, _word(place), 0, 0, host().encode(errors="replace")
            )
            os.pwrite(file, header, 0)
            self._map = mmap.mmap(file, FILE_BYTES)
            os.replace(half, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(half)
            raise
        finally:
            os.close(file)
        self.words = memoryview(self._map).cast("Q")
        self.times: list[int] = []

    def write(self) -> None:
        """Write the entries of the last few steps."""
        words, times = self.words, self.times
        written = words[WRITTEN_WORD]
        for ended_at, apart_since in zip(times[::2], times[1::2]):
            at = FIRST_WORD + written % ENTRIES * 2
            words[at] = ended_at
            words[at + 1] = min(ended_at, apart_since)
            written += 1
            words[WRITTEN_WORD] = written
        times.clear()

    def tell(self, place: Place) -> None:
        """Say where this process stands, once that is known better."""
        self.words[PLACE_WORD] = _word(place)


def places(word: int) -> tuple[int, int, int]:
    """Return rank, local rank and world size."""
    return word & _LARGEST, word >> _BITS & _LARGEST, word >> 2 * _BITS & _LARGEST


def map_switch(folder: str) -> memoryview:
    """Return the byte that tells whether to mark, as the watch sets it; raises OSError or ValueError."""
    with open(os.path.join(folder, MARKS), "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 1, access=mmap.ACCESS_READ))


def _word(place: Place) -> int:
    numbers = (place.rank, place.local_rank, place.world_size)
    rank, local_rank, world_size = (min(number, _LARGEST) for number in numbers)
    return rank | local_rank << _BITS | world_size << 2 * _BITS
