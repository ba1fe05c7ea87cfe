"""Rows, events and states of a watch from JSON that anybody may have written: each is whole, or is left out."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from gapfinder.errors import visible
from gapfinder.watch.model import CaptureRecord, CaptureState, Event, TimesRow, Trigger, TriggerKind, WatchState

if TYPE_CHECKING:
    from collections.abc import Callable

    Reader = Callable[[object], object]

Row = TypeVar("Row", TimesRow, Event, Trigger, CaptureRecord, WatchState)

_LARGEST_LINE = 16 * 1024
_LARGEST_STATE = 4 * 1024 * 1024
_LONGEST_TEXT = 4_000
_LARGEST_NUMBER = 2**63
_NOT_READABLE = (ValueError, RecursionError)


def decode_lines(data: bytes, kind: type[Row]) -> tuple[list[Row], int]:
    """Return what the lines of `data` hold, and how many of those that are not empty hold no whole `kind`."""
    rows, unread = [], 0
    for line in data.split(b"\n"):
        if not line:
            continue
        try:
            if len(line) > _LARGEST_LINE:
                raise ValueError("more than a row can have")
            rows.append(_read(kind, json.loads(line)))
        except _NOT_READABLE:
            unread += 1
    return rows, unread


def decode_state(data: bytes) -> WatchState | None:
    """Return the state in `data`; None where it is none."""
    try:
        return _read(WatchState, json.loads(data)) if len(data) <= _LARGEST_STATE else None
    except _NOT_READABLE:
        return None


def _read(kind: type[Row], value: object) -> Row:
    """Return `value` as `kind`; names that it does not know, as of a later version, are passed over.

    Raises:
        ValueError: a member is missing, or of another type.
    """
    if not isinstance(value, dict):
        raise ValueError("no object")  # noqa: TRY004 (whoever wrote it, not the caller, is wrong)
    members = {name: reader(value[name]) for name, reader in _MEMBERS[kind].items() if name in value}
    if not members.keys() >= _REQUIRED[kind]:
        raise ValueError("not whole")
    return kind(**members)  # type: ignore[arg-type] # each was read as its annotation says


def _whole(value: object) -> int:
    if type(value) is not int or not 0 <= value < _LARGEST_NUMBER:
        raise ValueError("no whole number from 0 up")
    return value


def _real(value: object) -> float:
    if type(value) not in (int, float) or not 0 <= value < _LARGEST_NUMBER:  # type: ignore[operator] # it is a number
        raise ValueError("no number from 0 up")
    return float(value)  # type: ignore[arg-type] # likewise


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")  # noqa: TRY004
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        raise ValueError("no text of a sensible length")
    return visible(value)


def _folder(value: object) -> str:
    """Return a folder below the watch's; the empty text where it would lead elsewhere."""
    path = PurePosixPath(_text(value))
    return "" if path.is_absolute() or ".." in path.parts else str(value)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError("no list")  # noqa: TRY004
    return value


def _or_none(reader: Reader) -> Reader:
    return lambda value: None if value is None else reader(value)


_READERS: dict[str, Reader] = {
    "int": _whole,
    "float": _real,
    "bool": _flag,
    "str": _text,
    "int | None": _or_none(_whole),
    "float | None": _or_none(_real),
    "str | None": _or_none(_text),
    "TriggerKind": lambda value: TriggerKind(_text(value)),
    "CaptureState": lambda value: CaptureState(_text(value)),
    "Trigger": lambda value: _read(Trigger, value),
    "tuple[str, ...]": lambda value: tuple(map(_text, _list(value))),
    "tuple[CaptureRecord, ...]": lambda value: tuple(_read(CaptureRecord, item) for item in _list(value)),
}
"""What reads a member, by its annotation in model.py."""

_KINDS: tuple[type, ...] = (TimesRow, Event, Trigger, CaptureRecord, WatchState)
_MEMBERS = {kind: {field.name: _READERS[str(field.type)] for field in fields(kind)} for kind in _KINDS}
_MEMBERS[CaptureRecord]["folder"] = _folder
_REQUIRED = {kind: {field.name for field in fields(kind) if field.default is MISSING} for kind in _KINDS}
