"""Every schema that nsys wrote from 2020 to 2026: the columns of its tables are facts, taken from real exports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from databases import global_pid, global_tid, write_database

from gapfinder.load import load_profile

if TYPE_CHECKING:
    from pathlib import Path

PLACE = "deviceId contextId {green}streamId correlationId globalPid"
KERNEL = (
    "start end "
    + PLACE
    + " demangledName shortName {mangled}launchType cacheConfig registersPerThread gridX gridY gridZ "
    "blockX blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId "
    "sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig{kernel_tail}"
)
MEMCPY = (
    "start end " + PLACE + " bytes copyKind deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId "
    "dstContextId migrationCause graphNodeId{copy_tail}"
)
MEMSET = "start end " + PLACE + " value bytes graphNodeId memKind"
RUNTIME = "start end eventClass globalTid correlationId nameId returnValue callchainId"
GRAPH_TRACE = "start end " + PLACE + " graphId graphExecId"
NVTX = (
    "start end eventType rangeId category color text globalTid endGlobalTid textId domainId uint64Value int64Value "
    "doubleValue uint32Value int32Value floatValue jsonTextId jsonText{nvtx_tail}"
)
CLUSTERS = (
    " qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone graphId clusterX clusterY clusterZ clusterSchedulingPolicy "
    "maxPotentialClusterSize maxActiveClusters"
)
TEXT = {"text", "jsonText", "binaryData", "name"}


@dataclass(frozen=True, kw_only=True)
class Version:
    """What differs between the versions."""

    schema: str | None
    metadata: str | None
    mangled: str = "mangledName "
    green: str = "greenContextId "
    kernel_tail: str = ""
    copy_tail: str = " virtualAddress"
    nvtx_tail: str = " binaryData"
    devices: str = ""
    has_graphs: bool = False


OLD = Version(schema="3.0.0", metadata="EXPORT_META_DATA", green="", nvtx_tail="")
MODERN = Version(schema="3.16.1", metadata="META_DATA_EXPORT", has_graphs=True)
COUNTED = " virtualAddress copyCount"
MAPPED = "gpuId cudaId pid"
VERSIONS = {
    "2021.2": Version(schema=None, metadata=None, mangled="", green="", copy_tail="", nvtx_tail=""),
    "2022.1.3": Version(schema="2.9.1", metadata="EXPORT_META_DATA", green="", nvtx_tail="", kernel_tail=" kernel_name long_kernel_name"),
    "2022.4.2": OLD,
    "2023.1.2": Version(schema="3.1.2", metadata="META_DATA_EXPORT", green="", nvtx_tail=""),
    "2023.4.4": Version(schema="3.7.2", metadata="META_DATA_EXPORT", nvtx_tail=""),
    "2024.6.2": MODERN,
    "2025.1.1": Version(schema="3.17.1", metadata="META_DATA_EXPORT", devices=MAPPED),
    "2025.1.3": Version(schema="3.17.2", metadata="META_DATA_EXPORT", devices=MAPPED, copy_tail=COUNTED),
    "2025.5.2": Version(schema="3.24.0", metadata="META_DATA_EXPORT", devices=MAPPED, copy_tail=COUNTED, kernel_tail=CLUSTERS, has_graphs=True),
    "2026.1.1": Version(schema="3.24.14", metadata="META_DATA_EXPORT", devices=MAPPED + " uuid numMultiprocessors", copy_tail=COUNTED, kernel_tail=CLUSTERS + " sharedMemoryRequestedPercentage"),
    "2026.3.1": Version(schema="3.27.0", metadata="META_DATA_EXPORT", devices=MAPPED + " uuid numMultiprocessors", copy_tail=COUNTED, kernel_tail=CLUSTERS + " sharedMemoryRequestedPercentage tensorSizeMinusOneElements"),
}  # fmt: skip

PROCESS = global_pid(70)
VALUES = {
    "start": 5, "end": 9, "deviceId": 3, "contextId": 2, "streamId": 21, "correlationId": 44, "globalPid": PROCESS,
    "demangledName": 1, "shortName": 2, "mangledName": 2, "bytes": 512, "copyKind": 1, "srcKind": 1, "dstKind": 3, "memKind": 3,
    "globalTid": global_tid(70, 71), "nameId": 3, "eventType": 59, "text": "step", "graphId": 6, "gpuId": 4, "cudaId": 3, "pid": 70,
}  # fmt: skip


def table(columns: str, version: Version) -> tuple[list[str], list[tuple[object, ...]]]:
    names = columns.format(**version.__dict__).split()
    return [f"{name} TEXT" if name in TEXT else name for name in names], [tuple(VALUES.get(name) for name in names)]


@pytest.mark.parametrize("nsys", VERSIONS)
def test_every_version_gives_the_same_frames(tmp_path: Path, nsys: str) -> None:
    version = VERSIONS[nsys]
    tables = {
        "CUPTI_ACTIVITY_KIND_KERNEL": table(KERNEL, version),
        "CUPTI_ACTIVITY_KIND_MEMCPY": table(MEMCPY, version),
        "CUPTI_ACTIVITY_KIND_MEMSET": table(MEMSET, version),
        "CUPTI_ACTIVITY_KIND_RUNTIME": table(RUNTIME, version),
        "NVTX_EVENTS": table(NVTX, version),
        "StringIds": (
            ("id INTEGER NOT NULL PRIMARY KEY", "value TEXT"),
            [(1, "gemm<float>"), (2, "gemm"), (3, "cudaLaunchKernel")],
        ),
        "TARGET_INFO_GPU": (("id", "name TEXT"), [(4, "H100"), (5, "T4")] if version.devices else [(4, "H100")]),
    }
    if version.has_graphs:
        tables["CUPTI_ACTIVITY_KIND_GRAPH_TRACE"] = table(GRAPH_TRACE, version)
    if version.devices:
        tables["TARGET_INFO_CUDA_DEVICE"] = table(version.devices, version)
    if version.metadata:
        rows = [("EXPORT_PRODUCT_VERSION", nsys), ("EXPORT_SCHEMA_VERSION", version.schema)]
        tables[version.metadata] = (("name TEXT", "value TEXT"), rows)
    profile = load_profile(write_database(tmp_path / "x.sqlite", tables))

    place = [5, 9, PROCESS, 3, 2, 21, 44]
    assert profile.kernels.to_numpy().tolist() == [[*place, "gemm<float>"]]
    assert profile.copies.to_numpy().tolist() == [[*place, 1, 512, -1, -1, 1, 3], [*place, -1, 512, -1, 3, -1, 3]]
    assert profile.graphs.to_numpy().tolist() == ([[*place, 6]] if version.has_graphs else [])
    assert profile.ranges.to_numpy().tolist() == [[5, 9, False, False, global_tid(70, 71), "", "step"]]
    assert profile.read_calls().to_numpy().tolist() == [[5, 9, global_tid(70, 71), 44, "cudaLaunchKernel"]]
    assert profile.devices.to_numpy().tolist() == [[PROCESS, 3, 4 if version.devices else -1, "H100"]]
    assert profile.nsys_version == (nsys if version.metadata else None)
    assert profile.export_schema_version == version.schema
    assert profile.notes == ()
