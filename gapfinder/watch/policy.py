"""How many captures a watch may take, how close together, and how much disk they may fill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.units import format_bytes, format_count, format_duration
from gapfinder.watch.model import TriggerKind

if TYPE_CHECKING:
    from gapfinder.watch.model import Trigger

_NS_PER_S = 1_000_000_000
_GB = 1_000_000_000


@dataclass(kw_only=True, slots=True)
class CapturePolicy:
    """What a watch may spend on captures; it counts those that `taken` is told of.

    Attributes:
        most_captures: of one watch, without those that were asked for.
        most_bytes: that all its captures may fill.
        cool_down_s: from the end of one capture to the next.
    """

    most_captures: int = 10
    most_bytes: int = 20 * _GB
    cool_down_s: float = 300.0
    _captures: int = 0
    _ended_at: float | None = None

    def taken(self, trigger: Trigger, *, now: float) -> None:
        """Count a capture that has ended now, whether it succeeded or not."""
        self._captures += trigger.kind is not TriggerKind.ASKED
        self._ended_at = now

    def refusal(self, trigger: Trigger, *, now: float, bytes_used: int) -> str | None:
        """Say in one sentence why there is no capture for `trigger`; None where there may be one.

        Args:
            trigger: one that was asked for is bound by the disk alone.
            now: in seconds, on any clock that never goes back.
            bytes_used: by the captures so far.
        """
        if bytes_used >= self.most_bytes:
            return (
                f"no capture: those of this watch fill {format_bytes(bytes_used)}, and may fill "
                f"{format_bytes(self.most_bytes)}"
            )
        if trigger.kind is TriggerKind.ASKED:
            return None
        if self._captures >= self.most_captures:
            return f"no capture: this watch has taken {format_count(self._captures, 'capture')}, its most"
        waited = self.cool_down_s if self._ended_at is None else now - self._ended_at
        if waited < self.cool_down_s:
            apart = _seconds(self.cool_down_s)
            return f"no capture: the last one ended {_seconds(waited)} ago, and {apart} lie between two"
        return None


def _seconds(seconds: float) -> str:
    return format_duration(round(seconds * _NS_PER_S))
