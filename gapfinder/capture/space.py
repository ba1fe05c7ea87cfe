"""How much room a capture needs, and whether it is there; asked before the training starts."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.errors import InputError
from gapfinder.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

# Measured with nsys 2022.4.2: 200,000 NVTX ranges make a stream of 33 bytes each and a report of 20, 20,000 OS calls
# one of 14. An export has 63 bytes a row: 10 million kernels and as many CUDA calls are 1.26 GB.
_STREAM_BYTES = 35
_REPORT_BYTES = 20
_EXPORT_BYTES = 65
# A step of a model of 7 billion parameters launches about 10,000 kernels; each comes with its CUDA call, and with an
# NVTX range or an OS call now and then.
_EVENTS_PER_STEP = 30_000
_STEPS_UNTOLD = 200
_BASE = 50_000_000
_LEAST = 300_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Need:
    """How many bytes a capture is expected to take.

    Attributes:
        temporary: in nsys's temporary folder, while it runs.
        kept: in the run folder, the report and its export.
    """

    temporary: int
    kept: int


def expected_need(*, ranks: int, steps: int | None) -> Need:
    """Return the need of a capture of so many steps of so many ranks on this machine; None where no step ends it."""
    events = ranks * (steps if steps is not None else _STEPS_UNTOLD) * _EVENTS_PER_STEP
    return Need(temporary=_BASE + events * _STREAM_BYTES, kept=_BASE + events * (_REPORT_BYTES + _EXPORT_BYTES))


def check_space(folder: Path, *, need: Need) -> tuple[str, ...]:
    """Return a sentence for each place with less room than is expected to be needed.

    Raises InputError where there is so little that even a small capture would fail.
    """
    return tuple(_lacking(folder, need=need))


def _lacking(folder: Path, *, need: Need) -> Iterator[str]:
    temporary = Path(tempfile.gettempdir())
    places = ((temporary, need.temporary, "TMPDIR"), (folder, need.kept, "--output"))
    is_one = _device(temporary) == _device(folder)
    for place, needed, remedy in places:
        wanted = need.temporary + need.kept if is_one else needed
        free = shutil.disk_usage(place).free
        told = f"{place} has {format_bytes(free)} free"
        if free < _LEAST:
            raise InputError(
                f"{told}, and a capture needs at least {format_bytes(_LEAST)}, this one about {format_bytes(wanted)}; "
                f"make room, or choose another place with {remedy}"
            )
        if free < wanted:
            yield f"{told}, and this capture may take {format_bytes(wanted)}; make room, or capture fewer steps"
            if is_one:
                return


def _device(path: Path) -> int:
    return path.stat().st_dev
