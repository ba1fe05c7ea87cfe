"""Who a process is in its job, as the mark of the training-side hook tells, and which ranks are missing."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.tables import PROCESS_MASK
from gapfinder.units import format_count, format_numbers, runs_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import pandas as pd

HOOK_DOMAIN = "gapfinder"
"""Where the hook writes its ranges and marks."""

OWN_DOMAINS = frozenset({HOOK_DOMAIN, ""})
"""The hook's domain, and the default one, in which it writes where torch annotates for it and users write theirs."""

_WHOLE = re.compile(
    r"rank=(?P<rank>\d{1,9}) local_rank=(?P<local_rank>\d{1,9}) world_size=(?P<world_size>\d{1,9}) host=(?P<host>\S+)"
)
_IN_HOOK_DOMAIN = re.compile(
    r"rank=(?P<rank>\d{1,9})\b(?:.*?\blocal_rank=(?P<local_rank>\d{1,9})\b)?"
    r".*?\bworld_size=(?P<world_size>\d{1,9})\b(?:.*?\bhost=(?P<host>.+))?"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RankMark:
    """What a process's mark tells; `local_rank` and `host` are None where it does not."""

    rank: int
    local_rank: int | None
    world_size: int
    host: str | None


def find_rank_marks(marks: pd.DataFrame) -> dict[int, RankMark]:
    """Return the first mark of each process that tells its rank, by process key.

    In the default domain, where anybody may write, only the hook's whole text counts.

    Args:
        marks: frame MARKS.
    """
    found: dict[int, RankMark] = {}
    ours = marks[marks["domain"].isin(OWN_DOMAINS)]
    rows = (ours["start"].tolist(), ours["thread"].tolist(), ours["domain"].astype(str), ours["name"].astype(str))
    for _, thread, domain, text in sorted(zip(*rows, strict=True)):
        match = _IN_HOOK_DOMAIN.match(text) if domain == HOOK_DOMAIN else _WHOLE.fullmatch(text)
        if match is not None:
            local_rank = match["local_rank"]
            mark = RankMark(
                rank=int(match["rank"]),
                local_rank=None if local_rank is None else int(local_rank),
                world_size=int(match["world_size"]),
                host=match["host"],
            )
            found.setdefault(thread & PROCESS_MASK, mark)
    return found


def common_world_size(marks: Iterable[RankMark]) -> int | None:
    """Return the ranks in the job; None where no mark tells, or where there are marks of several jobs."""
    sizes = {mark.world_size for mark in marks}
    return sizes.pop() if len(sizes) == 1 else None


def several_runs(reports: Sequence[Collection[RankMark]]) -> tuple[str, ...]:
    """Say where the marks of all reports cannot be of one run, or some report is there twice; else nothing."""
    sizes = sorted({mark.world_size for marks in reports for mark in marks})
    seen = Counter(rank for marks in reports for rank in {mark.rank for mark in marks})
    twice = format_numbers(runs_of(sorted(rank for rank, count in seen.items() if count > 1)))
    if len(sizes) > 1:
        return (f"reports of several jobs (world sizes {', '.join(map(str, sizes))}); analyze each by itself",)
    if twice:
        what = "rank" if twice.isdigit() else "ranks"
        return (f"more than one report of {what} {twice}: copies, or several runs; analyze each run by itself",)
    return ()


def missing_ranks(
    marks: Collection[RankMark], *, busy: Collection[RankMark | None], told: Collection[int], reports: int
) -> tuple[str, ...]:
    """Name the ranks of the job that the reports have no GPU work of, or nothing at all where they have no GPU work.

    Args:
        marks: of all processes.
        busy: of each process with GPU work its mark, None where it has none.
        told: the ranks of the lanes as the user told them; empty where he did not.
        reports: how many there are.
    """
    world_size = common_world_size(marks)
    if world_size is None:
        return ()
    seen = set(told) or {mark.rank for mark in (busy or marks) if mark is not None}
    if None in busy and not told:
        without = max(world_size - len(busy), 0)
        missing = format_count(without, "rank") if without else ""
    else:
        numbers = format_numbers(_runs_between(sorted(rank for rank in seen if rank < world_size), end=world_size))
        missing = f"rank{'' if numbers.isdigit() else 's'} {numbers}" if numbers else ""
    if not missing:
        return ()
    what = "no GPU work" if busy else "nothing"
    where = "this report" if reports == 1 else "these reports"
    return (f"{what} of {missing} in {where} (world size {world_size})",)


def _runs_between(present: list[int], *, end: int) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of each run of numbers below `end` that is not in the sorted list `present`."""
    expected = 0
    for number in [*present, end]:
        if number > expected:
            yield expected, number - 1
        expected = number + 1
