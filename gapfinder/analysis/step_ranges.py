"""Finds the NVTX ranges that are training steps, per process."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gapfinder.analysis.intervals import union
from gapfinder.settings import compile_pattern
from gapfinder.tables import PROCESS_MASK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from gapfinder.analysis.intervals import Int64s

DEFAULT_STEP_PATTERN = (
    r"(?P<stem>step|iteration|iter|train(?:ing)?[_ ]step|ProfilerStep)(?:[\s_:=#.-]*(?P<number>\d+))?"
)

NO_NVTX = "no NVTX ranges were captured"
NO_STEP_RANGES = "no NVTX range of this process matches the step pattern"

# A library's ranges are never steps, whatever their text.
_LIBRARY_DOMAINS = frozenset(
    {
        "cccl",
        "cub",
        "cublas",
        "cublaslt",
        "cuda",
        "cudf",
        "cudnn",
        "cufft",
        "curand",
        "cusolver",
        "cusparse",
        "dali",
        "libcudf",
        "libkvikio",
        "mpi",
        "nccl",
        "nvjpeg",
        "nvshmem",
        "openacc",
        "openmp",
        "rmm",
        "tensorrt",
        "thrust",
        "ucx",
    }
)
_OWN_KIND = "step of gapfinder"
_OPEN_END = np.iinfo(np.int64).max
_MOST_DIGITS = 18  # of a number that fits into int64


@dataclass(frozen=True, slots=True, eq=False)
class StepRanges:
    """One process's step ranges on the host, in order of start.

    Attributes:
        names: the ranges' texts.
        numbers: shape (n,); the number in each step's text, else its position from 0.
        starts: shape (n,), ns.
        ends: shape (n,), ns; the largest int64 for a range that was open when the capture ended.
        threads: shape (n,); globalTid on which each range began.
        overlaps: how many ranges begin before an earlier one has ended.
        domain: the NVTX domain of all of them; empty for the default one.
        passed_over: how many ranges of the process match as well, but are of another kind.
    """

    names: tuple[str, ...]
    numbers: Int64s
    starts: Int64s
    ends: Int64s
    threads: Int64s
    overlaps: int
    domain: str
    passed_over: int

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Which ranges had not ended when the capture did; shape (n,)."""
        is_open: NDArray[np.bool_] = self.ends == _OPEN_END
        return is_open


def find_step_ranges(ranges: pd.DataFrame, *, pattern: str | None = None) -> dict[int, StepRanges]:
    """Return the step ranges of each process that has any, by process key.

    A range is a step when its whole text matches. Where ranges of several kinds match ("step 3" inside "iteration 3"),
    one kind is taken for the whole report: gapfinder's own, whose numbers `gapfinder run` counts by, unless `pattern`
    asks for other names; else the one that covers most of the time.

    Args:
        ranges: frame RANGES.
        pattern: regular expression for the whole text; None for DEFAULT_STEP_PATTERN.
    """
    compiled = compile_pattern(pattern or DEFAULT_STEP_PATTERN)
    texts = ranges["name"].cat.categories.tolist()
    matches = [compiled.fullmatch(text) for text in texts]
    is_step = by_code(ranges["name"], [match is not None for match in matches])
    is_step &= ~by_code(ranges["domain"], is_library(ranges["domain"].cat.categories))
    found = ranges[is_step]
    if found.empty:
        return {}
    stems = [_group(match, "stem").lower() for match in matches]
    parts = zip(found["name"].cat.codes, found["domain"].astype(str), found["is_process_wide"], strict=True)
    found = found.assign(
        process=found["thread"] & PROCESS_MASK,
        # torch writes the hook's ranges into the default domain; that they are process wide tells them from the user's
        kind=[f"{stems[code]} of {domain}{' process wide' * is_wide}" for code, domain, is_wide in parts],
    )
    matching = found["process"].value_counts().to_dict()
    is_own = found["kind"].str.startswith(_OWN_KIND)
    found = found[is_own] if pattern is None and is_own.any() else found
    found = found[found["kind"] == _main_kind(found)]
    found = found.assign(end=found["end"].mask(found["is_open"], _OPEN_END), text=found["name"].astype(str))
    found = found.sort_values(["process", "start", "end", "text", "thread"], kind="stable")
    numbers = {text: _number(match) for text, match in zip(texts, matches, strict=True) if match is not None}
    columns = {name: found[name].to_numpy() for name in ("process", "start", "end", "text", "thread", "domain")}
    processes = [{name: column[rows] for name, column in columns.items()} for rows in _groups(columns["process"])]
    return {
        (key := int(rows["process"][0])): _step_ranges(rows, numbers=numbers, matching=matching[key])
        for rows in processes
    }


def is_library(domains: Iterable[str]) -> list[bool]:
    """Say which NVTX domains are a library's, whose ranges tell nothing of the training."""
    return [domain.lower() in _LIBRARY_DOMAINS for domain in domains]


def by_code(column: pd.Series, values: list[bool]) -> NDArray[np.bool_]:
    """Return what holds for each row of a category column, given what holds for each category."""
    rows: NDArray[np.bool_] = np.array([*values, False], np.bool_)[column.cat.codes.to_numpy()]
    return rows


def _main_kind(found: pd.DataFrame) -> str:
    """Return the kind whose ranges cover most time, summed over processes; ties go to the first by name."""
    found = found.sort_values(["kind", "process"], kind="stable")
    kinds, starts, ends = found["kind"].tolist(), found["start"].to_numpy(), found["end"].to_numpy()
    covered: dict[str, int] = {}
    for rows in _groups(found["process"].to_numpy(), np.array(kinds)):
        kind = kinds[rows.start]
        covered[kind] = covered.get(kind, 0) + union(starts[rows], ends[rows]).total
    return max(covered, key=lambda kind: covered[kind])


def _groups(*keys: NDArray[Any]) -> list[slice]:
    """Return the runs of rows in which every key stays the same; each of `keys` has shape (n,), n > 0."""
    changes = np.flatnonzero(np.logical_or.reduce([key[1:] != key[:-1] for key in keys])) + 1
    edges = [0, *changes.tolist(), len(keys[0])]
    return [slice(first, last) for first, last in itertools.pairwise(edges)]


def _step_ranges(columns: Mapping[str, NDArray[Any]], *, numbers: dict[str, int | None], matching: int) -> StepRanges:
    """Return the ranges of one process, of whose ranges `matching` match the pattern."""
    names, starts, ends = columns["text"].tolist(), columns["start"], columns["end"]
    told = [numbers[name] for name in names]
    unique = len({number for number in told if number is not None}) == len(told)
    positions = [number if unique and number is not None else place for place, number in enumerate(told)]
    return StepRanges(
        names=tuple(names),
        numbers=np.array(positions, np.int64),
        starts=starts,
        ends=ends,
        threads=columns["thread"],
        overlaps=int((starts[1:] < np.maximum.accumulate(ends)[:-1]).sum()),
        domain=str(columns["domain"][0]),
        passed_over=matching - len(names),
    )


def _group(match: re.Match[str] | None, name: str) -> str:
    if match is None or name not in match.re.groupindex:
        return ""
    return match[name] or ""


def _number(match: re.Match[str]) -> int | None:
    """Return the step's number: the pattern's group `number`, else the last digits of the text."""
    digits = _group(match, "number") if "number" in match.re.groupindex else (re.findall(r"\d+", match[0]) or [""])[-1]
    return int(digits) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else None
