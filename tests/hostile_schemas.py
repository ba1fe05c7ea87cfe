"""Hostile schemas: what poses as a table of an export, and computes without end or is not what it seems."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from hostile_base import (
    KERNEL,
    LANE,
    MEASURED,
    MEMCPY,
    NVTX,
    RUNTIME,
    STRINGS,
    Case,
    Make,
    changed,
    sound_bytes,
    written,
)

_ENDLESS = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS start, x AS end FROM r"
_WIDE = "SELECT a.* FROM real a, real b, real c, real d, real e, real f, real g, real h, real i, real j"
_POSING = {
    "a view": "CREATE VIEW {0} AS SELECT * FROM real",
    "an endless view": f"CREATE VIEW {{0}} AS {_ENDLESS}",
    "a view on itself": "CREATE VIEW {0} AS SELECT * FROM {0}",
    "a view of ten joins": f"CREATE VIEW {{0}} AS {_WIDE}",
    "an index": "CREATE INDEX {0} ON real (rowid_of_row)",
    "a virtual table": "CREATE VIRTUAL TABLE {0} USING fts5(start, end)",
}
_TABLES = (KERNEL, MEMCPY, RUNTIME, NVTX, STRINGS, "OSRT_API", "META_DATA_EXPORT", "GPU_METRICS", "DIAGNOSTIC_EVENT")
_EXPENSIVE = "length(printf('%.*c', 900000000, 'x'))"


def cases() -> Iterator[Case]:
    """Yield a file for every table and every thing that may stand in its place."""
    for table in _TABLES:
        for what, statement in _POSING.items():
            aside = (f"ALTER TABLE {table} RENAME TO real", "ALTER TABLE real ADD COLUMN rowid_of_row")
            yield Case(
                name=f"{what} in place of {table}",
                make=changed(*aside, statement.format(table)),
                words=f"{table} is not an ordinary table but of the kind",
            )
        yield from _worked_on(table)
        yield from _rebuilt(table)
    yield from _written_into()
    yield from _harmless()


def _worked_on(table: str) -> Iterator[Case]:
    yield Case(
        name=f"a trigger on {table}",
        make=changed(f"CREATE TRIGGER t AFTER INSERT ON {table} BEGIN DELETE FROM {STRINGS}; END"),
        words=f"{table} has a trigger",
    )
    yield Case(
        name=f"an expensive virtual column in {table}",
        make=changed(f"ALTER TABLE {table} ADD COLUMN g INTEGER AS ({_EXPENSIVE}) VIRTUAL"),
        words=f"{table} has a generated column",
    )


def _rebuilt(table: str) -> Iterator[Case]:
    """Tables of the same rows under another declaration."""
    declared = {
        "WITHOUT ROWID": ("(number INTEGER PRIMARY KEY, {0}) WITHOUT ROWID", f"{table} is a WITHOUT ROWID table"),
        "a stored column": (
            "(number INTEGER, {0}, g INTEGER AS (number + 1) STORED)",
            f"{table} has a generated column",
        ),
    }
    for what, (form, words) in declared.items():
        yield Case(name=f"{what} in {table}", make=_redeclared(table, form), words=words)
    yield Case(
        name=f"{table} is STRICT",
        make=_redeclared(table, "(number INTEGER, {0}) STRICT"),
        codes=MEASURED,
        lane=LANE,
        lanes=1,
    )
    yield Case(
        name=f"constraints and defaults in {table}",
        make=_redeclared(table, f"(number INTEGER CHECK (number IS NOT 0) DEFAULT ({_EXPENSIVE}), {{0}})"),
        codes=MEASURED,
        lane=LANE,
        lanes=1,
    )


def _redeclared(table: str, form: str) -> Make:
    def make(folder: Path) -> Path:
        path = written(sound_bytes())(folder)
        with closing(sqlite3.connect(path)) as database:
            columns = [
                (row[1], "INTEGER" if row[2].startswith("INT") else "ANY")
                for row in database.execute(f"PRAGMA table_info({table})")
            ]
            names = ", ".join(f'"{name}"' for name, _ in columns)
            declared = ", ".join(f'"{name}" {kind}' for name, kind in columns)
            database.execute(f"ALTER TABLE {table} RENAME TO real")
            database.execute(f"CREATE TABLE {table} {form.format(declared)}")
            database.execute(f"INSERT INTO {table} (number, {names}) SELECT rowid, {names} FROM real ORDER BY rowid")
            database.execute("DROP TABLE real")
            database.commit()
        return path

    return make


def _master(assignment: str, *, where: str = f"name = '{KERNEL}'") -> Make:
    return changed("PRAGMA writable_schema = ON", f"UPDATE sqlite_master SET {assignment} WHERE {where}")


def _written_into() -> Iterator[Case]:
    """What no statement of SQL makes: the schema's own table says something else."""
    unreadable = "SQLite cannot read it"
    yield Case(name="a statement that is none", make=_master("sql = 'x\n\x1b[31m'"), words=unreadable)
    yield Case(name="no statement", make=_master("sql = NULL"), words=unreadable)
    yield Case(name="a statement as a number", make=_master("sql = 5"), words=unreadable)
    yield Case(name="a statement of other bytes", make=_master("sql = CAST(x'C441' AS TEXT)"), words=unreadable)
    yield Case(name="a huge statement", make=_master("sql = printf('%.*c', 900000, 'x')"), words=unreadable)
    for root in (0, 1, -5, 10**9, 2**62):
        # The first page is the schema's own; the others are nowhere.
        yield Case(
            name=f"rows from page {root}",
            make=_master(f"rootpage = {root}"),
            codes=frozenset({2}),
            words="rank3.sqlite",
        )
    elsewhere = f"(SELECT rootpage FROM sqlite_master WHERE name = '{STRINGS}')"
    yield Case(name="rows of another table", make=_master(f"rootpage = {elsewhere}"), codes=frozenset({0, 2, 3}))
    yield Case(name="a table twice", make=changed("PRAGMA writable_schema = ON", _TWICE), words="")
    yield Case(name="a table of no kind", make=_master("type = 'tab\x1b[2Jle'"), words="rank3.sqlite")
    yield Case(name="a table's name of another one", make=_master("tbl_name = 'other'"), codes=frozenset({0, 2}))


