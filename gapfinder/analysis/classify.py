"""Which kernels are communication, decided on the function's own name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.settings import compile_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gapfinder.settings import Settings

# Searched, whatever the case, in the function name with its namespaces. NCCL's names by version: ncclAllReduceRing...
# up to 2.7, ncclKernel_ up to 2.18, ncclDevKernel_ from 2.19, ncclSymDevKernel_ 2.27, ncclSymkDevKernel_ from 2.28.
COMMUNICATION_PATTERNS = (
    r"(?<![a-z])nccl",
    r"(?<![a-z])rccl",
    r"(?<![a-z])nvshmem",
    r"(?<![a-z])deep_ep::",
    r"(?<![a-z])hybrid_ep::",
    r"(?<![a-z])mscclpp",
    r"(?<![a-z])mscclKernel",
    r"cross_device_reduce",
    r"(?:one|two)_?shot_?all_?reduce",
    r"all_?reduce_(?:one|two)_?shot",
    r"(?:one|two)_shot_reduce",
    r"multimem_(?:one_shot_)?(?:all_?reduce|all_?gather|reduce_?scatter)",
    r"symm(?:etric)?_mem(?:ory)?(?:::|_)",
)

_LOOKS_LIKE_COMMUNICATION = re.compile(
    r"all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|a2a|send_?recv|p2p|dispatch|combine|quick_?reduce",
    re.IGNORECASE,
)
_OPERATOR = re.compile(r"operator\s*(?:\(\)|<=>|<<=?|>>=?|<=?|>=?|->\*?)")
_BRACKET = re.compile(r"([<>()\[\]])")
_OPENING = frozenset("<([")
_CLOSING = frozenset(">)]")
_ANONYMOUS = re.compile(r"\(anonymous namespace\)|<unnamed>|\(anonymous\)")


@dataclass(frozen=True, slots=True)
class Decision:
    """What a kernel name was counted as.

    Attributes:
        is_communication: communication or compute.
        pattern: what matched; None where nothing did.
        looks_like_communication: counts as compute, but a word in its name is one of collective operations.
    """

    is_communication: bool
    pattern: str | None
    looks_like_communication: bool


def function_name(demangled: str) -> str:
    """Return a demangled name without return type, template arguments and parameters.

    `void a::b<c::d<4>, (anonymous namespace)::e>(int, f<g>)` becomes `a::b`.
    """
    text = _ANONYMOUS.sub("{anonymous}", demangled)
    text = _OPERATOR.sub("{operator}", text)
    kept: list[str] = []
    depth, has_begun = 0, False
    for part in _BRACKET.split(text):
        if part in _OPENING:
            if depth == 0 and part == "(" and has_begun:
                break
            depth += 1
        elif part in _CLOSING:
            depth = max(depth - 1, 0)
        elif depth == 0:
            kept.append(part)
            has_begun = has_begun or bool(part.strip())
    words = "".join(kept).split()
    return words[-1] if words else demangled


class Classifier:
    """Decides for kernel names; user patterns come first, then the defaults."""

    def __init__(self, *, communication_patterns: Iterable[str] = (), compute_patterns: Iterable[str] = ()) -> None:
        self._compute = [compile_pattern(p) for p in compute_patterns]
        self._communication = [compile_pattern(p) for p in (*communication_patterns, *COMMUNICATION_PATTERNS)]

    @classmethod
    def of(cls, settings: Settings) -> Classifier:
        """Take the patterns of settings."""
        return cls(communication_patterns=settings.communication_patterns, compute_patterns=settings.compute_patterns)

    def decide(self, demangled: str) -> Decision:
        """Return what the kernel of this name counts as."""
        name = function_name(demangled)
        for pattern in self._compute:
            if pattern.search(name):
                return Decision(is_communication=False, pattern=pattern.pattern, looks_like_communication=False)
        for pattern in self._communication:
            if pattern.search(name):
                return Decision(is_communication=True, pattern=pattern.pattern, looks_like_communication=False)
        suspicious = _LOOKS_LIKE_COMMUNICATION.search(name) is not None
        return Decision(is_communication=False, pattern=None, looks_like_communication=suspicious)
