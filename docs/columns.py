"""Writes docs/columns.md from the declared tables: `make docs`."""

from __future__ import annotations

from pathlib import Path

from gapfinder.tables import TABLES

_HEAD = """# Columns

The frames that cross stages: what a loaded report is made of, and what an analysis hands on. Written by `make docs`
from `gapfinder/tables.py`. Every time is int64 nanoseconds on the report's own clock; a row covers [start, end).
"""


def columns_document() -> str:
    """Return docs/columns.md."""
    parts = [_HEAD]
    for table in TABLES:
        rows = [f"| `{column.name}` | {column.dtype} | {column.meaning} |\n" for column in table.columns]
        parts.append(f"\n## {table.name}\n\n{table.meaning}\n\n| column | type | meaning |\n| --- | --- | --- |\n")
        parts.extend(rows)
    return "".join(parts)


if __name__ == "__main__":
    Path(__file__).with_suffix(".md").write_text(columns_document(), encoding="utf-8")
