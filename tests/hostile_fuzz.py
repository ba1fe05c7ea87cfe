"""Loads mutated reports until told to stop, and keeps each that ends in anything but a report or an error of ours.

    cd tests && python -m hostile_fuzz --minutes 10 --keep FOLDER

Bytes are mutated, and rows: one seed is one file, the same on every machine. What it finds belongs into the corpus.
"""

# ruff: noqa: S311, T201 - random inputs, no secrets; a script, which prints

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import closing
from pathlib import Path

from hostile_base import sound_bytes
from random_reports import random_report

from gapfinder.analysis import join_reports, kept_whole, measure_parts, measure_report
from gapfinder.errors import GapfinderError
from gapfinder.load import Limits, load_profile, open_large
from gapfinder.settings import Settings

_LONGEST_S = 10
_LIMITS = Limits(deadline_s=5)
_SETTINGS = Settings()
_NUMBERS = (
    0,
    -1,
    1,
    2**31,
    -(2**31),
    2**48,
    2**61,
    2**61 + 1,
    2**63 - 1,
    -(2**63),
    1.5,
    None,
    "x",
    b"\xff\x00",
    "9" * 50,
)


class _TooLongError(Exception):
    """A file took longer than any of its size should."""


def mutated_bytes(content: bytes, dice: random.Random) -> bytes:
    """Return a database of which some bytes, pages or lengths are others."""
    size, changed = len(content), bytearray(content)
    page = 1 << dice.choice((9, 12))
    for _ in range(dice.choice((1, 1, 2, 5, 30))):
        start = dice.randrange(size // page) * page
        at = start + dice.randrange(dice.choice((12, 120, page)))
        match dice.randrange(6):
            case 0 | 1:
                changed[at % size] = dice.randrange(256)
            case 2:
                changed[at % size] ^= 1 << dice.randrange(8)
            case 3:
                other = dice.randrange(size // page) * page
                changed[start : start + page] = changed[other : other + page]
            case 4:
                changed[at : at + 4] = dice.choice((0, 1, 2, 5, 255, 2**31 - 1, 2**32 - 1)).to_bytes(4, "big")
            case 5:
                length = dice.randrange(1, 40)
                changed[at : at + length] = dice.randbytes(length)
    return bytes(changed[:size] if dice.random() < 0.95 else changed[: dice.randrange(1, size)])


def mutate_rows(path: Path, dice: random.Random) -> None:
    """Write hostile values into a sound database, and other tables in place of its own."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for _ in range(dice.choice((1, 1, 2, 4, 12))):
            table = dice.choice(tables)
            column = dice.choice([row[1] for row in database.execute(f'PRAGMA table_info("{table}")')] or ["rowid"])
            value = dice.choice((*_NUMBERS, dice.randrange(20_000_000), dice.randbytes(dice.randrange(60))))
            part = dice.choice(("", " WHERE rowid = 1", " WHERE rowid % 2", " WHERE rowid % 7 = 3"))
            statements = (
                (f'UPDATE "{table}" SET "{column}" = ?{part}', (value,)),
                (f'UPDATE "{table}" SET "{column}" = "{column}" * ?{part}', (dice.choice((-1, 2, 2**40)),)),
                (f'INSERT INTO "{table}" SELECT * FROM "{table}"', ()),
                (f'DELETE FROM "{table}"{part}', ()),
                (
                    f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "{dice.choice(("other", "start", "end", "text"))}"',
                    (),
                ),
            )
            try:
                database.execute(*dice.choice(statements[:2] * 3 + statements))
            except (sqlite3.Error, OverflowError):
                continue
        database.commit()


def load(path: Path) -> None:
    """Load all of a report, then measure it; and open it as one that is read in parts."""
    profile = load_profile(path, limits=_LIMITS)
    for read in ("read_calls", "read_os_calls", "read_overheads", "read_clocks", "read_payloads"):
        getattr(profile, read)()
    whole = measure_report(profile, settings=_SETTINGS)
    join_reports([whole], settings=_SETTINGS)
    large = open_large(path, whole=kept_whole(_SETTINGS), limits=_LIMITS)
    if large is not None:
        measure_parts(large, settings=_SETTINGS, times=large.boundaries(64)[:4])


def fuzz(*, minutes: float, first: int, keep: Path) -> Counter[str]:
    """Work through seeds; return how often each end was met."""
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        sources = [sound_bytes()]
        sources += [random_report(Path(name) / f"{seed}.sqlite", seed=seed).read_bytes() for seed in range(3)]
        path = Path(name) / "rank3.sqlite"
        until, seed = time.monotonic() + 60 * minutes, first
        while time.monotonic() < until:
            dice = random.Random(seed)
            content = dice.choice(sources)
            by_rows = dice.random() < 0.5
            path.write_bytes(content if by_rows else mutated_bytes(content, dice))
            if by_rows:
                mutate_rows(path, dice)
            end = _ended(path)
            ends[end if end in ("measured", "refused") else "found"] += 1
            if end not in ("measured", "refused"):
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{seed}.sqlite").write_bytes(path.read_bytes())
                (keep / f"{seed}.txt").write_text(end)
                print(f"seed {seed}: {end.splitlines()[-1][:200]}", flush=True)
            seed += 1
            if seed % 1_000 == 0:
                print(f"{seed - first:,} files: {dict(ends)}", flush=True)
    return ends


def _ended(path: Path) -> str:
    signal.setitimer(signal.ITIMER_PROF, _LONGEST_S)
    try:
        load(path)
    except GapfinderError as error:
        is_line = path.name in str(error) and "\n" not in str(error)
        return "refused" if is_line else f"the message is no line about the file: {error}"
    except (Exception, _TooLongError):  # noqa: BLE001 (whatever it is, it is a finding)
        return traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return "measured"


def _too_long(number: int, frame: object) -> None:
    raise _TooLongError


def main() -> None:
    """Read the options, and say how it went."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--first", type=int, default=0, help="the first seed")
    options.add_argument("--keep", type=Path, default=Path("found"), help="where files that were found go")
    told = options.parse_args()
    signal.signal(signal.SIGPROF, _too_long)
    os.nice(19)
    ends = fuzz(minutes=told.minutes, first=told.first, keep=told.keep)
    print(f"{ends.total():,} files: {dict(ends)}")
    sys.exit(1 if ends["found"] else 0)


if __name__ == "__main__":
    main()
