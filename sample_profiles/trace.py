"""What a simulated capture records: GPU operations, host calls, ranges, and what each host thread was doing."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sample_profiles.kernels import Work
    from sample_profiles.payloads import Payload


class OpKind(StrEnum):
    """What a GPU operation is for."""

    COMPUTE = "compute"
    COMMUNICATION = "communication"
    COPY = "copy"
    GRAPH = "graph"


class Cause(StrEnum):
    """Why a hole is there; the closed list."""

    TRANSFER = "exposed_communication_transfer"
    WAIT = "exposed_communication_wait"
    DATA_LOADING = "data_loading"
    SYNCHRONISATION = "synchronisation"
    ALLOCATOR = "allocator"
    HOST_TO_DEVICE_COPY = "host_to_device_copy"
    DEVICE_WAIT = "device_wait"
    LAUNCH_BOUND = "launch_bound"
    HOST_CODE = "host_code"
    OS_CALL = "os_call"
    GARBAGE_COLLECTION = "garbage_collection"
    CHECKPOINT = "checkpoint"
    PIPELINE_BUBBLE = "pipeline_bubble"
    GRAPH_UNKNOWN = "graph_unknown"
    PROFILER_OVERHEAD = "profiler_overhead"
    WARM_UP = "warm_up"
    UNKNOWN = "unknown"


class Thread(StrEnum):
    """The threads of a training process, by the name the operating system shows."""

    MAIN = "python3"
    AUTOGRAD = "pt_autograd_0"
    PIN_MEMORY = "pt_data_pin"
    WATCHDOG = "pt_nccl_watchdg"


_THREAD_OFFSETS = {Thread.MAIN: 0, Thread.PIN_MEMORY: 31, Thread.WATCHDOG: 44, Thread.AUTOGRAD: 58}


@dataclass(kw_only=True, slots=True, eq=False)
class Call:
    """One CUDA API call; correlation ids count up in each process and so repeat between processes."""

    name: str
    thread: Thread
    start: int
    end: int
    correlation: int


@dataclass(kw_only=True, slots=True, eq=False)
class Rendezvous:
    """One collective: every member starts its own kernel, all end `transfer` after the last one has started.

    Attributes:
        wait_cause: what a member suffers that waits for the others.
        ops: the members' operations, by rank, as far as they are launched.
    """

    members: tuple[int, ...]
    transfer: int
    wait_cause: Cause
    ops: dict[int, Op] = field(default_factory=dict)

    def arrival(self) -> int | None:
        """Return when the last member started; None as long as one has not."""
        if len(self.ops) < len(self.members):
            return None
        known = [op.start for op in self.ops.values() if op.start is not None]
        return max(known) if len(known) == len(self.members) else None

    def last_rank(self) -> int:
        """Return the rank that arrived last."""
        return max(self.members, key=lambda rank: (self.ops[rank].start, rank))


@dataclass(kw_only=True, slots=True, eq=False)
class Op:
    """One GPU operation; start and end are None until everything it depends on is known.

    Attributes:
        waits_for: operations of other streams that an event wait puts before this one.
        previous: operation launched before it on the same stream.
        launched: when the GPU learned of it; only a blocking call ends later.
        duration: time at work; unused where `meeting` decides the end.
        lag: how much later than the transfer this member of a collective ends.
        bound_by: the operation whose end decided the start; None where the launch did.
    """

    kind: OpKind
    work: Work
    call: Call
    stream: int
    launched: int
    waits_for: tuple[Op, ...]
    previous: Op | None
    duration: int
    meeting: Rendezvous | None = None
    lag: int = 0
    start: int | None = None
    end: int | None = None
    bound_by: Op | None = None

    @property
    def span(self) -> tuple[int, int]:
        """The resolved (start, end); an error before that."""
        if self.start is None or self.end is None:
            raise RuntimeError(f"{self.work} is not resolved")
        return self.start, self.end


@dataclass(kw_only=True, slots=True, eq=False)
class Activity:
    """What the thread in control of a process did from `start` to `end`, and on which operation it waited, if any."""

    start: int
    end: int
    cause: Cause
    waited_for: Op | None = None


@dataclass(kw_only=True, slots=True)
class Range:
    """An NVTX push/pop range; names in library domains are registered strings."""

    name: str
    domain: str
    thread: Thread
    start: int
    end: int
    payload: Payload | None = None


@dataclass(kw_only=True, slots=True)
class OsCall:
    """A blocking call into the operating system."""

    name: str
    thread: Thread
    start: int
    end: int


@dataclass(kw_only=True, slots=True)
class Sync:
    """A row of the synchronisation table: the host or a stream waits (`kind` is CUPTI's number)."""

    kind: int
    stream: int
    call: Call


@dataclass(kw_only=True, slots=True)
class Overhead:
    """Time the profiler or the CUDA driver took for itself on a thread (`kind` is CUPTI's number)."""

    name: str
    kind: int
    thread: Thread
    start: int
    end: int


@dataclass(kw_only=True, slots=True)
class Process:
    """Everything recorded of one rank, in the order it happened.

    Attributes:
        node: name of its machine.
        first_rank: the lowest rank on that machine.
    """

    rank: int
    ranks: int
    pid: int
    began: int
    node: str = "node0"
    first_rank: int = 0
    ops: list[Op] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    activities: list[Activity] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    os_calls: list[OsCall] = field(default_factory=list)
    syncs: list[Sync] = field(default_factory=list)
    overheads: list[Overhead] = field(default_factory=list)

    @property
    def device(self) -> int:
        """CUDA device number: the local rank."""
        return self.rank - self.first_rank

    @property
    def global_pid(self) -> int:
        """The process as nsys numbers it: virtual machine 1, then the process id above 24 thread bits (P10)."""
        return (1 << 48) | (self.pid << 24)

    def thread_id(self, thread: Thread) -> int:
        """Return the globalTid of one of the threads; the main thread's id is the process id."""
        return self.global_pid | (self.pid + _THREAD_OFFSETS[thread])

    @property
    def steps(self) -> list[Range]:
        """The ranges named after a training step."""
        return [r for r in self.ranges if not r.domain and r.name.startswith("step ")]
