"""What runs inside a training: helpers for a script to import, and the hook that marks steps for `gapfinder run`.

Nothing here loads torch before it is used, and each helper is loaded when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gapfinder.training.checkpoint import Checkpoint, Layout, NewWorldSize, Parts, Resumed, SavePolicy, Stateful
    from gapfinder.training.guard import CrashGuard, crash_guard
    from gapfinder.training.own_facts import GpuFacts, RankFacts
    from gapfinder.training.readiness import SelfCheck, disagreements, self_check
    from gapfinder.training.sampler import ResumableDistributedSampler
    from gapfinder.training.schedules import LinearScaling, accumulation_for, global_batch
    from gapfinder.training.step_ranges import step_range
    from gapfinder.training.step_timer import StepTimer, StepTimes

__all__ = [
    "Checkpoint",
    "CrashGuard",
    "GpuFacts",
    "Layout",
    "LinearScaling",
    "NewWorldSize",
    "Parts",
    "RankFacts",
    "ResumableDistributedSampler",
    "Resumed",
    "SavePolicy",
    "SelfCheck",
    "Stateful",
    "StepTimer",
    "StepTimes",
    "accumulation_for",
    "crash_guard",
    "disagreements",
    "global_batch",
    "self_check",
    "step_range",
]

_MODULES = {
    "checkpoint": ("Checkpoint", "Layout", "NewWorldSize", "Parts", "Resumed", "SavePolicy", "Stateful"),
    "guard": ("CrashGuard", "crash_guard"),
    "own_facts": ("GpuFacts", "RankFacts"),
    "sampler": ("ResumableDistributedSampler",),
    "schedules": ("LinearScaling", "accumulation_for", "global_batch"),
    "readiness": ("SelfCheck", "disagreements", "self_check"),
    "step_ranges": ("step_range",),
    "step_timer": ("StepTimer", "StepTimes"),
}
_HOMES = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load the helper that is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(globals().keys() | _HOMES.keys())
