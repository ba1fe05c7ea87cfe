"""Lays out JSON so that people and programs read it: one line for what holds only plain values."""

from __future__ import annotations

import json
import re
from functools import cache

# Names from a report may hold what no encoder takes (unpaired surrogates), what drives a terminal (C1, directions), and
# what nobody sees; joiners stay, as signs are made of them.
_UNSAFE = re.compile(
    "[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f\ud800-\udfff]"
)

_NESTED = frozenset({dict, list})

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def encode(document: dict[str, object]) -> str:
    """Return `document` as JSON that no terminal and no reader stumbles over."""
    text = _laid_out(document, indent="") + "\n"
    return _UNSAFE.sub(lambda match: json.dumps(match[0])[1:-1], text)


def _laid_out(value: object, *, indent: str) -> str:
    """Return `value` as JSON: what holds only plain values on one line, everything else on a line for each member.

    A step or a hole reads best on one line, and long lists of them are written by the fast encoder.
    """
    if type(value) is int:  # most of what a long report holds; the encoder takes many times as long
        return str(value)
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if _NESTED.isdisjoint(map(type, members)):
        return _ENCODE(value)
    inner = indent + "  "
    if isinstance(value, dict):
        lines = [_name(name) + _laid_out(member, indent=inner) for name, member in value.items()]
        opening, closing = "{", "}"
    else:
        lines = [_laid_out(member, indent=inner) for member in members]
        opening, closing = "[", "]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}{closing}"


@cache
def _name(name: str) -> str:
    """Return what stands before a value; there are few names, and each is written very often."""
    return f"{_ENCODE(name)}: "
