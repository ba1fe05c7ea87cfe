"""Prepared profiles for tests of the dashboard's data, and the raw rows of their files, read by SQL alone."""

from __future__ import annotations

import base64
import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pytest

from dashboards.data.opening import OpenProfile, open_prepared
from dashboards.data.preparing import prepare_profile
from dashboards.data.windows import WindowRequest, answer
from dashboards.store.records import Job, JobState, StoredProfile
from gapfinder.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

SAMPLES = Path(__file__).parents[1] / "sample_profiles"
_REAL = Path(__file__).parents[2] / "shared/profiles"
needs_real = pytest.mark.skipif(not _REAL.is_dir(), reason="the real profiles are not here")


def real(name: str) -> Path:
    """A profile of a real training; a test of it needs the marker `needs_real`."""
    return _REAL / f"{name}.sqlite"


def sample(name: str) -> Path:
    """A bundled profile."""
    return SAMPLES / f"{name}.sqlite"


def files(*, samples: Sequence[str], reals: Sequence[str]) -> list[Any]:
    """Parameters for a test: profiles of which the real ones may be missing."""
    params = [pytest.param(sample(name), id=name) for name in samples]
    return params + [pytest.param(real(name), id=name, marks=needs_real) for name in reals]


def stored(folder: Path, *, state: JobState = JobState.DONE) -> StoredProfile:
    """What the store says of a profile whose data lie in a folder."""
    job = Job(
        id="1",
        profile="a",
        state=state,
        stage="",
        progress=None,
        message=None,
        started_s=None,
        changed_s=0.0,
        attempts=1,
    )
    return StoredProfile(
        id="a", name="a run", labels=(), files=(), is_uploaded=False, size_bytes=0, added_s=0.0, job=job, folder=folder
    )


def prepared(files: Sequence[Path], folder: Path, *, settings: Settings | None = None) -> OpenProfile:
    """Files, prepared into a folder and opened again."""
    prepare_profile(files, folder=folder, settings=settings or Settings(), told=lambda _stage, _progress: None)
    return open_prepared(stored(folder))


@dataclass(frozen=True)
class Raw:
    """A row of a file."""

    start: int
    end: int
    name: str
    stream: int = -1


class RawFile:
    """Rows of an export by process and device, as SQL gives them."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._database.execute(sql, values).fetchall()

    def kernels(self, pid: int, device: int, *, nccl: bool) -> list[Raw]:
        """The kernels of a lane whose name starts with "nccl", or the others."""
        found = self.rows(
            'SELECT start, "end", value, streamId FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName '
            "WHERE (globalPid >> 24) & 0xFFFFFF = ? AND deviceId = ?",
            pid,
            device,
        )
        return [Raw(*row) for row in found if row[2].startswith("nccl") == nccl]


def window(profile: OpenProfile, start: int, end: int, **asked: Any) -> dict[str, Any]:
    """The answer about a window, its arrays unpacked; all lanes where none are named."""
    asked = {"columns": 100, "lanes": tuple(range(len(profile.trace.lanes)))} | asked
    return unpacked(json.loads(answer(profile.trace, WindowRequest(start_ns=start, end_ns=end, **asked))))


def unpacked(value: Any) -> Any:
    """JSON with its arrays as numpy reads them."""
    if isinstance(value, list):
        return [unpacked(one) for one in value]
    if isinstance(value, dict) and value.keys() == {"dtype", "data"}:
        return np.frombuffer(base64.b64decode(value["data"]), f"<{value['dtype']}")
    return {key: unpacked(one) for key, one in value.items()} if isinstance(value, dict) else value


def row(answered: dict[str, Any], lane: int, name: str) -> dict[str, Any]:
    """One row of a lane in an answer."""
    (found,) = [one for one in answered["lanes"][lane]["rows"] if one["row"] == name]
    return found


def covered(rows: Sequence[tuple[int, int]], start: int, end: int) -> int:
    """How much of [start, end) the rows cover, counted one after the other."""
    total, reached = 0, start
    for first, last in sorted(rows):
        begin, stop = max(first, reached), min(last, end)
        if stop > begin:
            total, reached = total + stop - begin, stop
    return total
