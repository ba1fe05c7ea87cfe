"""What of an export is kept: tables and columns by name, and what may be in each column. All else is left out.

Column names are those of the exports of nsys 2020 to 2026.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from gapfinder.load import schema


class Content(Enum):
    """What a column holds, which decides what becomes of it.

    NUMBER, REAL: copied. STRING: the number of a string, which is copied with its text. TEXT: copied without what
    reveals. WARNING: copied where it reveals nothing, else replaced whole. UUID: numbered. PAYLOAD: only NCCL's fields.
    FIELD: copied where it is the name of one of those fields.
    """

    NUMBER = auto()
    STRING = auto()
    REAL = auto()
    TEXT = auto()
    WARNING = auto()
    UUID = auto()
    PAYLOAD = auto()
    FIELD = auto()

    @property
    def column_type(self) -> type[int | float | str | bytes]:
        """What the column of the copy is declared to hold."""
        others: dict[Content, type[float | bytes]] = {Content.REAL: float, Content.PAYLOAD: bytes}
        return int if self in (Content.NUMBER, Content.STRING) else others.get(self, str)


class Timing(Enum):
    """When a row was, which decides whether it is in a window.

    ALWAYS: at no time. WORK: from start to end, on the GPU. HOST: from start to end, on the host. POINT: at a time of
    the host. EVENT: NVTX, where a row may be a range, a mark or a declaration. UNTOLD: some time that the row may not
    tell; such rows are in no window.
    """

    ALWAYS = auto()
    WORK = auto()
    HOST = auto()
    POINT = auto()
    EVENT = auto()
    UNTOLD = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """The columns that are kept of a table, by name; those an export lacks are left out."""

    timing: Timing = Timing.ALWAYS
    columns: dict[str, Content] = field(default_factory=dict)


def _numbers(names: str) -> dict[str, Content]:
    return dict.fromkeys(names.split(), Content.NUMBER)


def _strings(names: str) -> dict[str, Content]:
    return dict.fromkeys(names.split(), Content.STRING)


_SPAN = _numbers("start end")
_PLACE = _numbers("deviceId contextId greenContextId streamId correlationId globalPid graphNodeId graphId")
_HOST = _numbers("globalTid eventClass correlationId returnValue callchainId")
_STREAM = _numbers("streamId hwId vmId processId deviceId contextId")
_LIMITS = _numbers(
    "l2CacheSize constantMemory maxIPC maxRegistersPerBlock maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm "
    "maxRegistersPerSm threadsPerWarp asyncEngines maxWarpsPerSm maxBlocksPerSm maxThreadsPerBlock maxBlockDimX "
    "maxBlockDimY maxBlockDimZ maxGridDimX maxGridDimY maxGridDimZ computeMajor computeMinor smMajor smMinor"
)
_OLD_LIMITS = _numbers(
    "globalMemoryBandwidth globalMemorySize constantMemorySize l2CacheSize numThreadsPerWarp coreClockRate "
    "numMemcpyEngines numMultiprocessors maxIPC maxWarpsPerMultiprocessor maxBlocksPerMultiprocessor "
    "maxRegistersPerBlock maxSharedMemoryPerBlock maxThreadsPerBlock maxBlockDimX maxBlockDimY maxBlockDimZ "
    "maxGridDimX maxGridDimY maxGridDimZ computeCapabilityMajor computeCapabilityMinor "
    "maxSharedMemoryPerMultiprocessor maxRegistersPerMultiprocessor"
)
_KERNEL = _numbers(
    "launchType cacheConfig registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory "
    "dynamicSharedMemory localMemoryPerThread localMemoryTotal gridId sharedMemoryExecuted sharedMemoryLimitConfig "
    "qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone clusterX clusterY clusterZ clusterSchedulingPolicy "
    "maxPotentialClusterSize maxActiveClusters sharedMemoryRequestedPercentage"
)
_COPY = _numbers(
    "bytes copyKind deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId dstContextId migrationCause "
    "copyCount"
)
_EVENT = _numbers(
    "start end eventType rangeId category color globalTid endGlobalTid domainId uint64Value int64Value uint32Value "
    "int32Value"
)
_VALUES = {"doubleValue": Content.REAL, "floatValue": Content.REAL}
_TEXTS = {"text": Content.TEXT, "binaryData": Content.PAYLOAD}

TABLES: dict[str, Kept] = {
    # First what ran on the GPU: how much of the host is in a window depends on it.
    schema.KERNEL: Kept(
        timing=Timing.WORK, columns=_SPAN | _PLACE | _KERNEL | _strings("demangledName shortName mangledName")
    ),
    schema.MEMCPY: Kept(timing=Timing.WORK, columns=_SPAN | _PLACE | _COPY),
    schema.MEMSET: Kept(timing=Timing.WORK, columns=_SPAN | _PLACE | _numbers("value bytes memKind")),
    schema.GRAPH_TRACE: Kept(timing=Timing.WORK, columns=_SPAN | _PLACE | _numbers("graphExecId")),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": Kept(
        timing=Timing.WORK, columns=_SPAN | _PLACE | _numbers("syncType eventId deprecatedSyncType eventSyncId")
    ),
    schema.RUNTIME: Kept(timing=Timing.HOST, columns=_SPAN | _HOST | _strings("nameId")),
    schema.NVTX: Kept(timing=Timing.EVENT, columns=_EVENT | _VALUES | _strings("textId") | _TEXTS),
    schema.OS_CALLS: Kept(timing=Timing.HOST, columns=_SPAN | _HOST | _numbers("nestingLevel") | _strings("nameId")),
    schema.PROFILER_OVERHEAD: Kept(
        timing=Timing.HOST, columns=_SPAN | _HOST | _numbers("overheadType") | _strings("nameId")
    ),
    schema.CUPTI_OVERHEAD: Kept(
        timing=Timing.HOST, columns=_SPAN | _HOST | _numbers("overheadType") | _strings("nameId")
    ),
    "CUDA_GRAPH_EVENTS": Kept(
        timing=Timing.HOST,
        columns=_SPAN
        | _HOST
        | _numbers("graphId originalGraphId graphExecId graphNodeId originalGraphNodeId")
        | _strings("nameId"),
    ),
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": Kept(
        timing=Timing.UNTOLD, columns=_PLACE | _numbers("timestamp eventId eventSyncId")
    ),
    "SCHED_EVENTS": Kept(
        timing=Timing.POINT, columns=_numbers("start cpu isSchedIn globalTid threadState threadBlock")
    ),
    schema.PAYLOAD_ENTRIES: Kept(columns=_numbers("domainId schemaId idx flags type offset") | {"name": Content.FIELD}),
    schema.DIAGNOSTICS: Kept(
        columns=_numbers("timestamp timestampType source severity globalPid") | {"text": Content.WARNING}
    ),
    schema.DETAILS: Kept(columns=_numbers("globalVid duration startTime stopTime")),
    schema.SESSION: Kept(columns=_numbers("utcEpochNs systemClockNs")),
    schema.GPU: Kept(
        columns=_numbers("vmId id isDiscrete totalMemory memoryBandwidth clockRate smCount cuDevice")
        | _LIMITS
        | {"name": Content.TEXT, "uuid": Content.UUID}
    ),
    schema.OLD_GPU: Kept(columns=_numbers("vmId deviceId pid") | _OLD_LIMITS | {"name": Content.TEXT}),
    schema.CUDA_DEVICE: Kept(columns=_numbers("gpuId cudaId pid numMultiprocessors") | {"uuid": Content.UUID}),
    "TARGET_INFO_CUDA_STREAM": Kept(columns=_STREAM | _numbers("priority flag")),
    "TARGET_INFO_CUDA_NULL_STREAM": Kept(columns=_STREAM),
    "TARGET_INFO_CUDA_CONTEXT_INFO": Kept(
        columns=_STREAM | _numbers("nullStreamId parentContextId isGreenContext numMultiprocessors numTpcs")
    ),
    "PROCESSES": Kept(columns=_numbers("globalPid pid")),
    "MPI_RANKS": Kept(columns=_numbers("globalTid rank")),
}
"""Tables that are copied row by row, in this order."""

VERSIONS = ("EXPORT_PRODUCT_NAME", "EXPORT_PRODUCT_VERSION", "EXPORT_SCHEMA_VERSION")
"""What is kept of the export's description of itself, which also names its host, user and paths."""

HANDLED = (*TABLES, *schema.METADATA, schema.STRINGS)
"""Every table that the copy may have."""
