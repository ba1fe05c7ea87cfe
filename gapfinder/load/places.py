"""Tells which device of which process ran each GPU operation, also where a few rows do not say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.errors import InputError
from gapfinder.tables import PROCESS_MASK
from gapfinder.units import format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gapfinder.load.btree import Integers

Place = tuple[int, int]
"""A process key and the number of a device as that process counts."""

Operations = dict[str, pd.DataFrame]
"""The frames KERNELS, COPIES and GRAPHS by their names."""

UNTOLD_PROCESS, UNTOLD_DEVICE = 0, -1
_LAST_DEVICE = (1 << 16) - 1
_AGAIN = "export the report again"


def find_places(operations: Iterable[pd.DataFrame]) -> list[Place]:
    """Return every (process, device) that has an operation, sorted; the devices are those that `place` lets through."""
    # A process key leaves its lower 24 bits free for the device.
    keys = [pd.unique(frame["process"].to_numpy() | (frame["device"].to_numpy() + 1)) for frame in operations]
    return sorted((key & PROCESS_MASK, (key & ~PROCESS_MASK) - 1) for key in np.unique(np.concatenate(keys)).tolist())


def place(operations: Operations, *, name: str) -> tuple[Operations, list[str]]:
    """Return the operations with the processes and devices that only some rows tell, and a note for each kind filled.

    Where no row tells, it stays unknown: the report then has one lane, or one for each process.

    Raises:
        InputError: a device has an impossible number, or a row could belong to several lanes.
    """
    for kind, frame in operations.items():
        _check_devices(frame["device"].to_numpy(), kind=kind, name=name)
    notes: list[str] = []
    told = {process for process, _ in find_places(operations.values())}
    if UNTOLD_PROCESS in told and len(told) > 1:
        told.remove(UNTOLD_PROCESS)
        rows = _rows(operations, "process", UNTOLD_PROCESS)
        if len(told) > 1:
            raise InputError(f"{name}: the process (globalPid) is missing in {rows}, and there are several; {_AGAIN}")
        operations = {kind: _with_process(frame, min(told)) for kind, frame in operations.items()}
        notes.append(f"the process (globalPid) is missing in {rows}: taken as the only one there is")
    only_devices = _only_devices(find_places(operations.values()))
    if only_devices:
        rows = _rows(operations, "device", UNTOLD_DEVICE)
        if None in only_devices.values():
            raise InputError(
                f"{name}: the device (deviceId) is missing in {rows}, and their process has several; {_AGAIN}"
            )
        operations = {kind: _with_devices(frame, only_devices) for kind, frame in operations.items()}
        notes.append(f"the device (deviceId) is missing in {rows}: taken as the only one of their process")
    return operations, notes


def _check_devices(devices: Integers, *, kind: str, name: str) -> None:
    if not len(devices):
        return
    for number in (int(devices.min()), int(devices.max())):
        if not UNTOLD_DEVICE <= number <= _LAST_DEVICE:
            raise InputError(
                f"{name}: one of its {kind} has the device number {number}, expected 0 to {_LAST_DEVICE}; {_AGAIN}"
            )


def _only_devices(places: Iterable[Place]) -> dict[int, int | None]:
    """Return the device of each process that tells it for some rows only; None where it has several."""
    devices: dict[int, set[int]] = {}
    for process, device in places:
        devices.setdefault(process, set()).add(device)
    partly = {process: there - {UNTOLD_DEVICE} for process, there in devices.items() if UNTOLD_DEVICE in there}
    return {process: min(told) if len(told) == 1 else None for process, told in partly.items() if told}


def _rows(operations: Operations, column: str, untold: int) -> str:
    counts = {kind: int((frame[column] == untold).sum()) for kind, frame in operations.items()}
    return " and ".join(f"{format_count(count, 'row')} of {kind}" for kind, count in counts.items() if count)


def _with_process(frame: pd.DataFrame, process: int) -> pd.DataFrame:
    processes = frame["process"].to_numpy()
    return frame.assign(process=np.where(processes == UNTOLD_PROCESS, process, processes))


def _with_devices(frame: pd.DataFrame, only_devices: Mapping[int, int | None]) -> pd.DataFrame:
    devices = frame["device"].to_numpy(copy=True)
    rows = np.flatnonzero(devices == UNTOLD_DEVICE)
    codes, processes = pd.factorize(frame["process"].to_numpy()[rows])
    told = [only_devices.get(process, UNTOLD_DEVICE) for process in processes.tolist()]
    devices[rows] = np.array(told, np.int64)[codes]
    return frame.assign(device=devices)
