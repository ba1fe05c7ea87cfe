"""Checkpoints of a training: written whole or not at all, checked before they are read, continued to the last bit."""

from gapfinder.training.checkpoint.checkpoint import Checkpoint
from gapfinder.training.checkpoint.parts import Parts, Stateful
from gapfinder.training.checkpoint.policy import Layout, NewWorldSize, SavePolicy
from gapfinder.training.checkpoint.resume import Resumed

__all__ = ["Checkpoint", "Layout", "NewWorldSize", "Parts", "Resumed", "SavePolicy", "Stateful"]
