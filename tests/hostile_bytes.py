"""Hostile bytes: cut, flipped, packed, of another program, and things that are no files."""

# ruff: noqa: S311 - random inputs, no secrets

from __future__ import annotations

import gzip
import io
import os
import random
import socket
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import zstandard
from hostile_base import LANE, MEASURED, Case, Make, changed, sound_bytes, written

_ANY = frozenset({0, 2, 3})
"""What flipped bytes may end in: a refusal, or a report of other numbers that still add up."""

_CUTS, _HEADER_FLIPS, _PAGE_FLIPS = 30, 40, 80
_ZEROS = 100_000_000


def cases() -> Iterator[Case]:
    """Yield a file for each way."""
    yield from _cut()
    yield from _flipped()
    yield from _other_contents()
    yield from _no_files()
    yield from _beside()
    yield from _layouts()
    yield from _packed()


def _cut() -> Iterator[Case]:
    whole = sound_bytes()
    for seed in range(_CUTS):
        size = random.Random(seed).randrange(1, len(whole))
        yield Case(
            name=f"cut to {size} bytes", make=written(whole[:size]), words="cut off" if size >= 16 else "rank3.sqlite"
        )
    for size in (1, 15, 16, 99, 100, 101, 4_095, 4_096, len(whole) - 1):
        words = "cut off" if size >= 16 else "neither a SQLite database nor" if size == 0 else "rank3.sqlite"
        yield Case(name=f"cut to just {size} bytes", make=written(whole[:size]), words=words)
    yield Case(name="bytes after the end", make=written(whole + b"\0" * 70_000), codes=MEASURED, lane=LANE, lanes=1)


def _flipped() -> Iterator[Case]:
    whole = sound_bytes()
    for seed in range(_HEADER_FLIPS):
        dice = random.Random(seed)
        content = bytearray(whole)
        content[16 + seed * 2 % 84] = dice.randrange(256)
        yield Case(name=f"header flipped {seed}", make=written(bytes(content)), codes=_ANY, is_rest=seed % 6 != 0)
    for seed in range(_PAGE_FLIPS):
        dice = random.Random(1_000 + seed)
        content = bytearray(whole)
        for _ in range(dice.choice((1, 4, 40))):
            page = dice.randrange(len(whole) // 4_096)
            content[page * 4_096 + dice.randrange(dice.choice((12, 120, 4_096)))] ^= 1 << dice.randrange(8)
        yield Case(name=f"pages flipped {seed}", make=written(bytes(content)), codes=_ANY, is_rest=seed % 6 != 0)
    for place, told in ((16, "page size"), (20, "reserved bytes"), (28, "pages"), (56, "encoding"), (44, "format")):
        for value in (0, 255):
            content = bytearray(whole)
            content[place : place + 4] = bytes([value] * 4)
            yield Case(name=f"{told} of {value}", make=written(bytes(content)), codes=_ANY)


def _other_contents() -> Iterator[Case]:
    text = b"start,end\n1,2\n"
    known = {
        "an empty file": (b"", "is empty"),
        "a text file": (text, "is a text file"),
        "a Git LFS pointer": (b"version https://git-lfs.github.com/spec/v1\nsize 5\n", "git lfs pull"),
        "an encrypted database": (random.Random(7).randbytes(8_192), "neither a SQLite database nor"),
        "a zip archive": (_zip(sound_bytes()), "neither a SQLite database nor"),
        "a page of the web": (b"<!doctype html><script>alert(1)</script>", "is a text file"),
        "control characters": (b"\x1b[2J\x1b]0;owned\x07" * 20, "neither a SQLite database nor"),
        "only the magic": (b"SQLite format 3\0", "cut off"),
        "zeros": (bytes(70_000), "neither a SQLite database nor"),
    }
    for what, (content, words) in known.items():
        yield Case(name=what, make=written(content), words=words)
    yield Case(name="a database of another program", make=_other_program, words="none of the tables")
    yield Case(
        name="a name that drives the terminal", make=written(text, name="\x1b]0;a\x07\n.sqlite"), words="text file"
    )
    yield Case(name="a name that is no text", make=_undecodable_name, words="text file")
    for suffix in (".nsys-rep", ".qdrep"):
        yield Case(
            name=f"noise named {suffix}",
            make=written(random.Random(1).randbytes(5_000), name=f"rank3{suffix}"),
            codes=frozenset({4}),
            words=f"rank3{suffix}",
        )
        cut = b"NVIDIA Tegra Profiler Report" + random.Random(2).randbytes(3_000)
        yield Case(
            name=f"half of a {suffix}", make=written(cut, name=f"rank3{suffix}"), codes=frozenset({4}), words=suffix
        )
    yield Case(name="an empty .nsys-rep", make=written(b"", name="rank3.nsys-rep"), words="is empty")


def _zip(content: bytes) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("rank3.sqlite", content)
    return packed.getvalue()


def _other_program(folder: Path) -> Path:
    path = folder / "rank3.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT)")
        database.commit()
    return path


