"""A table as plain cells: what the shared sections are made of and what a renderer lays out and escapes."""

from __future__ import annotations

from dataclasses import dataclass, replace
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


NOTHING = "-"
"""What a cell says where something does not apply or is not known."""


def filled(table: Table) -> Table:
    """Return the table without the columns in which no row says anything."""
    places = [place for place, cells in enumerate(zip(*table.rows, strict=True)) if set(cells) != {NOTHING}]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in places),
        rows=tuple(tuple(row[place] for place in places) for row in table.rows),
    )


def left_out(shown: int, total: int, noun: str, which: str) -> str:
    """Return a sentence for a table's caption that says what is missing from it; empty when nothing is."""
    return f" {format_shown(shown, total, noun)}: {which}." if shown < total else ""
