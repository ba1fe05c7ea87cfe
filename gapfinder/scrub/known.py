"""Finds out what the report itself tells of its machine: host, user and home, and values that are secrets.

This is the one place that reads the captured environment, to know what must not be in the copy.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from gapfinder.load.schema import METADATA
from gapfinder.load.texts import decode
from gapfinder.scrub.redact import Revealing, Word

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.load.database import Database

ENVIRONMENT = ("TARGET_INFO_SYSTEM_ENV", "META_DATA_CAPTURE")
"""The tables with the environment of the captured program; they are read here, and never copied."""

_HOST_KEYS = frozenset({"HOSTNAME", "HOST", "EXPORT_HOST", "SLURMD_NODENAME", "SLURM_SUBMIT_HOST", "COMPUTERNAME"})
_USER_KEYS = frozenset({"USER", "LOGNAME", "USERNAME", "EXPORT_USER", "SUDO_USER", "SLURM_JOB_USER"})
_HOME_KEYS = frozenset({"HOME", "USERPROFILE"})
_SECRET_KEY = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE", re.IGNORECASE)
_SHORTEST_SECRET, _LONGEST_WORD, _MOST_WORDS = 6, 256, 64
_VARIABLE = re.compile(r"(?<!\w)(\w+)=([^\0\n]*)")  # tried once for each word, or a long one takes for ever


def known_words(database: Database) -> set[Word]:
    """Return what the report tells to be host, user, home or secret; at most 64 words."""
    words: set[Word] = set()
    for key, value in _told(database):
        if len(words) >= _MOST_WORDS:
            break
        if not value or len(value) > _LONGEST_WORD:
            continue
        name = key.upper()
        if name in _HOST_KEYS:
            words.update(Word(text=host, kind=Revealing.HOST) for host in {value, value.partition(".")[0]})
        elif name in _USER_KEYS:
            words.add(Word(text=value, kind=Revealing.USER))
        elif name in _HOME_KEYS:
            words.add(Word(text=value.rstrip("/"), kind=Revealing.PATH))
            words.add(Word(text=PurePosixPath(value.replace("\\", "/")).name, kind=Revealing.USER))
        elif _SECRET_KEY.search(name) and len(value) >= _SHORTEST_SECRET:
            words.add(Word(text=value, kind=Revealing.SECRET))
    return words


def _told(database: Database) -> Iterator[tuple[str, str]]:
    """Yield names and values: of the export's metadata, of the machine, and of each environment variable in them."""
    for table in (*METADATA, *ENVIRONMENT):
        if not (database.has_column(table, "name") and database.has_column(table, "value")):
            continue
        for row in database.rows(table, (), ("name", "value")):
            name, value = map(decode, row)
            yield name.rpartition(":")[2], value
            for variable in _VARIABLE.finditer(value):
                yield variable[1], variable[2]
