"""Works out once what all rules ask about one analysis."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from gapfinder.model import Analysis

Made = TypeVar("Made")


def once(make: Callable[[Analysis], Made]) -> Callable[[Analysis], Made]:
    """Return `make`, which keeps what it made of the analysis that was asked for last: rules ask one after the other.

    Analyses are told apart by identity, for they are frozen, and comparing two costs more than most of what is made.
    """
    latest: list[tuple[Analysis, Made]] = []

    @wraps(make)
    def asked(analysis: Analysis) -> Made:
        for known, made in tuple(latest):
            if known is analysis:
                return made
        made = make(analysis)
        latest[:] = [(analysis, made)]
        return made

    return asked
