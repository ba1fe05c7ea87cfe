"""Where a stretch of time went: a window, and the six parts that add up to it; int64 nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """A half-open stretch of time [start_ns, end_ns)."""

    start_ns: int
    end_ns: int

    @property
    def duration_ns(self) -> int:
        """Length in ns."""
        return self.end_ns - self.start_ns


ALWAYS = Window(start_ns=-(2**63), end_ns=2**63 - 1)
"""All the time there is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """Where a window's time went; the six parts add up to the window exactly.

    Attributes:
        window_ns: length of the window.
        compute_only_ns: kernels run, no communication.
        hidden_ns: communication and compute run at once.
        exposed_ns: communication runs, no compute.
        copy_only_ns: only copies or memsets run.
        graph_only_ns: a CUDA graph traced whole runs and no kernel.
        idle_ns: nothing runs.
    """

    window_ns: int
    compute_only_ns: int
    hidden_ns: int
    exposed_ns: int
    copy_only_ns: int
    graph_only_ns: int
    idle_ns: int

    @property
    def compute_ns(self) -> int:
        """Time with at least one compute kernel."""
        return self.compute_only_ns + self.hidden_ns

    @property
    def communication_ns(self) -> int:
        """Time with at least one communication operation."""
        return self.hidden_ns + self.exposed_ns

    @property
    def overlap_ratio(self) -> float | None:
        """Share of the communication that ran while compute did; None without communication.

        It is the truth only where all communication is visible: see the ratio of the lane, step or total.
        """
        return self.hidden_ns / self.communication_ns if self.communication_ns else None

    @property
    def busy_ns(self) -> int:
        """Time with at least one GPU operation of any kind."""
        return self.window_ns - self.idle_ns
