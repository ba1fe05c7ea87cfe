"""From profiles to a verdict: measures what is to be checked, and finds or measures what it is checked against."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.analysis import analyze
from gapfinder.compare import store as stored
from gapfinder.compare.check import check
from gapfinder.compare.comparable import Difference
from gapfinder.compare.snapshot import Snapshot
from gapfinder.compare.take import take_snapshot
from gapfinder.compare.thresholds import needs_baseline, parse_limits
from gapfinder.errors import InputError
from gapfinder.findings import explained
from gapfinder.findings.words import listed
from gapfinder.load import find_profiles, load_profile
from gapfinder.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gapfinder.compare.verdict import Verdict
    from gapfinder.load import Profile

    Load = Callable[[Sequence[Path]], Iterable[Profile]]


def load_each(files: Sequence[Path]) -> Iterable[Profile]:
    """Load one profile after the other, so that only one is in memory."""
    return map(load_profile, files)


def measure(
    profiles: Sequence[Path], *, settings: Settings, commit: str | None = None, load: Load = load_each
) -> Snapshot:
    """Return a snapshot of profiles, or of the folders they are in."""
    analysis = explained(analyze(load(find_profiles(profiles)), settings=settings))
    return take_snapshot(analysis, settings=settings, commit=commit, created=datetime.now(UTC))


def find_baseline(named: str | None, *, store: Path, settings: Settings, load: Load = load_each) -> Snapshot | None:
    """Return the snapshot that `named` means; without a name the stored baseline "main", None where there is none."""
    if named is not None:
        return find_snapshot(named, store=store, settings=settings, load=load)
    return stored.load(store, stored.DEFAULT_NAME) if stored.DEFAULT_NAME in stored.names(store) else None


def find_snapshot(named: str, *, store: Path, settings: Settings, load: Load = load_each) -> Snapshot:
    """Return the snapshot that `named` means: a stored baseline's name, else a JSON file, else a profile to measure.

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


def check_profiles(
    *profiles: Path | str,
    baseline: Path | str | Snapshot | None = None,
    fail_on: Sequence[str] = (),
    allow_different: Sequence[str] = (),
    store: Path | str | None = None,
    settings: Settings | None = None,
) -> Verdict:
    """Return the verdict of `gapfinder check` with the same words as options; nothing is printed.

    Raises:
        InputError: a profile, baseline or limit cannot be used.
        InconclusiveError: the settings ask for steps or a window that the profile has not.
    """
    settings = settings or Settings()
    limits = parse_limits(fail_on)
    allowed = allowed_differences(allow_different)
    folder = stored.default_store(Path()) if store is None else Path(store)
    old = baseline if isinstance(baseline, Snapshot) else None
    if old is None and needs_baseline(limits):
        named = None if baseline is None else str(baseline)
        old = find_baseline(named, store=folder, settings=settings)
    candidate = measure([Path(profile) for profile in profiles], settings=settings)
    return check(candidate, old, limits=limits, allowed=allowed)


def allowed_differences(names: Sequence[str]) -> frozenset[Difference]:
    """Return the differences that `names` allow; InputError with those there are."""
    unknown = [name for name in names if name not in list(Difference)]
    if unknown:
        raise InputError(f"no difference {unknown[0]!r} to allow; there are {', '.join(Difference)}")
    return frozenset(map(Difference, names))
