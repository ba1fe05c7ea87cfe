"""Turns rows of a report into rows of the copy, by what each column holds."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from gapfinder.errors import InputError
from gapfinder.load.about import is_harmless
from gapfinder.load.payloads import FIELDS
from gapfinder.load.texts import decode
from gapfinder.scrub.kept import TABLES, VERSIONS, Content
from gapfinder.scrub.payloads import PayloadMask
from gapfinder.scrub.redact import Redactor, Revealing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gapfinder.load.database import Database
    from gapfinder.load.schema_check import Value

    Row = tuple[Value, ...]
    Copied = int | float | str | bytes | None
    Converter = Callable[[Value], Copied]

_INTEGERS = (Content.NUMBER, Content.STRING)
_VERSION = re.compile(r"[0-9][\w.-]{0,63}(?: \([A-Za-z ]{1,80}\))?", re.ASCII)
_PRODUCT = "NVIDIA Nsight Systems"
_LONGEST_WARNING = 1_024


class Columns:
    """Converts tables of one report.

    Attributes:
        used: the numbers of the strings that the rows copied so far refer to.
    """

    def __init__(self, database: Database, *, redactor: Redactor) -> None:
        self.used: set[Value] = set()
        self._database = database
        self._redactor = redactor
        self._payloads = PayloadMask(database)

    def kept(self, table: str) -> dict[str, Content]:
        """Return the columns of a table that are there and kept, integers first."""
        there = set(self._database.columns(table))
        kept = {name: content for name, content in TABLES[table].columns.items() if name in there}
        return dict(sorted(kept.items(), key=lambda column: column[1] not in _INTEGERS))

    def rows(
        self, table: str, columns: Mapping[str, Content], *, is_wanted: Callable[[Row], bool] | None
    ) -> Iterator[tuple[Copied, ...]]:
        """Yield what is kept of the wanted rows, in the table's order."""
        integers = [name for name, content in columns.items() if content in _INTEGERS]
        others = [name for name in columns if name not in integers]
        strings = [place for place, name in enumerate(columns) if columns[name] is Content.STRING]
        converters = [self._converter(columns[name], where=f"{table}.{name}") for name in others]
        for row in self._database.rows(table, integers, others):
            if is_wanted is not None and not is_wanted(row):
                continue
            for place in strings:
                self.used.add(row[place])
            if converters:
                values = row[len(integers) :]
                converted = (convert(value) for convert, value in zip(converters, values, strict=True))
                yield (*row[: len(integers)], *converted)
            else:
                yield row

    def strings(self) -> Iterator[tuple[int, str]]:
        """Yield the strings that copied rows refer to, with their numbers."""
        for number, text in sorted(self._database.strings.items()):
            if number in self.used:
                yield number, self._redactor.text(text)

    def versions(self, table: str) -> Iterator[tuple[str, str]]:
        """Yield what an export says of its own version, and nothing else that it says of itself."""
        for name, value in self._database.small_table(table, ("name", "value")):
            key, text = decode(name), decode(value)
            if key in VERSIONS and (_VERSION.fullmatch(text) or text == _PRODUCT):
                yield key, text

    def _converter(self, content: Content, *, where: str) -> Converter:
        simple = {Content.PAYLOAD: self._payloads.copy, Content.FIELD: _field}
        if content in simple:
            return simple[content]
        checked = {
            Content.REAL: self._real,
            Content.TEXT: self._text,
            Content.WARNING: self._warning,
            Content.UUID: self._uuid,
        }
        return partial(checked[content], where=where)

    def _real(self, value: Value, *, where: str) -> float | None:
        if isinstance(value, bytes):
            raise self._wrong(where, "a text, expected a number")
        return value

    def _text(self, value: Value, *, where: str) -> str | None:
        return None if value is None else self._redactor.text(self._bytes(value, where))

    def _warning(self, value: Value, *, where: str) -> str | None:
        if value is None:
            return None
        text = " ".join(decode(self._bytes(value, where)[:_LONGEST_WARNING]).split())
        if is_harmless(text) and self._redactor.text(text.encode()) == text:
            return text
        return self._redactor.number(Revealing.WARNING, text)

    def _uuid(self, value: Value, *, where: str) -> str | None:
        return self._redactor.number(Revealing.IDENTIFIER, decode(self._bytes(value, where))) if value else None

    def _bytes(self, value: Value, where: str) -> bytes:
        if not isinstance(value, bytes):
            raise self._wrong(where, "a number, expected a text")
        return value

    def _wrong(self, where: str, what: str) -> InputError:
        return InputError(f"{self._database.name}: {where} has {what}; export the report again")


def _field(value: Value) -> str | None:
    name = decode(value)
    return name if name in FIELDS else None
