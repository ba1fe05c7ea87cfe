"""The files of a prepared profile: their names, the columns of each, and how batches of them are written and read.

Every file but the two of JSON is a plain Arrow IPC file. A batch is what one lane, or one process, has in it.
"""

from __future__ import annotations

from contextlib import ExitStack
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gapfinder.errors import InputError
from gapfinder.explanations import Cause

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[Any]

ANALYSIS, MANIFEST = "analysis.json", "manifest.json"


class File(StrEnum):
    """The Arrow files; how their batches follow one another.

    operations: four for each lane, in order of Kind. busy: five, the last of any kind. holes, steps: one for each
    lane. ranges, calls, called: one for each process. names, collectives: one.
    """

    OPERATIONS = "operations"
    BUSY = "busy"
    HOLES = "holes"
    STEPS = "steps"
    RANGES = "ranges"
    CALLS = "calls"
    CALLED = "called"
    NAMES = "names"

    @property
    def file_name(self) -> str:
        """Name in the folder."""
        return f"{self}.arrow"


_TIMES = (("starts", pa.int64()), ("ends", pa.int64()))
_EVENTS = (*_TIMES, ("names", pa.int32()), ("threads", pa.int64()), ("depths", pa.int8()), ("kinds", pa.int8()))
_BUSY = (*_TIMES, ("before", pa.int64()))
_HOLE_PARTS = (("idle", pa.int64()), ("exposed", pa.int64()), ("copy_only", pa.int64()))
SCHEMAS = {
    file: pa.schema(list(columns))
    for file, columns in {
        File.OPERATIONS: (*_TIMES, ("names", pa.int32()), ("streams", pa.int32()), ("calls", pa.int32())),
        File.BUSY: _BUSY,
        File.HOLES: (*_TIMES, *_HOLE_PARTS, ("causes", pa.int8()), ("shares", pa.list_(pa.int64(), len(Cause)))),
        File.STEPS: (("numbers", pa.int64()), *_TIMES, ("names", pa.int32())),
        File.RANGES: _EVENTS,
        File.CALLS: _EVENTS,
        File.CALLED: _BUSY,
        File.NAMES: (("names", pa.large_string()),),
    }.items()
}


class ColumnWriter:
    """Writes the batches of all files as they come; closing it completes the files."""

    def __init__(self, folder: Path) -> None:
        self._files = ExitStack()
        self._writers = {
            file: self._files.enter_context(pa.ipc.new_file(str(folder / file.file_name), schema))
            for file, schema in SCHEMAS.items()
        }

    def write(self, file: File, *columns: Array | Sequence[str]) -> None:
        """Add a batch; columns come in the order of the schema, an array of two dimensions as a list per row."""
        schema = SCHEMAS[file]
        arrays = [_arrow(column, kind) for column, kind in zip(columns, schema.types, strict=True)]
        self._writers[file].write_batch(pa.record_batch(arrays, schema=schema))

    def close(self) -> None:
        """Complete the files."""
        self._files.close()


class ColumnReader:
    """One file, mapped into memory; its arrays are views of the file."""

    def __init__(self, folder: Path, file: File) -> None:
        self._name = file.file_name
        try:
            self._batches = pa.ipc.open_file(pa.memory_map(str(folder / self._name)))
        except (pa.ArrowException, OSError) as error:
            raise damaged(self._name) from error
        if not self._batches.schema.equals(SCHEMAS[file]):
            raise damaged(self._name)

    def batch(self, place: int) -> list[Array]:
        """Return the columns of one batch in order of the schema; those of whole numbers take no memory."""
        try:
            batch = self._batches.get_batch(place)
            batch.validate()
        except (pa.ArrowException, OSError, ValueError, IndexError) as error:
            raise damaged(self._name) from error
        return [_numpy(column) for column in batch.columns]

    def texts(self) -> pa.LargeStringArray:
        """Return the only column of the only batch, every text checked."""
        try:
            column = self._batches.get_batch(0).column(0)
            column.validate(full=True)
        except (pa.ArrowException, OSError, ValueError, IndexError) as error:
            raise damaged(self._name) from error
        return column


def damaged(name: str) -> InputError:
    """Return the error of a file that is not what was written."""
    return InputError(f"{name} of the prepared profile is damaged or of another program; prepare the profile again")


def _arrow(column: Array | Sequence[str], kind: pa.DataType) -> pa.Array:
    if isinstance(column, np.ndarray) and column.ndim > 1:
        return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(column).reshape(-1)), type=kind)
    narrow = column.astype(kind.to_pandas_dtype(), copy=False) if isinstance(column, np.ndarray) else column
    return pa.array(narrow, type=kind)


def _numpy(column: pa.Array) -> Array:
    if column.null_count:
        raise damaged("a column")
    if pa.types.is_fixed_size_list(column.type):
        width = column.type.list_size
        return np.asarray(column.flatten().to_numpy(zero_copy_only=True).reshape(-1, width))
    return np.asarray(column.to_numpy(zero_copy_only=True))
