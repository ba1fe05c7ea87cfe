"""Which GPU a process used is told only where it is certain, and a report has not endless GPUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from databases import Gpu, Kernel, global_pid, nsys_database

from gapfinder.errors import InputError
from gapfinder.load import Limits, load_profile

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rank3.sqlite"


def test_p14_the_machines_own_gpu_number_tells_devices_apart(path: Path) -> None:
    kernels = [Kernel(start=0, end=1, pid=pid) for pid in (100, 101, 102)]
    gpus = [
        Gpu(pid=100, device=0, gpu=4, name="A"),
        Gpu(pid=101, device=0, gpu=5, name="B"),
        Gpu(pid=999, device=0, gpu=4, name="A"),
    ]
    devices = load_profile(nsys_database(path, kernels=kernels, gpus=gpus)).devices
    assert devices.to_numpy().tolist() == [[global_pid(100), 0, 4, "A"], [global_pid(101), 0, 5, "B"]]


def test_p15_without_gpu_tables_kernels_stay_and_devices_are_unknown(path: Path) -> None:
    profile = load_profile(nsys_database(path, kernels=[Kernel(start=0, end=1)]))
    assert len(profile.kernels) == 1
    assert len(profile.devices) == 0


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        ([(0, "A100", None), (1, "A100", None)], ["A100", "A100"]),
        ([(0, "A100", 1), (1, "V100", 0)], ["V100", "A100"]),
        ([(0, "A100", None), (1, "V100", None)], []),
    ],
    ids=["all alike", "CUDA numbers told", "uncertain"],
)
def test_p15_without_a_device_table_a_name_is_given_only_when_certain(
    path: Path, gpus: list[tuple[object, ...]], expected: list[str]
) -> None:
    kernels = [Kernel(start=0, end=1, device=device) for device in (0, 1)]
    tables = {"TARGET_INFO_GPU": (("id", "name TEXT", "cuDevice"), gpus)}
    devices = load_profile(nsys_database(path, kernels=kernels, tables=tables)).devices
    assert devices["gpu_name"].tolist() == expected
    assert set(devices["gpu"]) <= {-1}


def test_too_many_lanes_are_refused(path: Path) -> None:
    kernels = [Kernel(start=0, end=1, pid=100 + k % 3, device=k % 4) for k in range(24)]
    nsys_database(path, kernels=kernels)
    assert len(load_profile(path, limits=Limits(max_lanes=12)).kernels) == 24
    with pytest.raises(InputError, match=r"rank3.sqlite: has 12 \(process, device\) pairs"):
        load_profile(path, limits=Limits(max_lanes=11))


def test_p29_slices_of_one_gpu_are_not_taken_for_one_gpu(path: Path) -> None:
    """Two MIG slices share the parent's number, but not their uuid."""
    nsys_database(
        path,
        kernels=[Kernel(start=1, end=2, pid=100), Kernel(start=1, end=2, pid=101)],
        tables={
            "TARGET_INFO_GPU": (("id", "name TEXT"), [(0, "NVIDIA H100")]),
            "TARGET_INFO_CUDA_DEVICE": (
                ("gpuId", "cudaId", "pid", "uuid TEXT"), [(0, 0, 100, "MIG-a"), (0, 0, 101, "MIG-b")],
            ),
        },
    )  # fmt: skip
    assert load_profile(path).devices["gpu"].tolist() in ([], [-1, -1])
