"""Finds out which GPU each process used, where the report tells for certain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from gapfinder.load.schema import CUDA_DEVICE, GPU, OLD_GPU
from gapfinder.load.texts import decode
from gapfinder.tables import DEVICES, machine_of, process_id

if TYPE_CHECKING:
    import pandas as pd

    from gapfinder.load.database import Database
    from gapfinder.load.places import Place

_UNKNOWN = -1

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value", bound=Hashable)


def read_devices(database: Database, places: Sequence[Place]) -> pd.DataFrame:
    """Return the frame DEVICES for the processes that these places are of."""
    gpus = database.small_table(GPU, ("id", "name", "cuDevice"))
    name_of_gpu = _certain((number, decode(name)) for number, name, _ in gpus)
    found = {place: (gpu, name_of_gpu.get(gpu, "")) for place, gpu in _gpu_of_place(database, places).items()}

    old_gpus = database.small_table(OLD_GPU, ("pid", "deviceId", "name"))
    name_of_old = _certain(((pid, device), decode(name)) for pid, device, name in old_gpus)
    name_of_cuda = _certain((device, decode(name)) for _, name, device in gpus if device is not None)
    names = {decode(name) for _, name, _ in gpus} | {decode(name) for *_, name in old_gpus}
    only_name = names.pop() if len(names) == 1 else ""
    has_one_process = len({process for process, _ in places}) == 1
    for process, device in places:
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
            "gpu": [found[place][0] for place in in_order],
            "gpu_name": [found[place][1] for place in in_order],
        }
    )


def _gpu_of_place(database: Database, places: Sequence[Place]) -> dict[Place, int]:
    """Return the machine's number of each device that a process may use; unknown where it is not unique."""
    told = database.small_table(CUDA_DEVICE, ("pid", "cudaId", "gpuId", "uuid"))
    rows = [
        (pid, device, gpu, uuid)
        for pid, device, gpu, uuid in told
        if isinstance(pid, int) and isinstance(device, int) and isinstance(gpu, int)
    ]
    processes = {process for process, _ in places}
    is_one_machine = len({machine_of(process) for process in processes}) == 1
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
