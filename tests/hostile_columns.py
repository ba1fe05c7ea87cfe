"""Hostile values: in every column that is read, one after the other, and tables that are empty or not there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hostile_base import (
    KERNEL,
    LANE,
    MEASURED,
    MEMCPY,
    MEMSET,
    MS,
    NVTX,
    REFUSED,
    RUNTIME,
    STRINGS,
    Case,
    changed,
)

_OP = "start end deviceId contextId streamId correlationId globalPid"
_EVENT = "start end globalTid nameId"
CHECKED = {
    KERNEL: f"{_OP} demangledName",
    MEMCPY: f"{_OP} bytes copyKind srcKind dstKind srcDeviceId dstDeviceId",
    MEMSET: f"{_OP} bytes memKind",
    RUNTIME: "start end globalTid correlationId nameId",
    NVTX: "start end eventType globalTid textId domainId",
    "OSRT_API": _EVENT,
    "PROFILER_OVERHEAD": _EVENT,
    "CUPTI_ACTIVITY_KIND_OVERHEAD": _EVENT,
}
"""Columns of events: what is no integer is refused by its name."""

DESCRIBING = {
    "ANALYSIS_DETAILS": "duration",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs",
    "META_DATA_EXPORT": "name value",
    "TARGET_INFO_GPU": "id name",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId pid",
    "DIAGNOSTIC_EVENT": "severity text",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": "domainId schemaId idx flags type name offset",
    "GPU_METRICS": "timestamp typeId metricId value",
    "TARGET_INFO_GPU_METRICS": "typeId metricId metricName",
}
"""Columns that describe the capture: what cannot be used of them is not known, and no number of a lane changes."""

_TIMES = ("start", "end")
_ROW = {NVTX: 2}
"""The row that is changed, where the first one declares a domain and is no range."""

_WRONG = {"text": "'x\x1b[31m'", "blob": "x'00ff'", "real": "1.5"}
_NUMBERS = {"largest": 2**63 - 1, "smallest": -(2**63), "minus 1": -1}

# Of the sound lane, what is left where [10, 13) of the compute, the copy [8, 9), or the memset [11, 12) is not usable.
WITHOUT_A_KERNEL = LANE | {
    "kernels": 3,
    "ops": 5,
    "dropped_ops": 1,
    "busy_ns": 11 * MS,
    "idle_ns": 5 * MS,
    "compute_ns": 7 * MS,
    "compute_only_ns": 6 * MS,
    "copy_only_ns": 2 * MS,
}
WITHOUT_THE_COPY = LANE | {
    "ops": 5,
    "dropped_ops": 1,
    "busy_ns": 12 * MS,
    "idle_ns": 4 * MS,
    "copy_only_ns": 0,
}
WITHOUT_THE_MEMSET = LANE | {"ops": 5, "dropped_ops": 1}
_NOT_USABLE = {KERNEL: WITHOUT_A_KERNEL, MEMCPY: WITHOUT_THE_COPY, MEMSET: WITHOUT_THE_MEMSET}

_ONLY_COPIES = {
    "kernels": 0,
    "ops": 2,
    "busy_ns": 2 * MS,
    "idle_ns": None,  # without kernels it is not known when the GPU had none
    "compute_ns": 0,
    "communication_ns": 0,
    "copy_only_ns": 2 * MS,
    "overlap_ratio": None,
}
_NO_NAMES = LANE | {
    "compute_ns": 12 * MS,
    "compute_only_ns": 12 * MS,
    "communication_ns": 0,
    "hidden_ns": 0,
    "exposed_ns": 0,
    "overlap_ratio": None,
}
_LEFT = {
    KERNEL: _ONLY_COPIES,
    MEMCPY: WITHOUT_THE_COPY | {"dropped_ops": 0},
    MEMSET: WITHOUT_THE_MEMSET | {"dropped_ops": 0},
    STRINGS: _NO_NAMES,
}


_EVERY = 13
"""Of so many files one is not rest; it is no divisor of what a column has, so that every column and value has its turn."""


def cases() -> Iterator[Case]:
    """Yield a file for every column and every hostile value, and those without tables and strings."""
    for number, case in enumerate(_valued()):
        yield replace(case, is_rest=number % _EVERY != 0)
    for table in (*CHECKED, *DESCRIBING, STRINGS):
        lane = _LEFT.get(table, LANE)
        yield Case(name=f"no table {table}", make=changed(f"DROP TABLE {table}"), codes=MEASURED, lane=lane, lanes=1)
        empty = changed(f"DELETE FROM {table}")
        yield Case(name=f"no row in {table}", make=empty, codes=MEASURED, lane=lane, lanes=1, is_rest=True)
    yield from _strings()


def _valued() -> Iterator[Case]:
    for table, columns in CHECKED.items():
        for column in columns.split():
            yield from _of_events(table, column)
    for table, columns in DESCRIBING.items():
        for column in columns.split():
            yield from _describing(table, column)


def _of_events(table: str, column: str) -> Iterator[Case]:
    where = f"{table}.{column}"
    for kind, value in _WRONG.items():
        yield Case(
            name=f"{kind} in {where}",
            make=changed(f"UPDATE {table} SET {column} = {value} WHERE rowid = {_ROW.get(table, 1)}"),
            words=f"row {_ROW.get(table, 1)}: {column} is {kind}, expected an integer",
        )
    # The second kernel is [10, 13); of the other tables one row is enough.
    row = f"rowid = (SELECT min(2, max(rowid)) FROM {table})"
    lane = _NOT_USABLE.get(table, LANE) if column in _TIMES else LANE
    yield Case(
        name=f"NULL in a row of {where}",
        make=changed(f"UPDATE {table} SET {column} = NULL WHERE {row}"),
        codes=MEASURED,
        lane=lane,
        lanes=1,
    )
    yield _everywhere(f"NULL in {where}", table, column, changed(f"UPDATE {table} SET {column} = NULL"))
    missing = _everywhere(f"no column {where}", table, column, changed(f"ALTER TABLE {table} DROP COLUMN {column}"))
    if column in (*_TIMES, "eventType"):
        missing = Case(name=missing.name, make=missing.make, words=f"{table} has no column {column}")
    yield missing
    for kind, number in _NUMBERS.items():
        yield _number(table, column, kind, number)


def _everywhere(name: str, table: str, column: str, make) -> Case:
    """Nothing of a column is told: times make rows unusable, and the others say the rest."""
    lane: dict[str, object] = dict(LANE)
    if column in _TIMES and table == KERNEL:
        lane = _ONLY_COPIES | {"dropped_ops": 4}
    elif column in _TIMES and table in _NOT_USABLE:
        lane = dict(_NOT_USABLE[table])
    return Case(name=name, make=make, codes=MEASURED, lane=lane, lanes=1)


def _number(table: str, column: str, kind: str, number: int) -> Case:
    name = f"{kind} number in {table}.{column}"
    make = changed(f"UPDATE {table} SET {column} = {number} WHERE rowid = {_ROW.get(table, 1)}")
    if column in _TIMES and kind == "largest":
        return Case(name=name, make=make, words=f"{table} has a time of {number:,} ns")
    if column == "deviceId" and kind != "minus 1":
        return Case(name=name, make=make, words=f"device number {number}")
    if column in _TIMES or column == "globalPid":
        # an event that ends before it starts, or one without times, or of another process
        return Case(name=name, make=make, codes=MEASURED)
    return Case(name=name, make=make, codes=MEASURED, lane=LANE, lanes=1)


def _describing(table: str, column: str) -> Iterator[Case]:
    values = {"NULL": "NULL", **_WRONG, **{kind: str(number) for kind, number in _NUMBERS.items()}}
    for kind, value in values.items():
        yield Case(
            name=f"{kind} in {table}.{column}",
            make=changed(f"UPDATE {table} SET {column} = {value}"),
            codes=MEASURED,
            lane=LANE,
            lanes=1,
        )
    yield Case(
        name=f"no column {table}.{column}",
        make=changed(f"ALTER TABLE {table} RENAME COLUMN {column} TO other"),
        codes=MEASURED,
        lane=LANE,
        lanes=1,
    )


def _strings() -> Iterator[Case]:
    plain = f"CREATE TABLE plain (id, value); INSERT INTO plain SELECT * FROM {STRINGS}; DROP TABLE {STRINGS}"
    plain = (*plain.split("; "), f"ALTER TABLE plain RENAME TO {STRINGS}")
    for column, expected in (("id", "an integer"), ("value", "text")):
        for kind, value in {**_WRONG, "null": "NULL", "integer": "7"}.items():
            is_fine = kind in (("integer",) if column == "id" else ("text", "blob"))
            yield Case(
                name=f"{kind} in {STRINGS}.{column}",
                make=changed(*plain, f"UPDATE {STRINGS} SET {column} = {value} WHERE rowid = 1"),
                codes=MEASURED if is_fine else REFUSED,
                words="" if is_fine else f"{STRINGS} row 1: {column} is {kind}, expected {expected}",
            )
        yield Case(
            name=f"no column {STRINGS}.{column}",
            make=changed(*plain, f"ALTER TABLE {STRINGS} RENAME COLUMN {column} TO other"),
            words=f"{STRINGS} has no column {column}",
        )
    yield Case(
        name="the same string twice under one number",
        make=changed(*plain, f"INSERT INTO {STRINGS} SELECT * FROM {STRINGS}"),
        codes=MEASURED,
        lane=LANE,
        lanes=1,
    )
    for column in ("text", "binaryData"):
        yield Case(
            name=f"no column {NVTX}.{column}",
            make=changed(f"ALTER TABLE {NVTX} DROP COLUMN {column}"),
            codes=MEASURED,
            lane=LANE,
            lanes=1,
        )
        for kind, value in {**_WRONG, "integer": "7"}.items():
            # a column declared as TEXT makes a text of every number
            yield Case(
                name=f"{kind} in {NVTX}.{column}",
                make=changed(f"UPDATE {NVTX} SET {column} = {value} WHERE rowid = 2"),
                codes=MEASURED,
                lane=LANE,
            )
