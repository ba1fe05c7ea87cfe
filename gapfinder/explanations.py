"""Why the time went where it went: causes of holes, the bill of each collective, and findings.

All times are int64 nanoseconds; bandwidths are bytes per second; lanes are indices into `Analysis.lanes`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Cause(StrEnum):
    """Why a hole, or a part of one, is there; the closed list."""

    EXPOSED_TRANSFER = "exposed_communication_transfer"
    EXPOSED_WAIT = "exposed_communication_wait"
    EXPOSED_COMMUNICATION = "exposed_communication"
    PIPELINE_BUBBLE = "pipeline_bubble"
    DATA_LOADING = "data_loading"
    SYNCHRONISATION = "synchronisation"
    ALLOCATOR = "allocator"
    HOST_TO_DEVICE_COPY = "host_to_device_copy"
    COPY = "copy"
    DEVICE_WAIT = "device_wait"
    LAUNCH_BOUND = "launch_bound"
    HOST_CODE = "host_code"
    OS_CALL = "os_call"
    GARBAGE_COLLECTION = "garbage_collection"
    CHECKPOINT = "checkpoint"
    GRAPH_UNKNOWN = "graph_unknown"
    PROFILER_OVERHEAD = "profiler_overhead"
    WARM_UP = "warm_up"
    UNKNOWN = "unknown"


EXPOSED_CAUSES = frozenset(
    {Cause.EXPOSED_TRANSFER, Cause.EXPOSED_WAIT, Cause.EXPOSED_COMMUNICATION, Cause.PIPELINE_BUBBLE}
)
"""What the exposed communication of holes is charged to."""
COPY_CAUSES = frozenset({Cause.HOST_TO_DEVICE_COPY, Cause.COPY})
"""What the time of holes in which only copies run is charged to."""
IDLE_CAUSES = frozenset(Cause) - EXPOSED_CAUSES - COPY_CAUSES
"""What the idle time of holes is charged to."""

GRADIENT_OPERATIONS = frozenset({"AllReduce", "ReduceScatter", "Reduce"})
"""Operations that synchronise gradients; ZeRO may reduce each part to the lane that keeps it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """What was seen about one hole; a field is None where it does not apply or was not captured.

    Attributes:
        shares: ns of the hole by cause; they add up to the hole.
        call: CUDA or OS call, all of one name together, that took most of what the host did of the main cause.
        call_ns: how long.
        nvtx: innermost NVTX range with more than half of that, all of one name together; for a cause on the device,
            the range around the launch of what the hole is about.
        launch_delay_ns: from the hole's start to the begin of the launch call of the operation that ends its idle part.
        operation: collective operation of its longest exposed communication, such as "AllReduce".
        wait_ns: part of the exposed communication in which this lane waited for another one.
        transfer_ns: the rest of it.
        late_lane: the lane the others waited for.
        copied_bytes: bytes moved by copies in it.
        copy_bandwidth: of those copies, in bytes per second.
        is_pageable: whether host memory of those copies was pageable.
    """

    shares: dict[Cause, int] = field(default_factory=dict)
    call: str | None = None
    call_ns: int | None = None
    nvtx: str | None = None
    launch_delay_ns: int | None = None
    operation: str | None = None
    wait_ns: int | None = None
    transfer_ns: int | None = None
    late_lane: int | None = None
    copied_bytes: int | None = None
    copy_bandwidth: float | None = None
    is_pageable: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class HostActivity:
    """How one lane's process drove its GPU, over the lane's window; what rules need beside the budget.

    Attributes:
        launches: kernel and graph launch calls.
        launch_ns: their summed length.
        launched_ns: summed length of the kernels and whole graphs they launched.
        sync_calls: synchronising calls by name, as (count, ns inside holes).
        allocator_calls: cudaMalloc, cudaFree, cudaHostRegister and the like after the first step.
        allocator_ns: their summed length.
        pageable_copies: copies from pageable host memory to the device.
        pageable_ns: their summed length on the device.
        offload_bytes: bytes copied from the device to the host, after the first step.
        gc_ns: garbage collection ranges, summed.
        checkpoint_ns: checkpoint ranges, summed.
        overhead_ns: profiler overhead on this process, union.
        unlaunched_ops: operations whose launch call is not in the report.
    """

    launches: int = 0
    launch_ns: int = 0
    launched_ns: int = 0
    sync_calls: dict[str, tuple[int, int]] = field(default_factory=dict)
    allocator_calls: int = 0
    allocator_ns: int = 0
    pageable_copies: int = 0
    pageable_ns: int = 0
    offload_bytes: int = 0
    gc_ns: int = 0
    checkpoint_ns: int = 0
    overhead_ns: int = 0
    unlaunched_ops: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelTotal:
    """All kernels of one name, over all lanes.

    Attributes:
        name: demangled name.
        total_ns: summed duration; kernels that run at once count twice.
    """

    name: str
    is_communication: bool
    count: int
    total_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectiveSummary:
    """All instances of one operation on one communicator, over all lanes.

    Attributes:
        operation: hint from the kernel's name, such as "AllReduce"; "unknown" where it says none.
        communicator: payload id where captured, else the stream that carried it, as text.
        instances: how often it ran (an instance is one call as seen by all its lanes).
        unmatched: operations of single lanes that found no partner although other lanes have the same kind.
        lanes: lanes that take part.
        per_step: instances per complete step; None without steps.
        bytes_total: bytes as nccl-tests counts them; None where no payload was captured.
        total_ns: summed duration over lanes.
        hidden_ns, exposed_ns: summed over lanes, each lane's as a union.
        wait_ns, transfer_ns: summed over lanes; None where there was nothing to compare with (one lane).
        algorithm_bandwidth, bus_bandwidth: median over instances; None without bytes.
        ideal_ns: ideal time from the cost model, summed over lanes; None without bytes or link.
        late_lane: the lane waited for in most instances; None without a split.
        late_share: share of the instances in which that lane was the last.
        skew_ns: how long the first lane waited for the last one, median over instances; None without a split.
        ideal_share: ideal time to transfer time (without a split to the length) of what has an ideal; None without any.
        own_share: median bus bandwidth to that of the fastest tenth, of instances alike in size; None with too few.
    """

    operation: str
    communicator: str
    instances: int
    unmatched: int
    lanes: tuple[int, ...]
    per_step: float | None
    bytes_total: int | None
    total_ns: int
    hidden_ns: int
    exposed_ns: int
    wait_ns: int | None
    transfer_ns: int | None
    algorithm_bandwidth: float | None
    bus_bandwidth: float | None
    ideal_ns: int | None
    late_lane: int | None
    late_share: float | None
    skew_ns: int | None = None
    ideal_share: float | None = None
    own_share: float | None = None

    @property
    def matched(self) -> int:
        """Instances but those of one operation that found no partner."""
        return self.instances - self.unmatched

    @property
    def operations(self) -> int:
        """Operations of single lanes."""
        return self.matched * len(self.lanes) + self.unmatched

    @property
    def usual_ns(self) -> float:
        """Mean length of one operation; without waiting where a split is known."""
        if self.transfer_ns is not None and self.matched:
            return self.transfer_ns / (self.matched * len(self.lanes))
        return self.total_ns / max(self.operations, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class StepCommunication:
    """The communication in the complete steps of one number, summed over the lanes that have it.

    Attributes:
        instances: collectives of which an operation began in it.
        communication_ns, hidden_ns, exposed_ns: as unions, inside the step's window on each lane.
        wait_ns, transfer_ns: of the operations that began in it; None where none of them was matched.
        overlap_ratio: hidden to communication; None where a lane's could not be measured, and without communication.
    """

    number: int
    lanes: int
    instances: int
    communication_ns: int
    hidden_ns: int
    exposed_ns: int
    wait_ns: int | None
    transfer_ns: int | None
    overlap_ratio: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Buckets:
    """How gradient synchronisation lies to backward, as medians over the complete steps of one lane.

    Attributes:
        lane: the lane.
        per_step: gradient collectives (all-reduce, reduce-scatter, reduce) per step.
        start_into_backward: how far backward had come when the first one started, 0 to 1; above 1 when it began after.
        after_backward_ns: how much of them ran after the last backward kernel had ended.
        backward_ns: length of backward on the GPU.
        median_ns: length of one.
        micro_steps: forward/backward passes per step where NVTX tells; 1 otherwise.
    """

    lane: int
    per_step: float
    start_into_backward: float
    after_backward_ns: int
    backward_ns: int
    median_ns: int
    micro_steps: int


class Severity(StrEnum):
    """How much a finding matters, by the share of the time it costs."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing to know or to change.

    Attributes:
        code: the rule's code, such as "overlap-broken"; docs/rules.md explains it.
        lost_ns: GPU time lost to it, summed over lanes; 0 where it costs nothing by itself. Without lanes it is host
            time, summed over processes.
        share: lost_ns as a share of all lanes' windows; without lanes, of all processes' steps.
        lane: the lane it is about; None when it is about all.
    """

    code: str
    severity: Severity
    title: str
    detail: str
    advice: str
    lost_ns: int
    share: float
    lane: int | None = None
