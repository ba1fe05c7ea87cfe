"""Removes what nobody will finish: uploads given up, and files and folders that no row of the database speaks of."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dashboards.store.records import JobState

if TYPE_CHECKING:
    from dashboards.store.store import Store

GIVEN_UP_S = 24 * 3600.0
"""An upload that nobody touched for so long is removed."""


def sweep(store: Store) -> None:
    """Remove leftovers; other servers may use the store meanwhile.

    Files and folders get and lose their rows in one transaction with their names, so nothing under way looks left over
    to whoever is in a transaction too.
    """
    places = store.places
    with store.ledger.transaction() as database:
        database.execute("DELETE FROM uploads WHERE changed_s < ?", [time.time() - GIVEN_UP_S])
        ids = {
            places.incoming: "SELECT id FROM uploads",
            places.files: "SELECT id FROM profiles WHERE is_uploaded",
            places.prepared: "SELECT id FROM profiles",
            places.scratch: f"SELECT id FROM jobs WHERE state = '{JobState.RUNNING}'",  # noqa: S608 (a word of ours)
            places.locks: f"SELECT id FROM jobs WHERE state = '{JobState.RUNNING}'",  # noqa: S608
        }
        for folder, query in ids.items():
            known = {str(row["id"]) for row in database.query(query)}
            for entry in folder.iterdir():
                if entry.name not in known:
                    places.discard(entry)
    places.empty_trash()
