"""What the names of host events say: which calls block or allocate, which ranges load data, what the profiler did."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gapfinder.explanations import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable

    _Patterns = tuple[tuple[Cause | None, re.Pattern[str]], ...]

_CALLS: _Patterns = (
    (
        Cause.WARM_UP,
        re.compile(r"^(?:cu(?:Module|Library)Load|cu(?:da)?Link|cuInit|cu\w*Ctx(?:Create|Retain)|cu(?:da)?GraphInst)"),
    ),
    (
        Cause.ALLOCATOR,
        re.compile(
            r"^(?:cuda(?:Malloc|Free|Host(?:Alloc|Register|Unregister)|MemPool)"
            r"|cuMem(?:Alloc|Free|Host|Create|Release|Map|Unmap|Address|SetAccess|Pool))"
        ),
    ),
    (
        Cause.SYNCHRONISATION,
        re.compile(
            r"^(?:cuda(?:Device|Stream|Event|Thread)Sync|cu(?:Ctx|Stream|Event)Sync|cu(?:da)?Memcpy(?!.*Async))"
        ),
    ),
)
# Activation checkpointing computes instead of writing, so its names are no checkpoint.
_RANGES: _Patterns = (
    (Cause.GARBAGE_COLLECTION, re.compile(r"(?<![a-z])gc(?![a-z])|garbage[ _-]?collect", re.IGNORECASE)),
    (None, re.compile(r"activation|recompute|checkpoint_?(?:function|wrap|impl)|utils[./]checkpoint", re.IGNORECASE)),
    (
        Cause.CHECKPOINT,
        re.compile(r"(?<![a-z])check[ _-]?point|torch\.save|sav(?:e|ing)[ _-]?(?:check|model|state)", re.IGNORECASE),
    ),
    (
        Cause.DATA_LOADING,
        re.compile(
            r"data[ _-]?(?:load|fetch|iter|wait)|batch[ _-]?(?:load|fetch)|__next__|prefetch|input[ _-]?pipeline"
            r"|(?:next|get|fetch|load|read|wait[ _]for)[ _-]?(?:the[ _]|a[ _])?(?:data|batch|sample|input)",
            re.IGNORECASE,
        ),
    ),
)
# nsys lists the driver's own loading, and what it adds to dlopen, beside the profiler's overhead. A full command buffer
# is the work of neither: the host waits there for a GPU that is busy.
_OVERHEADS: _Patterns = (
    (Cause.WARM_UP, re.compile(r"lazy|load|compiler|jit|dlopen|dlclose", re.IGNORECASE)),
    (None, re.compile(r"command buffer", re.IGNORECASE)),
    (Cause.PROFILER_OVERHEAD, re.compile(r"")),
)
_DIGITS = re.compile(r"[0-9]+")
_ASYNCHRONOUS_COPY = re.compile(r"^cu(?:da)?Memcpy.*Async")
_LAUNCH = re.compile(r"^cu(?:da)?(?:(?:Graph)?Launch|Mem(?:cpy|set))")
_GRAPH_LAUNCH = re.compile(r"^cu(?:da)?GraphLaunch", re.IGNORECASE)
_KERNEL_LAUNCH = re.compile(r"^cu(?:da)?LaunchKernel", re.IGNORECASE)


def call_causes(names: Iterable[str]) -> list[Cause | None]:
    """Return what time in each of these CUDA calls is charged to; None for calls that explain no idle GPU."""
    return [_first(_CALLS, name) for name in names]


def range_causes(names: Iterable[str]) -> list[Cause | None]:
    """Return what an NVTX range of each of these texts is charged to; None where the text says nothing of it."""
    # No pattern has digits, and steps are many texts that differ in their number alone.
    stems = [_DIGITS.sub("0", name) for name in names]
    causes = {stem: _first(_RANGES, stem) for stem in set(stems)}
    return [causes[stem] for stem in stems]


def overhead_causes(names: Iterable[str]) -> list[Cause | None]:
    """Return what an overhead of each of these names is charged to; None for a host that waits for the GPU."""
    return [_first(_OVERHEADS, name) for name in names]


def launch_names(names: Iterable[str]) -> list[bool]:
    """Say which CUDA calls give the GPU work."""
    return [_LAUNCH.match(name) is not None for name in names]


def graph_launch_names(names: Iterable[str]) -> list[bool]:
    """Say which CUDA calls launch a graph."""
    return [_GRAPH_LAUNCH.match(name) is not None for name in names]


def kernel_launch_names(names: Iterable[str]) -> list[bool]:
    """Say which CUDA calls launch a kernel."""
    return [_KERNEL_LAUNCH.match(name) is not None for name in names]


def asynchronous_copy_names(names: Iterable[str]) -> list[bool]:
    """Say which CUDA calls copy without waiting, unless the memory is pageable."""
    return [_ASYNCHRONOUS_COPY.match(name) is not None for name in names]


def _first(patterns: _Patterns, name: str) -> Cause | None:
    return next((cause for cause, pattern in patterns if pattern.search(name)), None)
