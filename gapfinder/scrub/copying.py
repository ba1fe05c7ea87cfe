"""Copies a report, table by table, into a new database: a file that never held anything else."""

# ruff: noqa: S608 - only names of this package's own constants are written into SQL, never what a file says

from __future__ import annotations

import errno
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sqlite_utils

from gapfinder.errors import InputError
from gapfinder.load.limits import DEFAULT_LIMITS, Limits
from gapfinder.load.reading import Export
from gapfinder.load.schema import METADATA, STRINGS
from gapfinder.scrub.columns import Columns
from gapfinder.scrub.kept import HANDLED, TABLES, Content
from gapfinder.scrub.known import ENVIRONMENT, known_words
from gapfinder.scrub.redact import Redactor, Revealing, Word
from gapfinder.scrub.window import Window
from gapfinder.units import format_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from gapfinder.load.database import Database

_STRING_COLUMNS = {"id": Content.NUMBER, "value": Content.TEXT}
_VERSION_COLUMNS = {"name": Content.TEXT, "value": Content.TEXT}


@dataclass(frozen=True, kw_only=True, slots=True)
class Scrubbed:
    """What became of a report.

    Attributes:
        rows: rows of the copy by table.
        left_out_tables: tables that are not in the copy, as the report names them.
        left_out_columns: columns that are not in the copy, as "TABLE.column".
        strings_left_out: strings that nothing in the copy refers to.
        taken_out: how many distinct things of each kind were taken out of texts or have a number in their place.
    """

    rows: dict[str, int]
    left_out_tables: tuple[str, ...]
    left_out_columns: tuple[str, ...]
    strings_left_out: int
    taken_out: dict[Revealing, int]


def scrub(
    path: Path,
    output: Path,
    *,
    window: tuple[int, int] | None = None,
    words: Iterable[str] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> Scrubbed:
    """Write to the new file `output` what can be shared of a report.

    Args:
        path: a report or its export, as `gapfinder.load.load_profile` takes it.
        output: a file that is not there yet; half a copy may stay there when this fails.
        window: keep rows that touch this time (start, end in ns on the report's clock), whole; None for all.
        words: further names that must not be in the copy.
        limits: how much the file may cost.

    Raises:
        InputError: the report is damaged, or has nothing in the window.
        NsysError: it must be exported, and nsys fails.
        OSError: `output` cannot be written.
    """
    with Export(path, limits).open(tables=(*HANDLED, *ENVIRONMENT)) as database:
        told = {Word(text=word, kind=Revealing.WORD) for word in words}
        redactor = Redactor(known_words(database) | told)
        try:
            with closing(sqlite3.connect(output, isolation_level=None)) as connection:
                return _Copy(database, connection, redactor=redactor).write(window)
        except sqlite3.Error as error:  # reading turns its own into InputError
            raise OSError(errno.EIO, str(error)) from error


class _Copy:
    """A copy that is being written."""

    def __init__(self, database: Database, connection: sqlite3.Connection, *, redactor: Redactor) -> None:
        self._source = database
        self._redactor = redactor
        self._columns = Columns(database, redactor=redactor)
        self._connection = connection
        self._target = sqlite_utils.Database(connection, execute_plugins=False)
        self._rows: dict[str, int] = {}

    def write(self, window: tuple[int, int] | None) -> Scrubbed:
        """Copy every table; nobody else has the file, so that it needs no journal."""
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        cut = None if window is None else Window(*window, database=self._source)
        left_out: list[str] = []
        for table in TABLES:
            left_out += self._copy(table, cut=cut)
        if cut is not None and not cut.found:
            times = f"{format_time(cut.start)} and {format_time(cut.end)}"
            raise InputError(f"{self._source.name}: nothing was captured between {times}; choose another window")
        for table in METADATA:
            if self._source.columns(table):
                self._insert(table, _VERSION_COLUMNS, self._columns.versions(table))
        self._insert(STRINGS, _STRING_COLUMNS, self._columns.strings(), key="id")
        return Scrubbed(
            rows={table: rows for table, rows in self._rows.items() if rows},
            left_out_tables=tuple(name for name in self._source.table_names() if name not in HANDLED),
            left_out_columns=tuple(left_out),
            strings_left_out=len(self._source.strings) - self._rows[STRINGS],
            taken_out=self._redactor.taken_out(),
        )

    def _copy(self, table: str, *, cut: Window | None) -> list[str]:
        """Copy a table's rows; return the columns that are left out."""
        columns = self._columns.kept(table)
        if columns:
            is_wanted = None if cut is None else cut.chooser(TABLES[table].timing, tuple(columns))
            self._insert(table, columns, self._columns.rows(table, columns, is_wanted=is_wanted))
        return [f"{table}.{name}" for name in self._source.columns(table) if name not in columns]

    def _insert(
        self, table: str, columns: Mapping[str, Content], rows: Iterable[tuple[object, ...]], *, key: str | None = None
    ) -> None:
        self._target.create_table(table, {name: content.column_type for name, content in columns.items()}, pk=key)
        marks = ", ".join("?" * len(columns))
        self._connection.execute("BEGIN")
        # insert_all makes a dict of each row, which takes thirty times as long
        self._rows[table] = self._connection.executemany(f'INSERT INTO "{table}" VALUES ({marks})', rows).rowcount
        self._connection.execute("COMMIT")
