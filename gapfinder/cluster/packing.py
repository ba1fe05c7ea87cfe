"""What is kept of a report as few bytes, to travel from the process that measured it to the one that joins."""

from __future__ import annotations

import io
import pickle
import zlib
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import DataclassInstance
    from numpy.typing import NDArray

    from gapfinder.analysis import MeasuredReport
    from gapfinder.analysis.intervals import Int64s

_LEVEL = 1  # of zlib; the highest one would save a tenth of the bytes and take five times as long
_FEWEST_ROWS = 16
_NARROW = (np.int8, np.int16, np.int32)


def pack(report: MeasuredReport) -> bytes:
    """Return the report as bytes."""
    stream = io.BytesIO()
    _Pickler(stream, protocol=pickle.HIGHEST_PROTOCOL).dump(report)
    return stream.getvalue()


def unpack(packed: bytes) -> MeasuredReport:
    """Return what was packed; only for bytes from a process that this one started or trusts."""
    report: MeasuredReport = pickle.loads(packed)  # noqa: S301 (never a file's or a stranger's bytes)
    return report


class _Pickler(pickle.Pickler):
    """Writes arrays narrow, and results of which there are many by their fields in order: dataclasses ask for names."""

    def reducer_override(self, obj: object) -> Any:  # noqa: ANN401 (what pickle takes)
        """Return how to make `obj` again."""
        if isinstance(obj, np.ndarray):
            return _reduced(obj)
        if isinstance(obj, _Columns):
            return _rows, (obj.kind, *obj.columns)
        if _has_slots(kind := type(obj)):
            return _rebuilt, (kind, *(_in_columns(slot.__get__(obj)) for slot in _slots(kind)))
        return NotImplemented


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """Many results of one kind, field by field: what is called once for each field, not for each result, is quick."""

    kind: type[DataclassInstance]
    columns: tuple[object, ...]


def _in_columns(value: object) -> object:
    """Return the columns of a tuple of results, those in their fields too; anything else as it is."""
    if type(value) is not tuple or len(value) < _FEWEST_ROWS:
        return value
    kind = type(value[0])
    if not _has_slots(kind) or set(map(type, value)) != {kind}:
        return value
    return _Columns(kind, tuple(_in_columns(tuple(map(slot.__get__, value))) for slot in _slots(kind)))


def _rows(kind: type[DataclassInstance], *columns: Sequence[object]) -> tuple[DataclassInstance, ...]:
    made = tuple(object.__new__(kind) for _ in columns[0])
    for slot, column in zip(_slots(kind), columns, strict=True):
        for _ in map(slot.__set__, made, column):
            pass
    return made


def _rebuilt(kind: type[DataclassInstance], *values: object) -> DataclassInstance:
    made = object.__new__(kind)
    for slot, value in zip(_slots(kind), values, strict=True):
        slot.__set__(made, value)
    return made


def _has_slots(kind: type) -> TypeGuard[type[DataclassInstance]]:
    """Say whether it is a dataclass whose instances have slots in place of a dictionary, and fields."""
    return is_dataclass(kind) and kind.__dictoffset__ == 0 and len(fields(kind)) > 0


@cache
def _slots(kind: type[DataclassInstance]) -> tuple[Any, ...]:
    """Return what gets and sets each field of a class with slots, though it be frozen."""
    return tuple(getattr(kind, field.name) for field in fields(kind))


def _reduced(array: NDArray[Any]) -> str | tuple[Any, ...]:
    """Return how to make an array again: times as the steps between them, two bytes in place of eight."""
    if array.dtype != np.int64 or array.ndim != 1 or not len(array):
        return array.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    steps = np.diff(array)
    narrow = np.dtype(next((kind for kind in _NARROW if _holds(kind, steps)), np.int64))
    return _unpacked, (int(array[0]), zlib.compress(steps.astype(narrow).tobytes(), _LEVEL), narrow.str)


def _holds(kind: type[np.signedinteger], steps: Int64s) -> bool:
    limits = np.iinfo(kind)
    return len(steps) == 0 or (limits.min <= steps.min() and steps.max() <= limits.max)


def _unpacked(first: int, steps: bytes, kind: str) -> Int64s:
    """Return the array of which these are the first value and the compressed steps from one to the next."""
    narrow = np.frombuffer(zlib.decompress(steps), np.dtype(kind))
    values = np.empty(len(narrow) + 1, np.int64)
    values[0] = first
    np.cumsum(narrow, dtype=np.int64, out=values[1:])
    values[1:] += first
    return values
