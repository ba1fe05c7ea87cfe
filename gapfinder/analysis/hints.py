"""What a communication kernel's name says about its operation: a hint, since libraries reuse kernels for others."""

from __future__ import annotations

import re

from gapfinder.analysis.classify import function_name

UNKNOWN = "unknown"
OPERATIONS = (
    "AllReduce",
    "AllGather",
    "ReduceScatter",
    "AllToAll",
    "SendRecv",
    "Broadcast",
    "Reduce",
    "Gather",
    "Scatter",
    UNKNOWN,
)
"""Every operation that a name can hint at."""

ROOTED = frozenset({"Broadcast", "Reduce", "Gather", "Scatter"})
"""Operations with a root: a participant may end long before the others."""

# Searched in this order: "ReduceScatter" holds "Reduce", and "AllGather" holds "Gather".
_PATTERNS = (
    ("AllReduce", r"all_?reduce|cross_device_reduce|(?:one|two)_shot_reduce"),
    ("ReduceScatter", r"reduce_?scatter"),
    ("AllGather", r"all_?gather"),
    ("AllToAll", r"all_?to_?all"),
    ("SendRecv", r"send_?recv"),
    ("Broadcast", r"broadcast"),
    ("Reduce", r"(?<![a-z])(?:nccl|rccl)[a-z_]*_?reduce"),
    ("Gather", r"gather"),
    ("Scatter", r"scatter"),
)
_COMPILED = tuple((operation, re.compile(pattern, re.IGNORECASE)) for operation, pattern in _PATTERNS)


def operation_hint(name: str) -> str:
    """Return the operation that a kernel's or range's name speaks of, one of OPERATIONS."""
    function = function_name(name)
    return next((operation for operation, pattern in _COMPILED if pattern.search(function)), UNKNOWN)
