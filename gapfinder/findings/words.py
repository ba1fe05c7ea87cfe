"""How findings and reports call lanes, and how they put several things into one phrase."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gapfinder.units import format_count, format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.model import Analysis

_LANES_NAMED = 4
_LONGEST_RANGE = 60
# torch.autograd.profiler.emit_nvtx writes "aten::mm, seq = 12, op_id = 3, sizes = [...]"
_ADDED = re.compile(r", (?:seq|op_id|sizes|input_op_ids) = ")

# nsys writes "cudaMemcpyAsync_v3020": the call, and the version of CUDA that made it as it is
_CALL_VERSION = re.compile(r"_v\d+$")


def lane_name(analysis: Analysis, index: int) -> str:
    """Return "rank 3" where the rank is known and no other lane has it (lanes of two jobs may), else "lane 3"."""
    rank = analysis.lanes[index].rank
    is_told = rank is not None and sum(lane.rank == rank for lane in analysis.lanes) == 1
    return f"rank {rank}" if is_told else f"lane {index}"


def lane_names(analysis: Analysis, indices: Sequence[int]) -> str:
    """Return several lanes in one phrase ("rank 0 and rank 1", "all 8 lanes")."""
    if len(indices) == len(analysis.lanes) > _LANES_NAMED:
        return f"all {format_count(len(indices), 'lane')}"
    return listed([lane_name(analysis, index) for index in indices])


def process_name(analysis: Analysis, index: int) -> str:
    """Return "rank 3" where the rank is known and no other process has it, else "process 4711", by its process id."""
    process = analysis.processes[index]
    is_told = process.rank is not None and sum(one.rank == process.rank for one in analysis.processes) == 1
    return f"rank {process.rank}" if is_told else f"process {process.pid}"


def clock_clause(analysis: Analysis) -> str:
    """Return how well the clocks of the hosts agree, as the end of what is said about several; empty for one clock."""
    residuals = [clock.residual_ns for clock in analysis.clocks if clock.residual_ns is not None]
    return f" (clocks agree to {format_duration(max(residuals))})" if residuals else ""


def range_name(text: str) -> str:
    """Return an NVTX range's text without what PyTorch adds to an operation's name, and not without end."""
    name = _ADDED.split(text, maxsplit=1)[0]
    return name if len(name) <= _LONGEST_RANGE else f"{name[: _LONGEST_RANGE - 1]}…"


def call_name(text: str) -> str:
    """Return a CUDA or OS call without the version in its name."""
    return _CALL_VERSION.sub("", text)


def listed(items: Sequence[str]) -> str:
    """Return "a, b and c"; a long list ends in a count of what was left out."""
    if len(items) > _LANES_NAMED + 1:
        items = [*items[:_LANES_NAMED], f"{format_count(len(items) - _LANES_NAMED)} more"]
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def subject(names: Sequence[str]) -> str:
    """Return names and the verb that follows them ("rank 1 is", "rank 1 and rank 2 are")."""
    return f"{listed(names)} {'is' if len(names) == 1 else 'are'}"


def capitalised(text: str) -> str:
    """Return a sentence that begins with a capital letter, the rest as it is."""
    return text[:1].upper() + text[1:]
