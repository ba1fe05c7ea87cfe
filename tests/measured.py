"""Measures reports as `gapfinder collectives` does: the analysis, and every collective as each lane saw it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.analysis import join_collectives, measure_report
from gapfinder.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from gapfinder.load import Profile
    from gapfinder.model import Analysis


def with_collectives(profiles: Iterable[Profile]) -> tuple[Analysis, pd.DataFrame]:
    """Return the analysis of loaded reports and the frame COLLECTIVES."""
    settings = Settings()
    return join_collectives([measure_report(profile, settings=settings) for profile in profiles], settings=settings)
