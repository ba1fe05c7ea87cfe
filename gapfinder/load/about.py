"""Reads what an export says about itself, and nothing of the environment it was captured in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.load.schema import DETAILS, DIAGNOSTICS, METADATA, SESSION
from gapfinder.load.texts import decode

if TYPE_CHECKING:
    from gapfinder.load.database import Database
    from gapfinder.load.schema_check import Value

_WARNING = 2
_MOST_TEXTS = 3
_LONGEST_TEXT = 300

_REVEALING = re.compile(
    r"[^A-Za-z0-9 .,;:?!()-]"  # slashes of paths, signs of variables, quoted names
    r"|:\S|\.[A-Za-z]|[A-Za-z][A-Za-z-]*[0-9]"  # ports, dotted names, numbered hosts
    r"|[0-9]+(?:\.[0-9]+){3}"  # addresses
)
"""What a path, a variable, a host or an address would contain; a text with it is only counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class About:
    """Versions, clock and warnings of one export; None where it does not tell."""

    nsys_version: str | None
    export_schema_version: str | None
    capture_end_ns: int | None
    start_utc_ns: int | None
    warnings: str | None


def read_about(database: Database) -> About:
    """Return what the export says about itself."""
    versions: dict[str, str] = {}
    for table in METADATA:
        for name, value in database.small_table(table, ("name", "value")):
            if isinstance(name, bytes) and isinstance(value, bytes):
                versions.setdefault(decode(name), decode(value))
    return About(
        nsys_version=versions.get("EXPORT_PRODUCT_VERSION"),
        export_schema_version=versions.get("EXPORT_SCHEMA_VERSION"),
        capture_end_ns=_largest(database.small_table(DETAILS, ("duration",))),
        start_utc_ns=_largest(database.small_table(SESSION, ("utcEpochNs",))),
        warnings=_warnings(database.small_table(DIAGNOSTICS, ("severity", "text"))),
    )


def _largest(rows: list[tuple[Value, ...]]) -> int | None:
    return max((value for (value,) in rows if isinstance(value, int)), default=None)


def _warnings(rows: list[tuple[Value, ...]]) -> str | None:
    """Summarise nsys's own warnings in a sentence that shows nothing of the machine."""
    texts: dict[str, int] = {}
    for severity, raw in rows:
        if isinstance(severity, int) and severity >= _WARNING and isinstance(raw, bytes):
            text = " ".join(decode(raw).split())
            texts[text] = max(severity, texts.get(text, severity))
    if not texts:
        return None
    gravest_first = sorted(texts, key=lambda text: (-texts[text], text))
    shown = [text for text in gravest_first if is_harmless(text)][:_MOST_TEXTS]
    count = "a warning" if len(texts) == 1 else f"{len(texts)} distinct warnings"
    quoted = "; ".join(f'"{text}"' for text in shown)
    return f"nsys recorded {count} while capturing" + (f": {quoted}" if shown else "")


def is_harmless(text: str) -> bool:
    """Whether a text of nsys is short and has nothing that a path, a variable, a host or an address would have."""
    return len(text) <= _LONGEST_TEXT and not _REVEALING.search(text)
