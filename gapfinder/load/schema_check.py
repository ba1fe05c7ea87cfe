"""Looks at the tables of a file that may be hostile, and refuses those that are not as nsys writes them."""

# ruff: noqa: S608 - only names of this package's own constants are written into SQL, never what a file says

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.errors import InputError
from gapfinder.load.texts import decode, printable

if TYPE_CHECKING:
    from gapfinder.load.btree import PageFile

AGAIN = "export the report again"
_INDEX_PAGES = (0x02, 0x0A)
_GENERATED = (2, 3)

Value = int | float | bytes | None
"""What SQLite hands out; texts stay bytes, for they need not be UTF-8."""

Query = Callable[..., list[tuple[Value, ...]]]
"""Runs a statement with its parameters."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableInfo:
    """Where a table's rows are, and which of its columns are declared as plain integers."""

    root: int
    columns: tuple[str, ...]
    plain_integers: frozenset[str]


def find_tables(file: PageFile, *, wanted: Sequence[str], name: str, query: Query) -> dict[str, TableInfo]:
    """Return those of the wanted tables that are there; InputError where one is not as nsys writes it."""
    marks = ", ".join("?" * len(wanted))
    found = query(
        "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_master "
        f"WHERE name IN ({marks}) OR (type = 'trigger' AND tbl_name IN ({marks}))",
        (*wanted, *wanted),
    )
    tables: dict[str, TableInfo] = {}
    for kind, found_name, on_table, root, sql in found:
        if kind == b"trigger":
            raise InputError(f"{name}: {printable(decode(on_table))} has a trigger, which nsys never writes; {AGAIN}")
        table = decode(found_name)
        is_virtual = not isinstance(root, int) or root < 1 or decode(sql).upper().startswith("CREATE VIRTUAL")
        if kind != b"table" or is_virtual or table in tables:
            what = "virtual table" if kind == b"table" else printable(decode(kind))
            raise InputError(f"{name}: {table} is not an ordinary table but of the kind {what}; {AGAIN}")
        tables[table] = _table_info(file, table, root, name=name, query=query)  # type: ignore[arg-type]
    if not tables:
        raise InputError(f"{name}: is a SQLite database, but none of the tables of an nsys export is in it")
    return tables


def _table_info(file: PageFile, table: str, root: int, *, name: str, query: Query) -> TableInfo:
    with file.path.open("rb") as stream:
        stream.seek((root - 1) * file.page_size)
        if (stream.read(1) or b"\0")[0] in _INDEX_PAGES:
            raise InputError(f"{name}: {table} is a WITHOUT ROWID table, which nsys never writes; {AGAIN}")
    described = query(f'PRAGMA table_xinfo("{table}")')
    if any(hidden in _GENERATED for *_, hidden in described):
        raise InputError(f"{name}: {table} has a generated column, which nsys never writes; {AGAIN}")
    return TableInfo(
        root=root,
        columns=tuple(decode(row[1]) for row in described),
        plain_integers=frozenset(decode(row[1]) for row in described if "INT" in decode(row[2]).upper() and not row[5]),
    )
