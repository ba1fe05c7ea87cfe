"""What runs inside a training: helpers for a script to import, and the hook that marks steps for `gapfinder run`.

Nothing here loads torch before it is used, and each helper is loaded when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gapfinder.training.checkpoint import Checkpoint, Layout, NewWorldSize, Parts, Resumed, SavePolicy, Stateful
    from gapfinder.training.sampler import ResumableDistributedSampler

__all__ = [
    "Checkpoint",
    "Layout",
    "NewWorldSize",
    "Parts",
    "ResumableDistributedSampler",
    "Resumed",
    "SavePolicy",
    "Stateful",
]

_MODULES = {
    **dict.fromkeys(
        ("Checkpoint", "Layout", "NewWorldSize", "Parts", "Resumed", "SavePolicy", "Stateful"),
        "gapfinder.training.checkpoint",
    ),
    "ResumableDistributedSampler": "gapfinder.training.sampler",
}


def __getattr__(name: str) -> object:
    """Load the helper that is asked for."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted(globals().keys() | _MODULES.keys())