def _undecodable_name(folder: Path) -> Path:
    path = folder / os.fsdecode(b"rank\xff3.sqlite")
    path.write_bytes(b"text\n")
    return path


def _no_files() -> Iterator[Case]:
    irregular = {
        "a fifo": os.mkfifo,
        "a fifo named as a report": lambda path: os.mkfifo(path.with_suffix(".nsys-rep")),
        "a socket": _socket,
    }
    for what, make in irregular.items():
        yield Case(name=what, make=_put(make), words="not a regular file")
    yield Case(name="a loop of links", make=_put(lambda path: path.symlink_to(path)), words="rank3.sqlite")
    yield Case(name="a link to nothing", make=_put(lambda path: path.symlink_to("nowhere")), words="no such file")
    yield Case(name="an endless device", make=lambda _: Path("/dev/zero"), words="not a regular file")
    yield Case(
        name="a link to a device", make=_put(lambda path: path.symlink_to("/dev/zero")), words="not a regular file"
    )
    yield Case(name="a folder without profiles", make=_put(Path.mkdir), words="no profiles in the folder")
    yield Case(name="nothing", make=lambda folder: folder / "rank3.sqlite", words="no such file")
    yield Case(
        name="a file as a folder",
        make=_put(lambda path: path.write_bytes(b"x"), name="rank3.sqlite/x"),
        words="no such",
    )
    yield Case(name="a file that nobody may read", make=_unreadable, codes=frozenset({0, 2}))


def _put(make: Callable[[Path], object], *, name: str = "") -> Make:
    def put(folder: Path) -> Path:
        make(folder / "rank3.sqlite")
        return folder / name if name else next(folder.iterdir())

    return put


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path may not be long
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def _unreadable(folder: Path) -> Path:
    path = written(sound_bytes())(folder)
    path.chmod(0)
    return path


def _beside() -> Iterator[Case]:
    for suffix in ("-wal", "-journal"):
        for what, content in {"pending": sound_bytes()[:5_000], "noise": b"\xd9\xd5\x05\xf9" + os.urandom(99)}.items():
            yield Case(
                name=f"{what} in rank3.sqlite{suffix}",
                make=_with(suffix, content),
                words=f"rank3.sqlite{suffix} lies beside it",
            )
        yield Case(name=f"an empty {suffix}", make=_with(suffix, b""), codes=MEASURED, lane=LANE, lanes=1)
    yield Case(
        name="a super-journal's name in a hot journal", make=_with("-journal", b"\xd9" * 600), words="lies beside it"
    )
    yield Case(
        name="written with a log", make=changed("PRAGMA journal_mode = WAL", "SELECT 1"), codes=MEASURED, lane=LANE
    )


def _with(suffix: str, content: bytes) -> Make:
    def make(folder: Path) -> Path:
        path = written(sound_bytes())(folder)
        path.with_name(path.name + suffix).write_bytes(content)
        return path

    return make


