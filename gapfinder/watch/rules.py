"""When a watch takes a capture."""

from __future__ import annotations

from dataclasses import dataclass

from gapfinder.errors import InputError
from gapfinder.units import NS_PER_S


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """When a capture is taken.

    Attributes:
        drift: by how much steps must get longer, as a ratio to what is usual.
        lag: by how much a rank's time outside backward must exceed the median of the others'.
        sustained_ns, sustained_steps: for how long either must last, both.
        skip: steps at the start of a process that are not looked at.
        stall_factor, stall_least_ns: a stall is no step for this many times p99, for this long, and for twice as long
            as the longest step so far.
        at_steps: capture from these steps on.
        every_ns: capture this often; None for never.
        healthy_at: capture once from this step on while all is as usual; None for never.
    """

    drift: float = 0.20
    lag: float = 0.20
    sustained_ns: int = 10 * NS_PER_S
    sustained_steps: int = 5
    skip: int = 10
    stall_factor: float = 5.0
    stall_least_ns: int = 120 * NS_PER_S
    at_steps: tuple[int, ...] = ()
    every_ns: int | None = None
    healthy_at: int | None = 1_000

    def __post_init__(self) -> None:
        """Refuse what can never, or always, be met."""
        for name in ("drift", "lag", "sustained_ns", "sustained_steps", "stall_factor", "stall_least_ns"):
            if not 0 < getattr(self, name) < float("inf"):
                raise InputError(f"{name} must be above 0, not {getattr(self, name)}")
        if self.every_ns is not None and self.every_ns <= 0:
            raise InputError(f"every_ns must be above 0, not {self.every_ns}")
