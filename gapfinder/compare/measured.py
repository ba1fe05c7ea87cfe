"""From profiles to a verdict: measures what is to be checked, and finds or measures what it is checked against."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.analysis import analyze
from gapfinder.compare import store as stored
from gapfinder.compare.check import check
from gapfinder.compare.comparable import Aspect
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

    from gapfinder.compare.thresholds import Limit
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


def baseline_for(
    limits: Sequence[Limit], *, named: str | None, store: Path, settings: Settings, load: Load = load_each
) -> Snapshot | None:
    """Return the baseline that the limits need: the one that is named, else the stored one called main if it is there.

    Raises:
        InputError: one is named, and no limit would look at it; or it cannot be used.
    """
    if needs_baseline(limits):
        default = stored.DEFAULT_NAME if stored.DEFAULT_NAME in stored.names(store) else None
        meant = named or default
        return None if meant is None else find_baseline(meant, store=store, settings=settings, load=load)
    if named is not None:
        raise InputError(
            f"the baseline {named} would not be looked at, for no limit is about a change; "
            "add one such as --fail-on overlap_ratio:-5pp, or leave the baseline out"
        )
    return None


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


def check_profiles(  # noqa: PLR0913 (the options of the command)
    profiles: Sequence[Path | str],
    *,
    baseline: Path | str | Snapshot | None,
    fail_on: Sequence[str],
    allow_different: Sequence[str],
    store: Path | str | None,
    settings: Settings | None,
) -> Verdict:
    """Return the verdict of `gapfinder.check`, which describes the arguments."""
    settings = settings or Settings()
    parse_limits(fail_on)  # a limit that is none should not wait for the profiles
    return check_snapshot(
        measure([Path(profile) for profile in profiles], settings=settings),
        baseline=baseline,
        fail_on=fail_on,
        allow_different=allow_different,
        store=store,
        settings=settings,
    )


def check_snapshot(  # noqa: PLR0913 (the options of the command)
    candidate: Snapshot,
    *,
    baseline: Path | str | Snapshot | None,
    fail_on: Sequence[str],
    allow_different: Sequence[str],
    store: Path | str | None,
    settings: Settings | None = None,
) -> Verdict:
    """Return the verdict on what was measured already; the arguments are those of `gapfinder.check`."""
    limits = parse_limits(fail_on)
    if isinstance(baseline, Snapshot):
        old: Snapshot | None = baseline
    else:
        old = baseline_for(
            limits,
            named=None if baseline is None else str(baseline),
            store=stored.default_store(Path()) if store is None else Path(store),
            settings=settings or Settings(),
        )
    return check(candidate, old, limits=limits, allowed=allowed_differences(allow_different))


def allowed_differences(names: Sequence[str]) -> frozenset[Aspect]:
    """Return the differences that `names` allow; InputError with those there are."""
    unknown = [name for name in names if name not in list(Aspect)]
    if unknown:
        raise InputError(f"no difference {unknown[0]!r} to allow; there are {', '.join(Aspect)}")
    return frozenset(map(Aspect, names))