def _layouts() -> Iterator[Case]:
    """Databases that are laid out in another way than nsys does, with the same rows."""
    pragmas = [f"page_size = {1 << power}" for power in range(9, 17)]
    pragmas += ["auto_vacuum = FULL", "auto_vacuum = INCREMENTAL"]
    for pragma in pragmas:
        yield Case(
            name=f"laid out with {pragma}",
            make=changed(f"PRAGMA {pragma}", "VACUUM"),
            codes=MEASURED,
            lane=LANE,
            lanes=1,
        )
    for encoding in ("UTF-16le", "UTF-16be"):
        yield Case(name=f"texts in {encoding}", make=_encoded(encoding), codes=MEASURED, lane=LANE, lanes=1)


def _encoded(encoding: str) -> Make:
    def make(folder: Path) -> Path:
        source, path = written(sound_bytes(), name="source")(folder), folder / "rank3.sqlite"
        with closing(sqlite3.connect(path)) as database:
            database.execute(f"PRAGMA encoding = '{encoding}'")
            with closing(sqlite3.connect(source)) as old:
                for name, sql in old.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
                    database.execute(sql)
                    rows = old.execute(f"SELECT * FROM {name} ORDER BY rowid").fetchall()
                    if rows:
                        database.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
            database.commit()
        source.unlink()
        return path

    return make


def _packed() -> Iterator[Case]:
    whole = sound_bytes()
    packers = {"gz": gzip.compress, "zst": zstandard.compress}
    for suffix, pack in packers.items():
        name = f"rank3.sqlite.{suffix}"
        packed = pack(whole)
        yield Case(name=f"packed as {suffix}", make=written(packed, name=name), codes=MEASURED, lane=LANE, lanes=1)
        for part in (0.1, 0.5, 0.99):
            cut = packed[: int(len(packed) * part)]
            yield Case(name=f"{part:.0%} of a {suffix}", make=written(cut, name=name), words="be unpacked")
        yield Case(name=f"{suffix} in a {suffix}", make=written(pack(packed), name=name), words=name)
        yield Case(name=f"text in a {suffix}", make=written(pack(b"text\n"), name=name), words="is a text file")
        yield Case(
            name=f"nothing in a {suffix}", make=written(pack(b""), name=name), words="it is empty, damaged or cut off"
        )
        yield Case(
            name=f"noise after a {suffix}", make=written(packed + os.urandom(999), name=name), codes=frozenset({0, 2})
        )
        yield Case(name=f"10 GB of zeros in a {suffix}", make=_bomb(suffix, b""), words=name)
        small = _header(2_000_000)
        yield Case(name=f"a {suffix} of more than it tells", make=_bomb(suffix, small), words="unpacks to more than")
        large = _header(10_000_000_000)
        yield Case(name=f"a {suffix} that unpacks a thousandfold", make=_bomb(suffix, large), words="times its size")
        past = _header(1 << 38)
        yield Case(name=f"a {suffix} of 256 GB", make=_bomb(suffix, past), words="more than the limit")
    content = bytearray(zstandard.compress(bytes(100_000)))
    content[4:6] = b"\xff\xff"
    yield Case(
        name="a zst with a huge window", make=written(bytes(content), name="rank3.sqlite.zst"), words="rank3.sqlite.zst"
    )


def _header(size: int) -> bytes:
    """Return a database's first page that tells it has so many bytes."""
    page = bytearray(sound_bytes()[:4_096])
    page[28:32] = (size // 4_096).to_bytes(4, "big")
    page[24:28] = page[92:96]
    return bytes(page)


def _bomb(suffix: str, start: bytes) -> Make:
    def make(folder: Path) -> Path:
        pack, zeros = (gzip.compress, _zeros_gz) if suffix == "gz" else (zstandard.compress, _zeros_zst)
        path = folder / f"rank3.sqlite.{suffix}"
        path.write_bytes((pack(start) if start else b"") + zeros() * (10_000_000_000 // _ZEROS))
        return path

    return make


@cache
def _zeros_gz() -> bytes:
    return gzip.compress(bytes(_ZEROS), 1)


@cache
def _zeros_zst() -> bytes:
    return zstandard.compress(bytes(_ZEROS))
