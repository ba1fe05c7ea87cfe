"""The corpus of hostile files: `python -m hostile_files FOLDER` in tests/ writes all of it, to look at or to send elsewhere."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import hostile_bytes
import hostile_columns
import hostile_schemas
import hostile_texts
import hostile_times
from hostile_base import Case

_PARTS = (hostile_bytes, hostile_columns, hostile_schemas, hostile_texts, hostile_times)


def all_cases() -> Iterator[Case]:
    """Yield every hostile file; no two have one name."""
    return chain.from_iterable(part.cases() for part in _PARTS)


def main(folder: str) -> None:
    """Write every file into a folder of its own."""
    for case in all_cases():
        place = Path(folder) / re.sub(r"[^\w.,-]+", "_", case.name)[:100]
        place.mkdir(parents=True)
        case.make(place)


if __name__ == "__main__":
    main(*sys.argv[1:])
