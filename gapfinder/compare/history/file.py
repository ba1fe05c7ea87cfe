"""Opens a history file: makes it, brings it up to date, and refuses what is none of ours."""

from __future__ import annotations

import sqlite3
import stat
import time
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING

from gapfinder.compare.history import schema
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sqlite_utils import Database

_MAGIC = b"SQLite format 3\0"
_LOCK_SECONDS = 30
_DEADLINE_SECONDS = 60
_STEPS_BETWEEN_CHECKS = 100_000
_LONGEST_VALUE = 256 * 1024 * 1024


@contextmanager
def history(path: Path, *, writes: bool) -> Iterator[Database]:
    """Give the database at `path`; all that is done with it happens in one transaction, or not at all.

    Args:
        path: made where it is missing and `writes`.
        writes: takes the file for itself; other writers wait for up to 30 s.

    Raises:
        InputError: it is missing, is no history, is one of a newer gapfinder, is damaged or stays locked.
    """
    from sqlite_utils import Database

    _check_place(path, writes=writes)
    try:
        # also a reader must be able to undo what a writer that died left half-done
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode={'rwc' if writes else 'rw'}", uri=True)
        try:
            connection.isolation_level = None
            _harden(connection, writes=writes)
            connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
            database = Database(connection, execute_plugins=False)
            _bring_up_to_date(database, path=path, writes=writes)
            yield database
            connection.execute("COMMIT")
        finally:
            connection.close()  # what was not committed is undone
    except (sqlite3.Error, OverflowError, UnicodeError) as error:  # sqlite3 decodes what the file says
        raise InputError(f"cannot {'write' if writes else 'read'} the history {path}: {error}") from error


def _check_place(path: Path, *, writes: bool) -> None:
    """Raise InputError unless `path` is a SQLite file, or may become one."""
    try:
        kind = _kind(path)
        if kind == stat.S_IFREG:
            with path.open("rb") as file:
                start = file.read(len(_MAGIC))
            if start not in (b"", _MAGIC):
                raise InputError(f"{path} is no history of gapfinder: it is no SQLite file")
        elif kind is not None:
            raise InputError(f"{path} is no history of gapfinder: it is no file")
        elif not writes:
            raise InputError(f"no history at {path}; `gapfinder history add` makes one")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot open the history {path}: {error.strerror}") from error


def _kind(path: Path) -> int | None:
    """Return what is at `path`, asked once: another process may just make it; None for nothing."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _harden(connection: sqlite3.Connection, *, writes: bool) -> None:
    """Let nothing in the file run, and nothing in it take for ever."""
    connection.execute(f"PRAGMA busy_timeout = {1_000 * _LOCK_SECONDS}")
    query_only = f"query_only = {'OFF' if writes else 'ON'}"
    for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "foreign_keys = ON", query_only):
        connection.execute(f"PRAGMA {pragma}")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    deadline = time.monotonic() + _LOCK_SECONDS + _DEADLINE_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_CHECKS)


def _bring_up_to_date(database: Database, *, path: Path, writes: bool) -> None:
    version = _pragma(database, "user_version")
    owner = _pragma(database, "application_id")
    newest = len(schema.MIGRATIONS)
    is_new = version == 0 and owner == 0 and not database.execute("SELECT 1 FROM sqlite_master").fetchone()
    if not is_new and owner != schema.APPLICATION_ID:
        raise InputError(f"{path} is no history of gapfinder: another program made this SQLite file")
    if version > newest:
        raise InputError(f"{path} was written by a newer gapfinder (version {version}, this one knows {newest})")
    if version < newest:
        if not writes:
            raise InputError(f"{path} is empty or of an older gapfinder; any command that writes brings it up to date")
        for migrate in schema.MIGRATIONS[version:]:
            migrate(database)
        database.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {newest}")
    _check_schema(database, path=path)


def _check_schema(database: Database, *, path: Path) -> None:
    """Raise InputError where a table is not as declared, or something of a stranger would run when it is written."""
    names = {table.name for table in schema.TABLES}
    kinds = database.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
    real = {name for kind, name, _, sql in kinds if kind == "table" and str(sql).upper().startswith("CREATE TABLE")}
    for kind, name, table, sql in kinds:
        if kind in ("trigger", "index") and table in names and sql is not None:
            raise InputError(f"{path} was changed by another program: it has the {kind} {name!r}")
    for declared in schema.TABLES:
        columns = [row[1] for row in database.execute(f'PRAGMA table_xinfo("{declared.name}")')]
        if declared.name not in real or columns != [column.name for column in declared.columns]:
            raise InputError(f"{path} was changed by another program: the table {declared.name} is not as it was made")


def check_types(row: Mapping[str, object], *, table: schema.Table) -> None:
    """Raise InputError where a value is of another type than declared: whoever edits a file may put anything in it."""
    for column in table.columns:
        value = row[column.name]
        fits = isinstance(value, column.type) and (not isinstance(value, float) or isfinite(value))
        if not fits and not (value is None and column.is_nullable):
            raise InputError(f"the history has no {column.type.__name__} for {column.name} in the table {table.name}")


def _pragma(database: Database, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])
