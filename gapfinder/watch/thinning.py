"""Fewer rows of step times that still show every slow step: neighbours of one rank are merged into one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.watch.model import TimesRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def thin_out(rows: Iterable[TimesRow], *, most: int) -> tuple[TimesRow, ...]:
    """Return the rows with at most `most` of each rank, in the order of their last ones."""
    by_rank: dict[int, list[tuple[int, TimesRow]]] = {}
    for place, row in enumerate(rows):
        by_rank.setdefault(row.rank, []).append((place, row))
    kept = [merged for ranked in by_rank.values() for merged in _merged(ranked, most=most)]
    return tuple(row for _, row in sorted(kept, key=lambda placed: placed[0]))


def _merged(placed: Sequence[tuple[int, TimesRow]], *, most: int) -> Iterable[tuple[int, TimesRow]]:
    together = -(-len(placed) // most)
    for first in range(0, len(placed), together):
        group = placed[first : first + together]
        yield group[-1][0], group[0][1] if len(group) == 1 else merge([row for _, row in group])


def merge(rows: Sequence[TimesRow]) -> TimesRow:
    """Return one row for several of one rank.

    Steps, mean (rounded) and the longest are exact. The two medians are those of the row in the middle, the steps
    counted, and p99 is the largest: a lower bound of nothing, but what was slow stays slow.
    """
    steps = sum(row.steps for row in rows)
    return TimesRow(
        at=rows[-1].at,
        rank=rows[-1].rank,
        step=rows[-1].step,
        steps=steps,
        mean_ns=round(sum(row.mean_ns * row.steps for row in rows) / max(1, steps)),
        p50_ns=_middle([(row.p50_ns, row.steps) for row in rows]),
        p99_ns=max(row.p99_ns for row in rows),
        longest_ns=max(row.longest_ns for row in rows),
        apart_ns=_middle([(row.apart_ns, row.steps) for row in rows]),
        is_disturbed=any(row.is_disturbed for row in rows),
    )


def _middle(weighted: Iterable[tuple[int, int]]) -> int:
    """Return the value up to which half of the weight lies."""
    in_order = sorted(weighted)
    half, so_far = sum(weight for _, weight in in_order) / 2, 0
    for value, weight in in_order:
        so_far += weight
        if so_far >= half:
            return value
    return 0
