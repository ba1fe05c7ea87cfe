"""What a user may choose about an analysis, from options and from `gapfinder.toml` or `[tool.gapfinder]`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DEFAULT_MIN_GAP_NS = 100_000


class CountCopies(StrEnum):
    """Which copies count as communication."""

    NONE = "none"
    COLLECTIVE = "collective"
    PEER = "peer"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Choices for one analysis.

    Attributes:
        min_gap_ns: shortest gap and hole that is reported.
        window: (start, end) in ns on the report's clock; None for the whole capture.
        step_range: (first, end) step numbers; None for all.
        step_pattern: regular expression that a step's whole NVTX text must match; None for the defaults.
        communication_patterns: further regular expressions searched in a kernel's function name.
        compute_patterns: function names that are compute even if a communication pattern matches.
        count_copies: COLLECTIVE counts copies launched inside an NCCL range, PEER every peer-to-peer copy as well.
        gpus: CUDA device numbers to keep; empty for all.
        ranks: rank of each lane, in the order lanes are listed; empty to take them from the report.
        top: how many holes are kept in full per lane.
    """

    min_gap_ns: int = DEFAULT_MIN_GAP_NS
    window: tuple[int, int] | None = None
    step_range: tuple[int, int] | None = None
    step_pattern: str | None = None
    communication_patterns: tuple[str, ...] = ()
    compute_patterns: tuple[str, ...] = ()
    count_copies: CountCopies = CountCopies.COLLECTIVE
    gpus: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()
    top: int = 10
