"""Texts as a file stores them: bytes that need not be UTF-8, and of any length."""

from __future__ import annotations

import hashlib

LONGEST_NAME = 4_096
"""Most characters that are kept of a name: demangled ones are long, but nobody reads on for ever."""


def decode(stored: object) -> str:
    """Return a stored text; what is not UTF-8 in it shows as U+FFFD, and what is no text as nothing."""
    return stored.decode("utf-8", errors="replace") if isinstance(stored, bytes) else ""


def shorten(stored: bytes) -> bytes:
    """Return a name of LONGEST_NAME characters at most; a cut one ends in its length and a digest of the whole."""
    if len(stored) <= LONGEST_NAME:
        return stored
    text = decode(stored)
    if len(text) <= LONGEST_NAME:
        return stored
    digest = hashlib.blake2b(stored, digest_size=8).hexdigest()
    mark = f"… ({len(text):,} characters, {digest})"
    return (text[: LONGEST_NAME - len(mark)] + mark).encode()


def printable(text: str) -> str:
    """Return text that a file chose, fit for a message of one line."""
    return "".join(c if c.isprintable() else "?" for c in text[:200])
