"""The tables of an nsys export: the layout of schema 3.24.0, which nsys 2025.5.2 writes."""

# ruff: noqa: S608 (table names are the constants of this module)

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection

SCHEMA_VERSION = "3.24.0"
PRODUCT_VERSION = "2025.5.2.266"

_OP = "start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid"
_CALL = "start! end! eventClass! globalTid"

# Column names, types and NOT NULL as real exports declare them. `!` is NOT NULL, `*` the primary key,
# `:T` TEXT and `:R` REAL; everything else is INTEGER.
_COLUMNS = {
    "StringIds": "id!* value!:T",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime:T localTime:T",
    "ANALYSIS_DETAILS": "globalVid! duration! startTime! stopTime!",
    "PROFILER_OVERHEAD": "start! end! globalTid nameId! overheadType!",
    "CUPTI_ACTIVITY_KIND_RUNTIME": f"{_CALL} correlationId nameId! returnValue! callchainId",
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        f"{_OP} bytes! copyKind! deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId "
        "migrationCause graphNodeId virtualAddress copyCount"
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_OP} value! bytes! graphNodeId memKind",
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        f"{_OP} demangledName! shortName! mangledName launchType cacheConfig registersPerThread! gridX! gridY! gridZ! "
        "blockX! blockY! blockZ! staticSharedMemory! dynamicSharedMemory! localMemoryPerThread! localMemoryTotal! "
        "gridId! sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone qmdPreexitDone "
        "qmdLastCtaDone graphId clusterX clusterY clusterZ clusterSchedulingPolicy maxPotentialClusterSize "
        "maxActiveClusters"
    ),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_OP} deprecatedSyncType syncType! eventId! eventSyncId",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": f"{_OP} graphId! graphExecId!",
    "NVTX_EVENTS": (
        "start! end eventType! rangeId category color text:T globalTid endGlobalTid textId domainId uint64Value "
        "int64Value doubleValue:R uint32Value int32Value floatValue:R jsonTextId jsonText:T binaryData:T"
    ),
    "OSRT_API": f"{_CALL} nameId! returnValue! nestingLevel callchainId! argumentsId",
    "PROCESSES": "globalPid pid name:T",
    "ThreadNames": "nameId! priority globalTid",
    "TARGET_INFO_GPU": (
        "vmId! id! name:T busLocation:T isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount pwGpuId "
        "uuid:T luid chipName:T cuDevice ctxswDevPath:T ctrlDevPath:T revision nodeMask constantMemory maxIPC "
        "maxRegistersPerBlock maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm maxRegistersPerSm threadsPerWarp "
        "asyncEngines maxWarpsPerSm maxBlocksPerSm maxThreadsPerBlock maxBlockDimX maxBlockDimY maxBlockDimZ "
        "maxGridDimX maxGridDimY maxGridDimZ computeMajor computeMinor smMajor smMinor"
    ),
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId! pid!",
    "TARGET_INFO_CUDA_CONTEXT_INFO": (
        "nullStreamId! hwId! vmId! processId! deviceId! contextId! parentContextId isGreenContext"
    ),
    "TARGET_INFO_CUDA_STREAM": "streamId! hwId! vmId! processId! contextId! priority! flag!",
    "META_DATA_EXPORT": "name!:T value:T",
    "NVTX_PAYLOAD_SCHEMAS": "domainId! schemaId! name:T type flags numEntries payloadSize alignTo",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": (
        "domainId! schemaId! idx! flags type name:T description:T arrayOrUnionDetail offset"
    ),
}

# Prefix of the symbol names, then (id, symbol, label). Only enumerations that the tables above refer to.
_ENUMERATIONS = {
    "ENUM_NSYS_EVENT_TYPE": (
        "",
        (
            (33, "NvtxCategory", "NvtxCategory"),
            (34, "NvtxMark", "NvtxMark"),
            (59, "NvtxPushPopRange", "NvtxPushPopRange"),
            (60, "NvtxStartEndRange", "NvtxStartEndRange"),
            (75, "NvtxDomainCreate", "NvtxDomainCreate"),
        ),
    ),
    "ENUM_NSYS_EVENT_CLASS": (
        "TRACE_PROCESS_EVENT_",
        ((0, "CUDA_RUNTIME", "CUDA runtime"), (1, "CUDA_DRIVER", "CUDA driver"), (27, "OS_RUNTIME", "OSRT runtime")),
    ),
    "ENUM_CUDA_MEMCPY_OPER": (
        "CUDA_MEMCPY_KIND_",
        (
            (0, "UNKNOWN", "Unknown"),
            (1, "HTOD", "Host-to-Device"),
            (2, "DTOH", "Device-to-Host"),
            (8, "DTOD", "Device-to-Device"),
            (10, "PTOP", "Peer-to-Peer"),
        ),
    ),
    "ENUM_CUDA_MEM_KIND": (
        "CUDA_MEMOPR_MEMORY_KIND_",
        ((0, "PAGEABLE", "Pageable"), (1, "PINNED", "Pinned"), (2, "DEVICE", "Device")),
    ),
    "ENUM_CUDA_KERNEL_LAUNCH_TYPE": (
        "CUDA_KERNEL_LAUNCH_TYPE_",
        ((0, "UNKNOWN", "Unknown"), (1, "REGULAR", "Regular")),
    ),
    "ENUM_CUPTI_STREAM_TYPE": (
        "CUPTI_ACTIVITY_STREAM_CREATE_FLAG_",
        (
            (1, "DEFAULT", "Default stream"),
            (2, "NON_BLOCKING", "Non-blocking stream"),
            (3, "NULL", "Null stream"),
        ),
    ),
    "ENUM_CUPTI_SYNC_TYPE": (
        "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_",
        (
            (2, "STREAM_WAIT_EVENT", "Stream wait sync"),
            (3, "STREAM_SYNCHRONIZE", "Stream sync"),
            (4, "CONTEXT_SYNCHRONIZE", "Context sync"),
        ),
    ),
    "ENUM_CUPTI_OVERHEAD_TYPE": (
        "OVERHEAD_",
        (
            (3, "CUPTI_BUFFER_FLUSH", "Buffer flush (Profiler)"),
            (7, "LAZY_FUNCTION_LOADING", "Lazy function loading (CUDA)"),
        ),
    ),
}

_TYPES = {"": "INTEGER", "T": "TEXT", "R": "REAL"}


def _column(spec: str) -> str:
    name, _, kind = spec.partition(":")
    bare = name.rstrip("!*")
    suffix = (" NOT NULL" if "!" in name else "") + (" PRIMARY KEY" if "*" in name else "")
    return f'"{bare}" {_TYPES[kind]}{suffix}'


def columns(table: str) -> tuple[str, ...]:
    """Return the column names of `table` in declared order."""
    return tuple(spec.partition(":")[0].rstrip("!*") for spec in _COLUMNS[table].split())


def create_tables(connection: sqlite3.Connection, *, only: Collection[str]) -> None:
    """Create the tables named in `only`, as a lazy export does for what it has, and the enumerations."""
    for table, specs in _COLUMNS.items():
        if table in only:
            connection.execute(f"CREATE TABLE {table} ({', '.join(_column(spec) for spec in specs.split())})")
    for table, (prefix, rows) in _ENUMERATIONS.items():
        connection.execute(f"CREATE TABLE {table} (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT)")
        connection.executemany(
            f"INSERT INTO {table} VALUES (?, ?, ?)",
            [(number, prefix + symbol, label) for number, symbol, label in rows],
        )
