"""Repeats a written profile in time until it holds as many kernels as a benchmark needs."""

# ruff: noqa: S608 (table and column names are the constants of schema.py)

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from sample_profiles import schema

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_RANGES = "NVTX_EVENTS"
_PUSH_POP = 59
_IDLE_BETWEEN_NS = 20_000
_EVENT_TABLES = (
    _KERNELS,
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    _RANGES,
    "OSRT_API",
)
_SHIFTED = {
    "start": "start + tile * :period",
    "end": 'base."end" + tile * :period',
    "correlationId": "correlationId + tile * :calls",
    "text": "iif(text LIKE 'step %', 'step ' || (CAST(substr(text, 6) AS INTEGER) + tile * :steps), text)",
}


def write_tiled(paths: Sequence[Path], *, kernels: int) -> None:
    """Repeat what the profiles at `paths` hold until each has at least `kernels` kernels.

    Times, correlation ids and step numbers go on from copy to copy; rows come out nearly sorted, as in a real export.
    Profiles of one job are repeated together, equally often and after the same time, so that they still agree.
    SQLite does the copying itself: ten million kernels and as many calls take about a minute.
    """
    sizes = [_size(path) for path in paths]
    tiles = -(-kernels // min(count for count, _ in sizes))
    for path in paths:
        _write(path, tiles=tiles, period=max(period for _, period in sizes))


def _size(path: Path) -> tuple[int, int]:
    """Return how many kernels a profile has, and the time after which a copy of it may begin."""
    with closing(sqlite3.connect(path)) as connection:
        return _number(connection, f"SELECT count(*) FROM {_KERNELS}"), _period(connection, _tables(connection))


def _tables(connection: sqlite3.Connection) -> list[str]:
    present = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return [table for table in _EVENT_TABLES if table in present]


def _write(path: Path, *, tiles: int, period: int) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY;")
        tables = _tables(connection)
        shifts = {
            "period": period,
            "calls": 1 + _number(connection, "SELECT max(correlationId) FROM CUPTI_ACTIVITY_KIND_RUNTIME"),
            "steps": _number(connection, f"SELECT count(DISTINCT text) FROM {_RANGES} WHERE text LIKE 'step %'"),
        }
        connection.execute("CREATE TEMP TABLE tiles (tile INTEGER PRIMARY KEY)")
        connection.executemany("INSERT INTO tiles VALUES (?)", [(tile,) for tile in range(tiles)])
        for table in tables:
            _repeat(connection, table, shifts)
        connection.execute(
            "UPDATE ANALYSIS_DETAILS SET duration = duration + :added, stopTime = stopTime + :added",
            {"added": shifts["period"] * (tiles - 1)},
        )


def _repeat(connection: sqlite3.Connection, table: str, shifts: dict[str, int]) -> None:
    is_tiled = f"eventType = {_PUSH_POP}" if table == _RANGES else "true"
    values = ", ".join(_SHIFTED.get(column, column) for column in schema.columns(table))
    connection.execute(f"CREATE TEMP TABLE base AS SELECT * FROM {table} WHERE {is_tiled} ORDER BY start")
    connection.execute(f"DELETE FROM {table} WHERE {is_tiled}")
    connection.execute(f"INSERT INTO {table} SELECT {values} FROM tiles CROSS JOIN base", shifts)
    connection.execute("DROP TABLE base")


def _period(connection: sqlite3.Connection, tables: list[str]) -> int:
    spans: list[tuple[int, int]] = [
        connection.execute(f'SELECT min(start), max("end") FROM {table} WHERE "end" IS NOT NULL').fetchone()
        for table in tables
    ]
    return max(end for _, end in spans) - min(start for start, _ in spans) + _IDLE_BETWEEN_NS


def _number(connection: sqlite3.Connection, query: str) -> int:
    number: int = connection.execute(query).fetchone()[0]
    return number
