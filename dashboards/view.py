"""What every page works with: the store, and profiles opened from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from dashboards.data.opening import OpenProfiles
    from dashboards.jobs.captures import Watches
    from dashboards.jobs.queue import Queue
    from dashboards.store.store import Store


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """The one value that an app is made from; tests make it of a temporary folder.

    Attributes:
        store: profiles, jobs, uploads, labels.
        profiles: opens what is ready and keeps the few that were used last; any thread may ask.
        queue: takes profiles to prepare.
        history: file that prepared profiles are recorded in, for their trends; None where none is kept.
        watches: of trainings, to show live; None where none are looked for.
    """

    store: Store
    profiles: OpenProfiles
    queue: Queue
    history: Path | None = None
    watches: Watches | None = None
