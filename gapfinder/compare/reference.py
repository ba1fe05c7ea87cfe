"""Finds what a training is to be compared with: a baseline, another profile, or the accepted runs of a branch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.compare import store as stored
from gapfinder.compare.accepted import Accepted
from gapfinder.compare.change import MOST_RUNS
from gapfinder.compare.history import default_store, recent
from gapfinder.compare.measured import load_each, measure
from gapfinder.compare.snapshot import Snapshot
from gapfinder.compare.thresholds import needs_baseline
from gapfinder.errors import InputError
from gapfinder.findings.words import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.compare.measured import Load
    from gapfinder.compare.thresholds import Limit
    from gapfinder.settings import Settings

DEFAULT_RUNS = 5
"""How many accepted runs are pooled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """What a check is to hold a training against, as it was asked for.

    Attributes:
        baseline: a stored baseline's name, its JSON file, an older profile, or a snapshot.
        against_history: branch whose accepted runs count.
        history_runs: how many of them at most.
        store: folder of baselines; None for that of the settings, else the nearest.
        history: file of the history; None for that of the settings, else the nearest.
    """

    baseline: Path | str | Snapshot | None = None
    against_history: str | None = None
    history_runs: int = DEFAULT_RUNS
    store: Path | str | None = None
    history: Path | str | None = None

    @property
    def named(self) -> str | None:
        """What was asked for, in words; None where nothing was."""
        if self.against_history is not None:
            return f"the history of {self.against_history}"
        return None if self.baseline is None else "the given baseline"

    def find(
        self, limits: Sequence[Limit], *, settings: Settings, load: Load = load_each
    ) -> Snapshot | Accepted | None:
        """Return it where the limits need it; where none was asked for, the stored baseline called main if it is there.

        Raises:
            InputError: one was asked for, and no limit would look at it; or it cannot be used.
        """
        if self.baseline is not None and self.against_history is not None:
            raise InputError(
                "give a baseline or a branch of the history, not both: a change is held against one of them"
            )
        if not needs_baseline(limits):
            if self.named is None:
                return None
            raise InputError(
                f"{self.named} would not be looked at, for no limit is about a change; "
                "add one such as --fail-on overlap_ratio:-5pp, or leave it out"
            )
        if self.against_history is not None:
            return self._accepted(self.against_history, settings=settings)
        return self._baseline(settings=settings, load=load)

    def _accepted(self, branch: str, *, settings: Settings) -> Accepted:
        if not 1 <= self.history_runs <= MOST_RUNS:
            raise InputError(f"{self.history_runs} runs cannot be pooled; take 1 to {MOST_RUNS} of them")
        file = history_file(self.history, settings=settings)
        runs = recent(file, branch=branch, count=self.history_runs) if file.exists() else ()
        return Accepted(branch=branch, runs=runs)

    def _baseline(self, *, settings: Settings, load: Load) -> Snapshot | None:
        if isinstance(self.baseline, Snapshot):
            return self.baseline
        store = store_folder(self.store, settings=settings)
        default = stored.DEFAULT_NAME if stored.DEFAULT_NAME in stored.names(store) else None
        meant = default if self.baseline is None else str(self.baseline)
        return None if meant is None else find_baseline(meant, store=store, settings=settings, load=load)


def store_folder(store: Path | str | None, *, settings: Settings) -> Path:
    """Return the folder of baselines: the one that is named, else that of the settings, else the nearest."""
    return Path(store) if store is not None else settings.baselines or stored.default_store(Path())


def history_file(file: Path | str | None, *, settings: Settings) -> Path:
    """Return the file of the history: the one that is named, else that of the settings, else the nearest."""
    return Path(file) if file is not None else settings.history or default_store(Path())


def find_baseline(named: str, *, store: Path, settings: Settings, load: Load = load_each) -> Snapshot:
    """Return the baseline that `named` means: a stored one's name, else a JSON file, else a profile to measure.

    A file that is called like a stored baseline is meant by ./NAME.
    """
    there = stored.names(store)
    if named in there:
        return stored.load(store, named)
    if named.endswith(stored.SUFFIX):
        return stored.read_snapshot(Path(named))
    if Path(named).exists():
        return measure([Path(named)], settings=settings, load=load)
    known = listed(there) or "none"
    raise InputError(f"no baseline {named!r}: no such file, and of the names in {store} there is {known}")