_TWICE = (
    f"INSERT INTO sqlite_master SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master WHERE name = '{KERNEL}'"
)


def _harmless() -> Iterator[Case]:
    """What is odd and changes nothing."""
    odd = {
        "an index on every time": [f"CREATE INDEX i ON {KERNEL} (start, end)"],
        "an index on what is expensive": [f"CREATE INDEX i ON {KERNEL} (abs(start)) WHERE start > 5"],
        "an endless view beside the tables": [f"CREATE VIEW other AS {_ENDLESS}"],
        "a broken view beside the tables": ["CREATE VIEW other AS SELECT * FROM nowhere"],
        "a table whose name is markup": ['CREATE TABLE "<script>\x1b[31m" (a)'],
        "a table with a longer name": [f"CREATE TABLE {KERNEL}_V2 (start INTEGER, end INTEGER)"],
        "a column whose name is markup": [f'ALTER TABLE {KERNEL} ADD COLUMN "<b>\x1b[31m\n" INTEGER'],
        "a thousand more columns": [f"ALTER TABLE {KERNEL} ADD COLUMN c{k} INTEGER" for k in range(1000)],
        "rows of a table deleted and written again": [
            f"CREATE TEMP TABLE kept AS SELECT * FROM {KERNEL}",
            f"DELETE FROM {KERNEL}",
            f"INSERT INTO {KERNEL} SELECT * FROM kept ORDER BY start DESC",
        ],
        "statistics": ["ANALYZE"],
    }
    for what, statements in odd.items():
        yield Case(name=what, make=changed(*statements), codes=MEASURED, lane=LANE, lanes=1)
