"""How much memory reports are likely to need, and how much there is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_BASE = 150_000_000
_PER_BYTE = 1.7
"""Peak memory per byte of an export; 1.25 to 1.63 were measured, the more the smaller it is (docs/scale.md)."""
MOST_MEMORY = 4_000_000_000
"""What measuring one report takes at most, in bytes: one that is likely to need more is measured in parts."""
_PER_ROW = 200
"""Peak memory for each kernel or call of a part (docs/scale.md)."""
_SHARE = 0.4
"""Of the memory, for a part; the rest is for what is kept of the report whole, and for estimates that are off."""
_FEWEST_ROWS = 500_000
_UNPACKED = 8
"""Bytes of export per byte of a compressed export or of a report."""
_MEMINFO, _CGROUP = Path("/proc/meminfo"), Path("/sys/fs/cgroup")


def estimated_need(path: Path) -> int:
    """Return the bytes that measuring a report at once is likely to take; of a missing file, what Python takes."""
    try:
        size = path.stat().st_size
    except OSError:
        return _BASE
    return _BASE + int(_PER_BYTE * size * (1 if path.suffix == ".sqlite" else _UNPACKED))


def rows_at_once(memory: int) -> int:
    """Return of how many kernels and calls a part of a report may be made, so that measuring it takes this memory."""
    return max(int(_SHARE * (memory - _BASE) / _PER_ROW), _FEWEST_ROWS)


def free_memory() -> int | None:
    """Return the bytes that may still be used here; None where the system does not tell."""
    told = [size for size in (_of_machine(), _of_group()) if size is not None]
    return min(told, default=None)


def fits(need: int, *, beside: Sequence[int], free: int | None) -> bool:
    """Say whether a task may start beside those that run; one alone always may, for an estimate is no measurement."""
    return not beside or free is None or need + sum(beside) <= free


def _of_machine() -> int | None:
    try:
        lines = _MEMINFO.read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _of_group() -> int | None:
    """Return what the limit of a container leaves (cgroup 2)."""
    try:
        limit, used = ((_CGROUP / f"memory.{name}").read_text().strip() for name in ("max", "current"))
    except OSError:
        return None
    return max(int(limit) - int(used), 0) if limit.isdigit() and used.isdigit() else None
