"""A comparison for other programs: JSON whose names are a contract."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from gapfinder.compare.difference import Side
from gapfinder.render.json_text import encode

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from gapfinder.compare.difference import Difference

DIFFERENCE_VERSION = 1


def render_difference_json(difference: Difference) -> str:
    """Return the comparison as JSON: times in ns of one unit, null where something is not there or was not measured."""
    return encode({"schema_version": DIFFERENCE_VERSION, **_object(difference)})


def _object(value: DataclassInstance) -> dict[str, object]:
    members = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Side) and not value.is_idle_known:
        members["budget"] = {**_object(value.budget), "idle_ns": None}
    return members


def _plain(value: Any) -> object:  # noqa: ANN401 (any field of a result)
    if is_dataclass(value) and not isinstance(value, type):
        return _object(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, StrEnum) else value
