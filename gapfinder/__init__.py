"""Finds the holes in a GPU timeline and says how much communication is hidden behind compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gapfinder.compare.snapshot import Snapshot
    from gapfinder.compare.verdict import Verdict
    from gapfinder.settings import Settings

__version__ = "0.1.0"


def check(  # noqa: PLR0913 (all by name, the options of the command)
    *profiles: Path | str,
    baseline: Path | str | Snapshot | None = None,
    against_history: str | None = None,
    history_runs: int = 5,
    fail_on: Sequence[str] = (),
    allow_different: Sequence[str] = (),
    store: Path | str | None = None,
    history: Path | str | None = None,
    settings: Settings | None = None,
) -> Verdict:
    """Return the verdict of `gapfinder check`, whose options have the same words; nothing is printed or stored.

    Args:
        profiles: reports, exports, or folders of them.
        baseline: a stored baseline's name, its JSON file, an older profile, or a snapshot.
        against_history: branch whose accepted runs are compared with, in place of a baseline.
        history_runs: how many of them at most.
        fail_on: limits, such as "overlap_ratio<0.7"; the default ones where there are none.
        allow_different: what may differ between the two captures, such as "gpu-model".
        store: folder of baselines.
        history: file of the history.
        settings: how to measure; the defaults where not given, whatever settings files there are.

    Raises:
        gapfinder.errors.InputError: a profile, a baseline or a limit cannot be used.
        gapfinder.errors.InconclusiveError: the settings ask for steps or a window that the profile has not.
    """
    from gapfinder.compare.checked import check_profiles
    from gapfinder.compare.reference import Reference

    reference = Reference(
        baseline=baseline, against_history=against_history, history_runs=history_runs, store=store, history=history
    )
    return check_profiles(
        profiles, reference=reference, fail_on=fail_on, allow_different=allow_different, settings=settings
    )
