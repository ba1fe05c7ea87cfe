"""Opens an export that may be hostile, and hands out columns of the tables that nsys writes."""

# ruff: noqa: S608 - only names of this package's own constants are written into SQL, never what a file says

from __future__ import annotations

import sqlite3
import time
from array import array
from contextlib import contextmanager
from copy import copy
from functools import cached_property, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from gapfinder.errors import InputError
from gapfinder.load.btree import SMALLEST_ROW, DamagedError, Integers, PageFile, UnsupportedError, find_leaves
from gapfinder.load.names import Names, TextCodes
from gapfinder.load.pages import IntegerColumn, read_integers
from gapfinder.load.schema import STRINGS, TABLES
from gapfinder.load.schema_check import AGAIN, TableInfo, Value, find_tables
from gapfinder.load.texts import decode, printable, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    from gapfinder.load.limits import Limits

_LONGEST_VALUE = 1 << 24
_STEPS_BETWEEN_CHECKS = 10_000
_MOST_SMALL_ROWS = 20_000
_LONGEST_SMALL_TEXT = 1_024
_INTEGERS = {int, type(None)}
_TOO_LONG = "its texts are longer than the file"


class Database:
    """A SQLite export, open for reading only.

    Attributes:
        name: what to call the file in messages.
        slow_tables: why each table that was left to SQLite could not be read from its pages.
    """

    def __init__(self, file: PageFile, *, name: str, limits: Limits, tables: Sequence[str] = TABLES) -> None:
        self.name = name
        self.slow_tables: dict[str, str] = {}
        self._rows: dict[str, int] = {}
        self._only: dict[str, Integers] = {}
        self._file = file
        self._limits = limits
        self._deadline = time.monotonic() + limits.deadline_s
        uri = f"{file.path.resolve().as_uri()}?mode=ro&immutable=1"
        self._connection = sqlite3.connect(uri, uri=True, isolation_level=None)
        try:
            self._harden()
            self._tables = find_tables(file, wanted=tables, name=name, query=self._query)
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._connection.close()

    def has_rows(self, table: str) -> bool:
        """Whether the table is there and not empty: nsys leaves out empty tables or not, by version."""
        return table in self._tables and bool(self._query(f'SELECT 1 FROM "{table}" NOT INDEXED LIMIT 1'))

    def has_column(self, table: str, column: str) -> bool:
        """Whether the table is there with this column."""
        return column in self.columns(table)

    def integers(self, table: str, columns: Mapping[str, int], *, required: Sequence[str] = ()) -> dict[str, Integers]:
        """Return columns as int64 in the table's order; `columns` gives each the value for NULL or an absent column."""
        if table not in self._tables:
            return {column: np.empty(0, np.int64) for column in columns}
        info = self._tables[table]
        self._check_columns(table, required)
        present = {column: null for column, null in columns.items() if column in info.columns}
        try:
            arrays = self._read_pages(info, present, leaves=self._only.get(table))
        except DamagedError as how:
            raise self._damaged(table, str(how)) from how
        except UnsupportedError as reason:
            if table in self._only:
                raise
            self.slow_tables[table] = str(reason)
            arrays = self._read_slowly(table, present)
        rows = len(next(iter(arrays.values())))
        self._check_rows(table, rows)
        return {column: arrays.get(column, np.full(rows, null)) for column, null in columns.items()}

    @property
    def page_size(self) -> int:
        """Bytes of a page."""
        return self._file.page_size

    def leaves(self, table: str) -> Integers:
        """Return the pages that hold a table's rows, in their order; UnsupportedError where they cannot be told."""
        if table not in self._tables:
            return np.empty(0, np.int64)
        with self._file.path.open("rb", buffering=0) as stream:
            try:
                return find_leaves(self._file, stream, root=self._tables[table].root)
            except DamagedError as how:
                raise self._damaged(table, str(how)) from how

    def on_pages(self, table: str, leaves: Integers) -> Self:
        """Return a view in which `integers` finds only the rows of a table that are on these of its pages.

        It raises UnsupportedError where the pages are not as nsys writes them, for SQLite does not read by pages.
        """
        view = copy(self)
        view._rows, view._only = {}, {table: leaves}  # noqa: SLF001 (its own class)
        return view

    def texts(self, table: str, column: str) -> Names:
        """Return a text column in the table's order."""
        codes = TextCodes(room=self._room_for_text, check=partial(self.check_names, most=self._limits.max_texts))
        try:
            with self._reading():
                # No Python code runs per row: there may be as many as kernels.
                values = chain.from_iterable(self._scan(table, (column,)))
                coded = np.fromiter(map(codes.__getitem__, values), np.int64)
        except TypeError as error:
            rows = enumerate(self.rows(table, (), (column,)))
            wrong = next(row for row, (text,) in rows if not isinstance(text, bytes | None))
            raise self._wrong_type(table, column, wrong, "text") from error
        except OverflowError as error:
            raise self._damaged(table, _TOO_LONG) from error
        self._check_rows(table, len(coded))
        return Names.from_bytes(coded, codes)

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the table's columns; none where it is not there."""
        return self._tables[table].columns if table in self._tables else ()

    def table_names(self) -> list[str]:
        """Return every table and view that the file has, also those that are not read."""
        found = self._query("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name")
        return [decode(name) for (name,) in found if not decode(name).lower().startswith("sqlite_")]

    def rows(
        self, table: str, integers: Sequence[str], others: Sequence[str] = (), *, present: str | None = None
    ) -> Iterator[tuple[Value, ...]]:
        """Yield rows (all, or where `present` is not NULL): `integers` are integers or NULL, `others` of any type."""
        where = "" if present is None else f'WHERE "{present}" IS NOT NULL'
        width, most = len(integers), self._most_rows
        with self._reading():
            for row, values in enumerate(self._scan(table, (*integers, *others), where=where)):
                if not _INTEGERS.issuperset(map(type, values[:width])):
                    column = next(c for c, v in zip(integers, values, strict=False) if type(v) not in _INTEGERS)
                    raise self._wrong_type(table, column, row, "an integer")
                if row >= most:
                    self._check_most_rows(table, row + 1)
                yield values

    def rows_among(
        self, table: str, columns: Sequence[str], *, column: str, values: Sequence[int]
    ) -> Iterator[tuple[Value, ...]]:
        """Yield these columns of the rows in which `column` is one of a few values; types are not checked."""
        marks = ", ".join("?" * len(values))
        with self._reading():
            yield from self._scan(table, columns, where=f'WHERE "{column}" IN ({marks})', parameters=values)

    def names(self, ids: Integers) -> Names:
        """Return the strings that these ids stand for; one that has no string is a name not told."""
        codes, distinct = pd.factorize(ids)
        self.check_names(len(distinct))
        return Names.from_bytes(codes, [self.strings.get(number) for number in distinct.tolist()])

    def check_names(self, count: int, *, most: int = 0) -> None:
        """Refuse more different names than `most`, else those of a report: each is kept, and decided on by itself."""
        if count > (most := most or self._limits.max_names):
            raise InputError(f"{self.name}: has {count:,} different names, at most {most:,} can be; capture less")

    def small_table(self, table: str, columns: Sequence[str]) -> list[tuple[Value, ...]]:
        """Return the rows of a table that describes the capture, the largest first: integers, texts (cut), or None."""
        if table not in self._tables:
            return []
        chosen = ", ".join(
            f"""CASE typeof("{c}") WHEN 'integer' THEN "{c}" ELSE substr("{c}", 1, {_LONGEST_SMALL_TEXT}) END"""
            if self.has_column(table, c)
            else "NULL"
            for c in columns
        )
        order = ", ".join(f"{k + 1} DESC" for k in range(len(columns)))
        return self._query(f'SELECT {chosen} FROM "{table}" NOT INDEXED ORDER BY {order} LIMIT {_MOST_SMALL_ROWS}')

    @cached_property
    def strings(self) -> dict[int, bytes]:
        """The report's strings by their numbers, long ones shortened."""
        strings: dict[int, bytes] = {}
        if STRINGS not in self._tables:
            return strings
        rows, room = 0, self._room_for_text
        with self._reading():
            for number, text in self._scan(STRINGS, ("id", "value")):
                if not isinstance(number, int):
                    raise self._wrong_type(STRINGS, "id", rows, "an integer")
                if not isinstance(text, bytes):
                    raise self._wrong_type(STRINGS, "value", rows, "text")
                rows, room = rows + 1, room - len(text)
                if room < 0:
                    raise self._damaged(STRINGS, _TOO_LONG)
                name = shorten(text)
                strings[number] = min(name, strings.get(number, name))
        self._check_rows(STRINGS, rows)
        return strings

    @property
    def _room_for_text(self) -> int:
        """Bytes of text that a file of this size can hold: UTF-16 becomes at most 1.5 times as long in UTF-8."""
        return self._file.size * 3 // 2

    def _harden(self) -> None:
        self._connection.text_factory = bytes
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
        self._connection.set_progress_handler(lambda: time.monotonic() > self._deadline, _STEPS_BETWEEN_CHECKS)
        for pragma in ("trusted_schema = OFF", "query_only = ON", "cell_size_check = ON"):
            self._query(f"PRAGMA {pragma}")

    def _read_pages(
        self, info: TableInfo, columns: Mapping[str, int], *, leaves: Integers | None
    ) -> dict[str, Integers]:
        if not info.plain_integers.issuperset(columns):
            raise UnsupportedError("a column is not declared as a plain integer")
        wanted = [IntegerColumn(index=info.columns.index(column), null=null) for column, null in columns.items()]
        return dict(zip(columns, read_integers(self._file, root=info.root, columns=wanted, leaves=leaves), strict=True))

    def _read_slowly(self, table: str, columns: Mapping[str, int]) -> dict[str, Integers]:
        filled = [(column, null, array("q")) for column, null in columns.items()]
        for values in self.rows(table, tuple(columns)):
            for (_, null, numbers), value in zip(filled, values, strict=True):
                numbers.append(value if isinstance(value, int) else null)
        return {column: np.array(numbers, np.int64) for column, _, numbers in filled}

    def _scan(
        self, table: str, columns: Sequence[str], *, where: str = "", parameters: Sequence[int] = ()
    ) -> Iterator[tuple[Value, ...]]:
        """Return the rows in the table's order, and at most one more than the file has room for."""
        self._check_columns(table, columns)
        chosen = ", ".join(f'"{column}"' for column in columns)
        rows = self._connection.execute(f'SELECT {chosen} FROM "{table}" NOT INDEXED {where}', parameters)
        return islice(rows, self._most_rows + 1)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:  # sqlite3 decodes what the file says in its own errors
            if time.monotonic() > self._deadline:
                reason = f"not read within {self._limits.deadline_s:g} s; {AGAIN}"
            else:
                reason = f"SQLite cannot read it ({printable(str(error))}); copy or export it again"
            raise InputError(f"{self.name}: {reason}") from error

    def _check_columns(self, table: str, columns: Sequence[str]) -> None:
        """Refuse a table without one of these columns: SQLite takes a quoted name that it does not know for a text."""
        there = self.columns(table)
        for column in columns:
            if column not in there:
                known = ", ".join(other for other in there[:8] if other.isidentifier())
                raise InputError(f"{self.name}: {table} has no column {column} (it has {known}); {AGAIN}")

    @property
    def _most_rows(self) -> int:
        return self._file.size // SMALLEST_ROW

    def _check_rows(self, table: str, rows: int) -> None:
        self._check_most_rows(table, rows)
        if self._rows.setdefault(table, rows) != rows:
            raise self._damaged(table, "its columns differ in length")

    def _check_most_rows(self, table: str, rows: int) -> None:
        if rows > self._most_rows:
            raise self._damaged(table, "it has more rows than the file has room for")

    def _damaged(self, table: str, how: str) -> InputError:
        return InputError(f"{self.name}: {table} is damaged: {how}; {AGAIN}")

    def _wrong_type(self, table: str, column: str, row: int, expected: str) -> InputError:
        kind = self._query(f'SELECT typeof("{column}") FROM "{table}" NOT INDEXED LIMIT 1 OFFSET {row}')[0][0]
        return InputError(
            f"{self.name}: {table} row {row + 1}: {column} is {decode(kind)}, expected {expected}; {AGAIN}"
        )

    def _query(self, sql: str, parameters: Sequence[str] = ()) -> list[tuple[Value, ...]]:
        with self._reading():
            return self._connection.execute(sql, parameters).fetchall()
