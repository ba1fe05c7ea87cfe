"""A table as plain cells: what the shared sections are made of and what a renderer lays out and escapes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gapfinder.units import format_shown


class Kind(StrEnum):
    """How cells are laid out: a number, a short word, free text, an operation's whole name, or a remark on its row."""

    NUMBER = "number"
    WORD = "word"
    LABEL = "label"
    NAME = "name"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading and kind."""

    header: str
    kind: Kind = Kind.NUMBER


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Cells as text, not yet escaped for any format; names are still whole."""

    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


def left_out(shown: int, total: int, noun: str, which: str) -> str:
    """Return a sentence for a table's caption that says what is missing from it; empty when nothing is."""
    return f" {format_shown(shown, total, noun)}: {which}." if shown < total else ""
