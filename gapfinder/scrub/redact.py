"""Takes out of texts what tells whose machine it was: paths, hosts, users, addresses, tokens.

What is taken out is numbered, one number for one thing: two paths stay two, and their places are still seen.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gapfinder.load.texts import decode, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable


class Revealing(StrEnum):
    """What is taken out of texts; its value stands in its place, with a number."""

    SECRET = "secret"  # noqa: S105 (a word, not one of them)
    MAIL = "mail"
    URL = "url"
    HOST = "host"
    USER = "user"
    PATH = "path"
    ADDRESS = "address"
    IDENTIFIER = "id"
    WORD = "word"
    WARNING = "warning"


_IN_PATH = r"[^\s\"'<>|:;,()\[\]{}*?]"
_FILE_ENDINGS = (
    "py|pyc|so|cu|cuh|cpp|cc|cxx|hpp|h|json|yaml|yml|toml|ini|txt|csv|log|pt|pth|ckpt|bin|safetensors|npz|npy|"
    "parquet|arrow|tar|gz|zst|zip|sh|ipynb|sqlite|nsys-rep"
)
_HEX = "[0-9A-Fa-f]"

# Each starts where a run of its characters starts, so that a long text takes no longer than its length.
_PATTERNS: tuple[tuple[Revealing, str], ...] = (
    (Revealing.URL, r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>]+"),
    # versions of symbols look like addresses: pthread_cond_wait@@GLIBC_2.3.2
    (Revealing.MAIL, r"(?<![\w.+%@-])[\w.+%-]+@(?!GLIBC|CXXABI|plt\b)[\w-]+(?:\.[\w-]+)*"),
    (
        Revealing.SECRET,
        r"(?i:(?<=token=)|(?<=password=)|(?<=passwd=)|(?<=secret=)|(?<=key=))[^\s\"'<>,;&]+",
    ),
    (Revealing.SECRET, r"\b(?:hf|ghp|gho|glpat|sk|xoxb|xoxp)[_-][A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{16}\b"),
    (
        Revealing.HOST,
        r"(?<=host=)[^\s\"'<>,;]+|\bip(?:-[0-9]{1,3}){4}\b",
    ),
    (Revealing.HOST, r"(?<![\w.-])[\w-]+(?:\.[\w-]+)+\.(?:com|org|net|edu|gov|internal|local|lan|corp|cluster)\b"),
    (Revealing.PATH, r"(?<![\w/])[A-Za-z]:\\[^\s\"'<>|]+|\\\\[\w.-]+\\[^\s\"'<>|]+"),
    (Revealing.PATH, rf"(?<![\w/.~<)\]])(?:~\w*|\.{{1,2}})?/{_IN_PATH}+"),
    (Revealing.PATH, rf"/(?:home|Users|root|mnt|scratch|lustre|gpfs|nfs)/{_IN_PATH}+"),
    (Revealing.PATH, rf"(?<![\w./-])[\w.-]+(?:/[\w.-]+)+\.(?:{_FILE_ENDINGS})\b"),
    (Revealing.ADDRESS, r"(?<![\w.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.])"),
    (Revealing.ADDRESS, rf"(?<![\w:]){_HEX}{{2}}(?::{_HEX}{{2}}){{5,7}}(?![\w:])"),
    # three colons at least, for C++ has names such as b2::add
    (
        Revealing.ADDRESS,
        rf"(?<![\w:])(?=(?:{_HEX}*:){{3}})(?=[A-Fa-f:]*\d)(?:{_HEX}{{0,4}}:){{2,7}}{_HEX}{{0,4}}(?![\w:])",
    ),
    (Revealing.IDENTIFIER, rf"(?<!{_HEX}){_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}(?!{_HEX})"),
)
_SHORTEST_WORD = 3
_MOST_KNOWN = 100_000  # texts that are remembered: kernels and ranges repeat theirs
_TELL_NOTHING = frozenset({"root", "localhost", "none", "unknown"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Word:
    """A name that the report itself, or the user, tells to be revealing."""

    text: str
    kind: Revealing


class Redactor:
    """Rewrites texts; keeps in mind what it took out, so that the same thing gets the same number."""

    def __init__(self, words: Iterable[Word] = ()) -> None:
        self._numbers: dict[tuple[Revealing, str], int] = {}
        self._count: Counter[Revealing] = Counter()
        self._known: dict[bytes, str] = {}
        longest_first = sorted(set(words), key=lambda word: (-len(word.text), word.text, word.kind))
        parts = [
            (word.kind, _word_pattern(word))
            for word in longest_first
            if len(word.text) >= _SHORTEST_WORD and word.text.lower() not in _TELL_NOTHING and not word.text.isdigit()
        ]
        parts += _PATTERNS
        self._kinds = [kind for kind, _ in parts]
        self._pattern = re.compile("|".join(f"({pattern})" for _, pattern in parts))

    def text(self, stored: bytes) -> str:
        """Return a stored text without what reveals; a long one is shortened, as `gapfinder.load` does."""
        known = self._known.get(stored)
        if known is None:
            known = self._pattern.sub(self._replacement, decode(shorten(stored)))
            if len(self._known) < _MOST_KNOWN:
                self._known[stored] = known
        return known

    def number(self, kind: Revealing, thing: str) -> str:
        """Return what stands for a thing, such as `<path-2>`."""
        number = self._numbers.get((kind, thing))
        if number is None:
            self._count[kind] += 1
            number = self._numbers[kind, thing] = self._count[kind]
        return f"<{kind}-{number}>"

    def taken_out(self) -> dict[Revealing, int]:
        """Return how many distinct things of each kind were found."""
        return dict(sorted(self._count.items()))

    def _replacement(self, match: re.Match[str]) -> str:
        kind = self._kinds[(match.lastindex or 1) - 1]
        if kind is Revealing.ADDRESS and not _is_address(match[0]):
            return match[0]
        return self.number(kind, match[0].lower() if kind in (Revealing.HOST, Revealing.USER) else match[0])


def _word_pattern(word: Word) -> str:
    inside = rf"(?:/{_IN_PATH}*)?" if word.kind is Revealing.PATH else ""
    return rf"(?<![A-Za-z0-9])(?i:{re.escape(word.text)})(?![A-Za-z0-9]){inside}"


def _is_address(text: str) -> bool:
    """Tell addresses from C++ names such as b2::add::c3; a MAC has 2 digits in each part."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return re.fullmatch(rf"{_HEX}{{2}}(?::{_HEX}{{2}}){{5,7}}", text) is not None
    return True
