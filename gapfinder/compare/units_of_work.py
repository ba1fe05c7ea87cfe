"""Scales a snapshot to one unit: the mean step of its lanes, or a second of their windows."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from gapfinder.analysis.lane import NO_COMMUNICATION
from gapfinder.compare.difference import Side, Unit
from gapfinder.model import Budget

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gapfinder.compare.snapshot import LaneSnapshot

SECOND_NS = 1_000_000_000
_PARTS = tuple(field.name for field in fields(Budget) if field.name != "window_ns")
