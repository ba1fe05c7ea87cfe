"""How much one file may cost before it is refused."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Bounds on one file.

    Attributes:
        max_bytes: largest database read, after unpacking; memory is bounded by a small multiple of it.
        deadline_s: longest time that unpacking one file may take, and then again SQLite reading it, in seconds.
        max_lanes: most (process, device) pairs in one report.
        max_names: most different names of kernels, calls or registered ranges: each costs some 50 us and 1 kB.
        max_texts: most different names that ranges and marks have by themselves: each costs some 12 us and 0.4 kB, and
            of PyTorch's there is one for every operation that it numbers.
    """

    max_bytes: int = 1 << 37
    deadline_s: float = 600.0
    max_lanes: int = 4_096
    max_names: int = 1 << 20
    max_texts: int = 1 << 22


DEFAULT_LIMITS = Limits()
