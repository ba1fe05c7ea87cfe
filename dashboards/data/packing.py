"""The answer about a window as JSON has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Dtype = Literal["f8", "i4", "u1"]


class Packed(msgspec.Struct, frozen=True):
    """Numbers: base64 of their little-endian bytes."""

    dtype: Dtype
    data: bytes  # which msgspec writes as base64


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of one lane, as shares or as marks."""

    row: str
    mode: Literal["share", "marks"]
    share: Packed | None = None
    starts: Packed | None = None
    ends: Packed | None = None
    names: Packed | None = None
    depths: Packed | None = None
    ids: Packed | None = None
    streams: Packed | None = None


class Holes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The holes of one lane."""

    starts: Packed
    ends: Packed
    causes: Packed
    ids: Packed
    shown: int
    of: int
    lost: Packed | None = None
    longest: Packed | None = None


class Lane(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One lane; no holes where they were not asked for."""

    lane: int
    rows: list[Row]
    holes: Holes | None = None


class Counted(msgspec.Struct, frozen=True):
    """How many of how many."""

    shown: int
    of: int


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one window."""

    start: int
    end: int
    columns: int
    lanes: list[Lane]
    names: dict[int, str]
    marks: Counted


def packed(numbers: NDArray[Any], dtype: Dtype) -> Packed:
    """Return numbers, which fit the dtype, as JSON has them."""
    return Packed(dtype, np.asarray(numbers, f"<{dtype}").tobytes())
