"""The host side of the simulation: one process's threads, the CUDA calls they make, and what they do in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from sample_profiles.kernels import HOST_TO_DEVICE, PAGEABLE, Copy, Graph, Kernel, Memset, Work
from sample_profiles.network import Communicator, jitter
from sample_profiles.trace import Activity, Call, Cause, Op, OpKind, OsCall, Overhead, Range, Sync, Thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sample_profiles.network import Network
    from sample_profiles.payloads import Payload
    from sample_profiles.trace import Process

Waits = Generator[Op, None, None]

MAIN_STREAM = 7
NCCL_STREAM = 20

LAUNCH_LATENCY_NS = 4_200
WAKE_UP_NS = 9_000
# Real queues hold about a thousand launches; a simulated step has about a tenth of a real step's kernels.
QUEUE_DEPTH = 110
_STREAM_WAIT_EVENT, _STREAM_SYNCHRONISE, _CONTEXT_SYNCHRONISE = 2, 3, 4
_KINDS = {Kernel: OpKind.COMPUTE, Copy: OpKind.COPY, Memset: OpKind.COPY, Graph: OpKind.GRAPH}
_CALLS = {
    Kernel: ("cudaLaunchKernel_v7000", 5_600),
    Copy: ("cudaMemcpyAsync_v3020", 7_400),
    Memset: ("cudaMemsetAsync_v3020", 5_100),
    Graph: ("cudaGraphLaunch_v10000", 96_000),
}


class Host:
    """One process: a thread in control that calls CUDA, and the streams of its GPU.

    The threads of a process hand over control to each other (autograd runs while the main thread waits), so one clock
    is enough. Methods that may have to wait for the GPU are generators that yield the operation they wait for.
    """

    def __init__(self, process: Process, *, network: Network, seed: int, slowdown: int = 1000) -> None:
        self.process = process
        self.rank = process.rank
        self.ranks = process.ranks
        self.now = process.began
        self.thread = Thread.MAIN
        self.rng = np.random.default_rng([seed, process.rank])
        self._network = network
        self._slowdown = slowdown
        self._correlation = 4_000
        self._waits: dict[int, list[Op]] = {}
        self._tails: dict[int, Op] = {}
        self.queues: dict[int, deque[Op]] = {}

    def work(self, ns: int, *, cause: Cause = Cause.LAUNCH_BOUND) -> None:
        """Spend about `ns` of host time outside CUDA."""
        self._advance(self.now + jitter(self.rng, ns, permille=150), cause=cause)

    def wait_until(self, time: int, *, cause: Cause) -> None:
        """Stand still until `time`, or not at all if it is past."""
        self._advance(max(self.now, time), cause=cause)

    def _advance(self, time: int, *, cause: Cause, waited_for: Op | None = None) -> None:
        if time > self.now:
            self.process.activities.append(Activity(start=self.now, end=time, cause=cause, waited_for=waited_for))
            self.now = time

    @contextmanager
    def range(self, name: str, *, domain: str = "", payload: Payload | None = None) -> Iterator[None]:
        """Push an NVTX range around a block."""
        begun = Range(name=name, domain=domain, thread=self.thread, start=self.now, end=self.now, payload=payload)
        self.process.ranges.append(begun)
        self._advance(self.now + 400, cause=Cause.LAUNCH_BOUND)
        yield
        self._advance(self.now + 300, cause=Cause.LAUNCH_BOUND)
        begun.end = self.now

    @contextmanager
    def os_call(self, name: str, *, thread: Thread | None = None) -> Iterator[None]:
        """Record a block as one blocking OS call of `thread` (default: the one in control)."""
        call = OsCall(name=name, thread=thread or self.thread, start=self.now, end=self.now)
        self.process.os_calls.append(call)
        yield
        call.end = self.now

    @contextmanager
    def overhead(self, name: str, *, kind: int) -> Iterator[None]:
        """Record a block as profiler or driver overhead of the thread in control."""
        row = Overhead(name=name, kind=kind, thread=self.thread, start=self.now, end=self.now)
        self.process.overheads.append(row)
        yield
        row.end = self.now

    @contextmanager
    def autograd(self) -> Iterator[None]:
        """Hand control to the autograd thread; the main thread sleeps meanwhile (P76)."""
        with self.os_call("pthread_cond_wait", thread=Thread.MAIN):
            self.thread = Thread.AUTOGRAD
            self.work(22_000)
            yield
            self.thread = Thread.MAIN
            self.work(11_000)

    def call(self, name: str, *, ns: int, cause: Cause = Cause.LAUNCH_BOUND) -> Call:
        """Make one CUDA call that waits for nothing."""
        self._correlation += 1
        start = self.now
        self.work(ns, cause=cause)
        call = Call(name=name, thread=self.thread, start=start, end=self.now, correlation=self._correlation)
        self.process.calls.append(call)
        return call

    def launch(self, work: Work, *, stream: int = MAIN_STREAM, prepare_ns: int = 14_000) -> Waits:
        """Launch kernel, copy, memset or graph; waits while the launch queue is full."""
        self.work(prepare_ns)
        name, ns = _CALLS[type(work)]
        if isinstance(work, Kernel) and work.is_driver_launch:
            name = "cuLaunchKernelEx"
        usual = work.usual_ns * self._slowdown // 1000 if isinstance(work, Kernel) else work.usual_ns
        duration = jitter(self.rng, usual, permille=25)
        call = yield from self._queue(name, ns)
        op = self._enqueue(_KINDS[type(work)], work, call=call, stream=stream, duration=duration)
        if isinstance(work, Copy) and work.kind == HOST_TO_DEVICE and work.source == PAGEABLE:
            yield op  # the driver returns when the pageable source may be overwritten
            self._advance(op.span[1], cause=Cause.HOST_TO_DEVICE_COPY, waited_for=op)
            call.end = self.now

    def meet(
        self, work: Kernel | Graph, *, communicator: Communicator | None = None, stream: int = NCCL_STREAM
    ) -> Waits:
        """Launch this rank's part of a collective; without `communicator` all ranks take part."""
        group = communicator or Communicator(name="world", members=tuple(range(self.ranks)))
        is_graph = isinstance(work, Graph)
        self.work(9_000)
        name, ns = _CALLS[Graph] if is_graph else ("cudaLaunchKernelExC_v11060", 8_200)
        call = yield from self._queue(name, ns)
        kind = OpKind.GRAPH if is_graph else OpKind.COMMUNICATION
        op = self._enqueue(kind, work, call=call, stream=stream)
        op.meeting = self._network.meet(group, rank=self.rank, work=work)
        op.meeting.ops[self.rank] = op
        op.lag = self._network.lag()

    def _queue(self, name: str, ns: int) -> Generator[Op, None, Call]:
        blocker = self.process.ops[-QUEUE_DEPTH] if len(self.process.ops) >= QUEUE_DEPTH else None
        start = self.now
        if blocker is not None:
            yield blocker
            self._advance(blocker.span[1], cause=Cause.LAUNCH_BOUND, waited_for=blocker)
        call = self.call(name, ns=ns)
        call.start = start
        return call

    def _enqueue(self, kind: OpKind, work: Work, *, call: Call, stream: int, duration: int = 0) -> Op:
        op = Op(
            kind=kind,
            work=work,
            call=call,
            stream=stream,
            launched=call.end + LAUNCH_LATENCY_NS,
            waits_for=tuple(self._waits.pop(stream, ())),
            previous=self._tails.get(stream),
            duration=duration,
        )
        self._tails[stream] = op
        self.queues.setdefault(stream, deque()).append(op)
        self.process.ops.append(op)
        return op

    def record(self, stream: int) -> Op | None:
        """Record an event on `stream`: it stands for the last operation there; None where there is none."""
        self.call("cudaEventRecord_v3020", ns=1_500)
        return self._tails.get(stream)

    def wait(self, event: Op | None, *, stream: int) -> None:
        """Make whatever comes next on `stream` wait for `event`."""
        call = self.call("cudaStreamWaitEvent_v3020", ns=1_200)
        self.process.syncs.append(Sync(kind=_STREAM_WAIT_EVENT, stream=stream, call=call))
        if event is not None:
            self._waits.setdefault(stream, []).append(event)

    def order(self, *, before: int, after: int) -> None:
        """Make stream `after` wait for all that stream `before` holds now."""
        self.wait(self.record(before), stream=after)

    def synchronise(self, *, stream: int = MAIN_STREAM, wake_up_ns: int = WAKE_UP_NS) -> Waits:
        """Block until everything on `stream` is done (cudaStreamSynchronize)."""
        start = self.now
        last = self._tails[stream]
        yield last
        self._advance(last.span[1], cause=Cause.SYNCHRONISATION, waited_for=last)
        call = self.call("cudaStreamSynchronize_v3020", ns=wake_up_ns, cause=Cause.SYNCHRONISATION)
        call.start = start
        self.process.syncs.append(Sync(kind=_STREAM_SYNCHRONISE, stream=stream, call=call))

    def reallocate(self, *, free_ns: int, malloc_ns: int) -> Waits:
        """Return cached memory and ask for a larger block: cudaFree waits for the whole device, cudaMalloc is slow."""
        start = self.now
        yield from self._tails.values()
        latest = max(self._tails.values(), key=lambda op: op.span[1])
        self._advance(latest.span[1], cause=Cause.ALLOCATOR, waited_for=latest)
        call = self.call("cudaFree_v3020", ns=free_ns, cause=Cause.ALLOCATOR)
        call.start = start
        self.process.syncs.append(Sync(kind=_CONTEXT_SYNCHRONISE, stream=0, call=call))
        self.call("cudaMalloc_v3020", ns=malloc_ns, cause=Cause.ALLOCATOR)
