"""Decides from step times when a capture is worth its cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.training.step_stream import RankSteps
    from gapfinder.watch.model import Trigger


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """When a capture is taken."""

    drift: float = 0.20
    lag: float = 0.20
    skip: int = 10
    stall_factor: float = 10.0
    stall_least_s: float = 60.0
    at_steps: tuple[int, ...] = ()
    every_s: float | None = None
    healthy_at: int | None = 1_000


class Judge:
    """Holds step times against what is usual; it has no clock of its own."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    @property
    def usual_ns(self) -> int | None:
        """The step time that later ones are held against; None while it is being learnt."""
        return None

    def see(self, ranks: Sequence[RankSteps], *, now_ns: int) -> None:
        """Take in the steps that ended since the last call."""

    def ask(self) -> None:
        """Make the next trigger one that was asked for."""

    def trigger(self, now_ns: int) -> Trigger | None:
        """Return what asks for a capture now; None where nothing does."""

    def disturbed(self, start_ns: int, end_ns: int | None) -> None:
        """Judge nobody by steps that touch this span; without an end it is still going on."""

    def after_capture(self, trigger: Trigger) -> None:
        """Make what asked for the capture that has been taken the usual state: one capture for one fault."""
