"""How many captures a watch may take, how close together, and how much disk they may fill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.units import BYTES_PER_GB, NS_PER_S, format_bytes, format_count, format_duration
from gapfinder.watch.model import TriggerKind

if TYPE_CHECKING:
    from gapfinder.watch.model import Trigger


@dataclass(kw_only=True, slots=True)
class CapturePolicy:
    """What a watch may spend on captures; it counts those that `taken` is told of.

    Attributes:
        most_captures: of one watch, without those that were asked for.
        most_bytes: that all its captures may fill.
        cool_down_ns: from the end of one capture to the next.
    """

    most_captures: int = 10
    most_bytes: int = 20 * BYTES_PER_GB
    cool_down_ns: int = 300 * NS_PER_S
    _captures: int = 0
    _ended_ns: int | None = None

    def taken(self, trigger: Trigger, *, now_ns: int) -> None:
        """Count a capture that has ended now, whether it succeeded or not."""
        self._captures += trigger.kind is not TriggerKind.ASKED
        self._ended_ns = now_ns

    def refusal(self, trigger: Trigger, *, now_ns: int, bytes_used: int) -> str | None:
        """Say in one sentence why there is no capture for `trigger`; None where there may be one.

        Args:
            trigger: one that was asked for is bound by the disk alone.
            now_ns: on any clock that never goes back, the same as for `taken`.
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
        waited = self.cool_down_ns if self._ended_ns is None else now_ns - self._ended_ns
        if waited < self.cool_down_ns:
            apart = format_duration(self.cool_down_ns)
            return f"no capture: the last one ended {format_duration(waited)} ago, and {apart} lie between two"
        return None
