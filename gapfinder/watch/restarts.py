"""Tells when a training was started again, as torchrun does with all its workers when one has failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.capture.proc import is_alive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.training.step_stream import RankSteps


class Restarts:
    """Knows the processes of every rank, in the order in which they came."""

    def __init__(self) -> None:
        self._processes: dict[int, dict[tuple[int, int], int]] = {}
        self._told = 0

    def see(self, ranks: Sequence[RankSteps]) -> str | None:
        """Take in what is new; return a sentence at the first process of a restart, once for all ranks."""
        for steps in sorted(ranks, key=lambda one: one.begun_at_ns):
            self._processes.setdefault(steps.rank, {})[steps.pid, steps.begun_at_ns] = steps.total
        for processes in self._processes.values():
            *ended, _ = processes
            if len(ended) > self._told and not any(is_alive(pid) for pid, _ in ended):
                self._told = len(ended)
                return (
                    f"the training was started again (restart {self._told}), after {processes[ended[-1]]:,} steps: it "
                    "counts them from 0 again, and what is usual is learnt anew"
                )
        return None
