"""Reads the parameters of the browser's questions; what cannot be read is an InputError with one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from gapfinder.errors import InputError, visible

if TYPE_CHECKING:
    from collections.abc import Mapping
    from enum import StrEnum

    Choice = TypeVar("Choice", bound="StrEnum")

_MOST_DIGITS = 18
_SHOWN = 60


def whole_number(
    asked: Mapping[str, str], name: str, *, least: int = 0, most: int = 2**53, default: int | None = None
) -> int:
    """Return a whole number between two others; without a default it is required."""
    text = asked.get(name)
    if text is None:
        if default is None:
            raise InputError(f"{name} is missing; give a whole number")
        return default
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
        raise InputError(f"{name} is no whole number: {_quoted(text)}")
    if not least <= int(text) <= most:
        raise InputError(f"{name} is {text}; it is from {least} to {most}")
    return int(text)


def lane_numbers(asked: Mapping[str, str], *, count: int, name: str = "lanes") -> tuple[int, ...]:
    """Return lanes separated by commas, each once; all where nothing is said."""
    text = asked.get(name)
    if text is None:
        return tuple(range(count))
    parts = dict.fromkeys(filter(None, text.split(",")))
    return tuple(whole_number({name: part}, name, most=count - 1) for part in parts)


def chosen(asked: Mapping[str, str], name: str, *, among: type[Choice]) -> tuple[Choice, ...]:
    """Return choices separated by commas; empty where nothing is said."""
    known = {choice.value: choice for choice in among}
    parts = list(dict.fromkeys(filter(None, asked.get(name, "").split(","))))
    for part in parts:
        if part not in known:
            raise InputError(f"{name} has {_quoted(part)}; known are {', '.join(known)}")
    return tuple(known[part] for part in parts)


def _quoted(text: str) -> str:
    shown = visible(text)
    return repr(shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…")
