"""Opens prepared profiles, and keeps the few that were used last."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboards.data.trace import Trace
    from dashboards.store.records import StoredProfile
    from gapfinder.model import Analysis

_KEPT = 8


@dataclass(frozen=True, slots=True, eq=False)
class OpenProfile:
    """A profile that can be shown: what was measured, and its timeline."""

    stored: StoredProfile
    analysis: Analysis
    trace: Trace


class OpenProfiles:
    """Open profiles by id; any thread may ask."""

    def __init__(self, open_profile: Callable[[str], OpenProfile]) -> None:
        self._open_profile = open_profile
        self._opened: OrderedDict[str, OpenProfile] = OrderedDict()
        self._lock = Lock()

    def get(self, profile: str) -> OpenProfile:
        """Return a profile; InputError, for a reader, where it is unknown, not ready or cannot be read."""
        with self._lock:
            if profile not in self._opened:
                self._opened[profile] = self._open_profile(profile)
                while len(self._opened) > _KEPT:
                    self._opened.popitem(last=False)
            self._opened.move_to_end(profile)
            return self._opened[profile]

    def forget(self, profile: str) -> None:
        """Close a profile that is gone or was prepared anew."""
        with self._lock:
            self._opened.pop(profile, None)


def open_prepared(stored: StoredProfile) -> OpenProfile:
    """Open what was prepared of a profile."""
    raise NotImplementedError
