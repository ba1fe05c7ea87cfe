"""Finds out which GPU each process used, where the report tells for certain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pandas as pd

from gapfinder.load.schema import CUDA_DEVICE, GPU, OLD_GPU
from gapfinder.tables import DEVICES, PROCESS_MASK, process_id

if TYPE_CHECKING:
    from gapfinder.load.database import Database

Lane = tuple[int, int]
"""A process key and the device number that the process uses."""

_UNKNOWN = -1
_DEVICE_BITS = ~PROCESS_MASK
_MACHINE_SHIFT = 48

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value", bound=Hashable)


def find_lanes(operations: Iterable[pd.DataFrame]) -> list[Lane]:
    """Return every (process, device) that has an operation, sorted.

    A process key leaves its lower 24 bits free for the device number; a number that does not fit is cut to them.
    """
    keys = [
        pd.unique(frame["process"].to_numpy() | (frame["device"].to_numpy() & _DEVICE_BITS)) for frame in operations
    ]
    return sorted((key & PROCESS_MASK, key & _DEVICE_BITS) for key in np.unique(np.concatenate(keys)).tolist())


def read_devices(database: Database, lanes: Sequence[Lane]) -> pd.DataFrame:
    """Return the frame DEVICES for the processes that own these lanes."""
    gpus = database.small_table(GPU, ("id", "name", "cuDevice"))
    name_of_gpu = _certain((number, _text(name)) for number, name, _ in gpus)
    found = {lane: (gpu, name_of_gpu.get(gpu, "")) for lane, gpu in _gpu_of_lane(database, lanes).items()}

    old_gpus = database.small_table(OLD_GPU, ("pid", "deviceId", "name"))
    name_of_old = _certain(((pid, device), _text(name)) for pid, device, name in old_gpus)
    name_of_cuda = _certain((device, _text(name)) for _, name, device in gpus if device is not None)
    names = {_text(name) for _, name, _ in gpus} | {_text(name) for *_, name in old_gpus}
    only_name = names.pop() if len(names) == 1 else ""
    has_one_process = len({process for process, _ in lanes}) == 1
    for process, device in lanes:
        gpu, name = found.get((process, device), (_UNKNOWN, ""))
        name = name or only_name or name_of_old.get((process_id(process), device), "")
        if not name and has_one_process:
            name = name_of_cuda.get(device, "")
        if name:
            found[process, device] = gpu, name
    in_order = sorted(found)
    return DEVICES.frame(
        {
            "process": [process for process, _ in in_order],
            "device": [device for _, device in in_order],
            "gpu": [found[lane][0] for lane in in_order],
            "gpu_name": [found[lane][1] for lane in in_order],
        }
    )


def _gpu_of_lane(database: Database, lanes: Sequence[Lane]) -> dict[Lane, int]:
    """Return the machine's number of each device that a process may use; unknown where it is not unique."""
    told = database.small_table(CUDA_DEVICE, ("pid", "cudaId", "gpuId", "uuid"))
    rows = [
        (pid, device, gpu, uuid)
        for pid, device, gpu, uuid in told
        if isinstance(pid, int) and isinstance(device, int) and isinstance(gpu, int)
    ]
    processes = {process for process, _ in lanes}
    is_one_machine = len({process >> _MACHINE_SHIFT for process in processes}) == 1
    # Instances of one partitioned GPU (MIG) have its number and a uuid each: they share less than the number suggests.
    uuids = Counter(gpu for gpu, _ in {(gpu, uuid) for *_, gpu, uuid in rows if uuid})
    by_pid = _certain((process_id(process), process) for process in processes)
    return {
        (by_pid[pid], device): gpu if is_one_machine and uuids[gpu] <= 1 else _UNKNOWN
        for (pid, device), gpu in _certain(((pid, device), gpu) for pid, device, gpu, _ in rows).items()
        if pid in by_pid
    }


def _certain(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, _Value]:
    """Return the keys that have one value only."""
    distinct = set(pairs)
    count = Counter(key for key, _ in distinct)
    return {key: value for key, value in distinct if count[key] == 1}


def _text(value: object) -> str:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else ""
