"""Documents as tests read them: sentences, wherever their lines break, and the numbers that they spell."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SPELLED = dict(
    enumerate(
        ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
    )
)
"""Numbers as documents write them out."""


def words(name: str) -> str:
    """A document with single spaces, so that a sentence is found wherever its lines break."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def telling(told: list[tuple[str, str]]) -> pytest.MarkDecorator:
    """One test for each document and the sentence that must be in it, as `name` and `sentence`."""
    ids = [f"{name}-{place}" for place, (name, _) in enumerate(told)]
    return pytest.mark.parametrize(("name", "sentence"), told, ids=ids)
