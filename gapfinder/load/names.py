"""Names as pandas categoricals: equal texts are one, sorted, so that nothing depends on the order of rows or ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.load.texts import decode, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gapfinder.load.btree import Bools, Integers

UNNAMED = "<unnamed>"
"""Stands for a name that the report does not tell."""


@dataclass(frozen=True, slots=True)
class Names:
    """A name per row: `codes` index into `texts`, where None is a name that the report does not tell."""

    codes: Integers
    texts: tuple[str | None, ...]

    @classmethod
    def from_bytes(cls, codes: Integers, texts: Iterable[object]) -> Names:
        """Take texts as stored: not always UTF-8, and empty where there is no name."""
        return cls(codes, tuple(decode(text) or None for text in texts))

    def where(self, holds: Iterable[bool]) -> Bools:
        """Which rows have a text for which something holds; it is told per text."""
        return np.fromiter(holds, np.bool_, len(self.texts))[self.codes]

    def is_missing(self) -> Bools:
        """Which rows have no name."""
        return self.where(text is None for text in self.texts)

    def otherwise(self, other: Names) -> Names:
        """Fill rows without a name from another source."""
        codes = np.where(self.is_missing(), other.codes + len(self.texts), self.codes)
        return Names(codes, self.texts + other.texts)

    def at(self, rows: Bools) -> Names:
        """Return the names of some rows."""
        return Names(self.codes[rows], self.texts)

    def categorical(self, *, unnamed: str = UNNAMED) -> pd.Categorical:
        """Return the names with only those that occur as categories; `unnamed` is the text for no name."""
        occurs = np.zeros(len(self.texts), np.bool_)
        occurs[self.codes] = True
        texts = [unnamed if text is None else text for text in self.texts]
        categories = sorted({text for text, used in zip(texts, occurs.tolist(), strict=True) if used})
        position = {text: k for k, text in enumerate(categories)}
        codes = np.array([position.get(text, -1) for text in texts], _smallest(len(categories)))[self.codes]
        return pd.Categorical.from_codes(codes, categories=pd.Index(categories, dtype=object), validate=False)


class TextCodes(dict[object, int]):
    """Numbers the texts it is asked for, shortened; TypeError for what is no text, OverflowError for too much.

    `check` is told how many there are; it may raise.
    """

    def __init__(self, *, room: int, check: Callable[[int], None]) -> None:
        super().__init__()
        self._room, self._check = room, check

    def __missing__(self, text: object) -> int:
        if not isinstance(text, bytes | None):
            raise TypeError(type(text))
        self._room -= len(text or b"")
        if self._room < 0:
            raise OverflowError
        number = self.setdefault(text and shorten(text), len(self))
        self._check(len(self))
        return number


def _smallest(count: int) -> np.dtype[np.signedinteger]:
    """Return the code type pandas itself would choose: other ones it converts."""
    return next(np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64) if count <= np.iinfo(t).max)
