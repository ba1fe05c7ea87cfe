"""Draws interval sets as text, one character per nanosecond, so that a test shows its case and its answer."""

from __future__ import annotations

import numpy as np

from gapfinder.analysis.intervals import Intervals


def spans(picture: str) -> tuple[np.ndarray, np.ndarray]:
    """Read rows such as "  ===  ==" (several rows: overlapping intervals) into starts and ends."""
    found = []
    for row in picture.split("\n"):
        edges = np.flatnonzero(np.diff(np.array([False, *(character == "=" for character in row), False])))
        found += zip(edges[::2], edges[1::2], strict=True)
    return np.array([s for s, _ in found], np.int64), np.array([e for _, e in found], np.int64)


def drawn(one: Intervals, *, width: int) -> str:
    """Draw a set as one row of `width` characters."""
    row = [" "] * width
    for start, end in zip(one.starts, one.ends, strict=True):
        row[start:end] = "=" * (end - start)
    return "".join(row)
