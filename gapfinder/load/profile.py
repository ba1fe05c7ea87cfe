"""One report in memory: its frames, and what it says about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.tables import CLOCKS, OS_CALLS, OVERHEADS, PAYLOADS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A loaded report. Each frame is declared in `gapfinder.tables` and may be empty.

    Attributes:
        path: the file the user named (report, export or compressed export).
        nsys_version: version of the nsys that exported it, such as "2026.2.1.210"; None where it is not told.
        export_schema_version: such as "3.25.0"; None where it is not told.
        capture_end_ns: end of the capture on the report's clock (ANALYSIS_DETAILS.duration); None where not told.
        start_utc_ns: wall clock of the report's time 0, in ns since 1970; None where it is not told.
        has_nvtx: NVTX events were captured (the table exists and is not empty).
        has_calls: CUDA API calls were captured.
        has_os_calls: blocking OS calls were captured.
        has_kernel_names: some kernel's name was captured, or there is no kernel; where not, all are compute.
        read_calls: reads the CUDA API calls (frame CALLS); they are as many as the kernels, so only when asked.
        read_os_calls: reads the calls into the operating system (frame OS_CALLS): they can be as many.
        read_overheads: reads what the profiler and the driver took for themselves (frame OVERHEADS).
        read_clocks: reads how fast GPUs were clocked (frame CLOCKS).
        read_payloads: reads what NCCL attached to its ranges (frame PAYLOADS), and how many could not be decoded.
        notes: what a reader of the results must know about this file, each one sentence.
    """

    path: Path
    nsys_version: str | None
    export_schema_version: str | None
    capture_end_ns: int | None
    start_utc_ns: int | None
    has_nvtx: bool
    has_calls: bool
    has_os_calls: bool
    kernels: pd.DataFrame
    copies: pd.DataFrame
    graphs: pd.DataFrame
    ranges: pd.DataFrame
    marks: pd.DataFrame
    devices: pd.DataFrame
    read_calls: Callable[[], pd.DataFrame]
    has_kernel_names: bool = True
    read_os_calls: Callable[[], pd.DataFrame] = OS_CALLS.empty
    read_overheads: Callable[[], pd.DataFrame] = OVERHEADS.empty
    read_clocks: Callable[[], pd.DataFrame] = CLOCKS.empty
    read_payloads: Callable[[], tuple[pd.DataFrame, int]] = lambda: (PAYLOADS.empty(), 0)
    notes: tuple[str, ...] = ()
