"""The store's SQLite database: a connection for each thread, and transactions that wait for one another."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dashboards.store.schema import APPLICATION_ID, MIGRATIONS
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlite_utils import Database

_LOCK_SECONDS = 30
_PRAGMAS = (
    f"busy_timeout = {1_000 * _LOCK_SECONDS}",
    "journal_mode = WAL",
    "trusted_schema = OFF",
    "foreign_keys = ON",
)


class Ledger:
    """One SQLite file for all threads of all servers that share it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        with self.transaction() as database:
            _bring_up_to_date(database, path=path)

    @contextmanager
    def transaction(self) -> Iterator[Database]:
        """Give the database for writing; all that is done with it happens, or nothing, and one writer at a time."""
        with self._begun("BEGIN IMMEDIATE") as database:
            yield database

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """Give the database as it is at one moment."""
        with self._begun("BEGIN") as database:
            yield database

    def close(self) -> None:
        """Close the connections of all threads; none of them may be in use."""
        with self._lock:
            while self._opened:
                self._opened.pop().close()
            self._local = threading.local()

    @contextmanager
    def _begun(self, begin: str) -> Iterator[Database]:
        try:
            database = self._of_this_thread()
            database.execute(begin)
            try:
                yield database
                database.execute("COMMIT")
            finally:
                database.rollback()  # nothing is left to undo after a commit
        except sqlite3.Error as error:
            # what is none, or is damaged, has this class itself; a full disk or a lock has one of its own
            advice = "; restore a copy of it, or name another --store" if type(error) is sqlite3.DatabaseError else ""
            raise InputError(f"the dashboard's database {self._path} cannot be used: {error}{advice}") from error

    def _of_this_thread(self) -> Database:
        """Return this thread's own connection: one that threads share may crash the process."""
        from sqlite_utils import Database

        known: Database | None = getattr(self._local, "database", None)
        if known is not None:
            return known
        # only `close` may come from another thread
        connection = sqlite3.connect(self._path, check_same_thread=False, isolation_level=None)
        try:
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
        except sqlite3.Error:
            connection.close()  # as on a full disk, where it is tried again and again
            raise
        with self._lock:
            self._opened.append(connection)
        database = Database(connection, execute_plugins=False)
        self._local.database = database
        return database


def _bring_up_to_date(database: Database, *, path: Path) -> None:
    version, owner = (
        int(database.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("user_version", "application_id")
    )
    is_new = not database.execute("SELECT 1 FROM sqlite_master").fetchone()
    if not is_new and owner != APPLICATION_ID:
        raise InputError(f"{path} is no database of the dashboard: another program made it; name another --store")
    if version > len(MIGRATIONS):
        raise InputError(f"{path} was written by a newer gapfinder; use that one, or name another --store")
    for migrate in MIGRATIONS[version:]:
        migrate(database)
    if version < len(MIGRATIONS):
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
