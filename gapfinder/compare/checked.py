"""The check as a function: from profiles to a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.compare.check import check
from gapfinder.compare.comparable import Aspect
from gapfinder.compare.measured import measure
from gapfinder.compare.thresholds import parse_limits
from gapfinder.errors import InputError
from gapfinder.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.compare.reference import Reference
    from gapfinder.compare.snapshot import Snapshot
    from gapfinder.compare.verdict import Verdict


def check_profiles(
    profiles: Sequence[Path | str],
    *,
    reference: Reference,
    fail_on: Sequence[str],
    allow_different: Sequence[str],
    settings: Settings | None,
) -> Verdict:
    """Return the verdict of `gapfinder.check`, which describes the arguments."""
    settings = settings or Settings()
    parse_limits(fail_on)  # a limit that is none should not wait for the profiles
    return check_snapshot(
        measure([Path(profile) for profile in profiles], settings=settings),
        reference=reference,
        fail_on=fail_on,
        allow_different=allow_different,
        settings=settings,
    )


def check_snapshot(
    candidate: Snapshot,
    *,
    reference: Reference,
    fail_on: Sequence[str],
    allow_different: Sequence[str] = (),
    settings: Settings | None = None,
) -> Verdict:
    """Return the verdict on what was measured already; the arguments are those of `gapfinder.check`."""
    limits = parse_limits(fail_on)
    old = reference.find(limits, settings=settings or Settings())
    return check(candidate, old, limits=limits, allowed=allowed_differences(allow_different))


def allowed_differences(names: Sequence[str]) -> frozenset[Aspect]:
    """Return the differences that `names` allow; InputError with those there are."""
    unknown = [name for name in names if name not in list(Aspect)]
    if unknown:
        raise InputError(f"no difference {unknown[0]!r} to allow; there are {', '.join(Aspect)}")
    return frozenset(map(Aspect, names))
