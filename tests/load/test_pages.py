"""The page reader against SQLite itself: the same numbers, or a refusal."""

# ruff: noqa: S311 - random inputs, no secrets

from __future__ import annotations

import random
import sqlite3
import string
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gapfinder.errors import InputError
from gapfinder.load import pages
from gapfinder.load.btree import DamagedError, PageFile, UnsupportedError
from gapfinder.load.checks import check_database
from gapfinder.load.database import Database
from gapfinder.load.limits import Limits
from gapfinder.load.pages import IntegerColumn, read_integers
from gapfinder.load.schema import KERNEL

if TYPE_CHECKING:
    from pathlib import Path

NULL = -424_242
WIDTHS = (0, 1, 7, 8, 15, 16, 23, 24, 31, 32, 47, 48, 62, 63)
PAGE_SIZES = (512, 1024, 4096, 8192, 65536)
on_files = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


@dataclass(frozen=True)
class Shape:
    """A table to be made: the kind of each column, and what is unusual about it."""

    kinds: tuple[str, ...]
    rows: int
    page_size: int
    auto_vacuum: int
    deletes: bool
    added_column: bool
    seed: int


shapes = st.builds(
    Shape,
    kinds=st.lists(st.sampled_from(("small", "any", "nulls", "text", "long", "real")), min_size=1, max_size=9).map(
        tuple
    ),
    rows=st.sampled_from((0, 1, 2, 40, 900)),
    page_size=st.sampled_from(PAGE_SIZES),
    auto_vacuum=st.sampled_from((0, 0, 1, 2)),
    deletes=st.booleans(),
    added_column=st.booleans(),
    seed=st.integers(0, 2**32),
)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many batches, so that records end where a batch does."""
    monkeypatch.setattr(pages, "_BATCH_BYTES", 2048)


def value(kind: str, rng: random.Random) -> object:
    whole = rng.choice((-1, 1)) * (rng.getrandbits(rng.choice(WIDTHS)))
    if kind == "small":
        return rng.randrange(200)
    if kind == "nulls":
        return None if rng.random() < 0.3 else whole
    if kind == "text":
        return rng.choice((None, "", "".join(rng.choices(string.printable, k=rng.randrange(90))), 7))
    if kind == "long":
        return "x" * rng.choice((10, 57, 58, 120, 440, 450, 3000, 9000))
    return rng.random() if kind == "real" else whole


def make_table(path: Path, shape: Shape) -> list[int]:
    """Write the table and return the places of its integer columns."""
    rng = random.Random(shape.seed)
    types = {"text": "TEXT", "long": "TEXT", "real": "REAL"}
    declared = [f"c{k} {types.get(kind, 'INTEGER')}" for k, kind in enumerate(shape.kinds)]
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA page_size = {shape.page_size}")
        db.execute(f"PRAGMA auto_vacuum = {shape.auto_vacuum}")
        db.execute(f'CREATE TABLE "{KERNEL}" ({", ".join(declared)})')
        rows = [[value(kind, rng) for kind in shape.kinds] for _ in range(shape.rows)]
        db.executemany(f'INSERT INTO "{KERNEL}" VALUES ({",".join("?" * len(shape.kinds))})', rows)
        if shape.deletes:
            db.execute(f'DELETE FROM "{KERNEL}" WHERE rowid % 3 = 1 OR rowid BETWEEN 100 AND 600')
        if shape.added_column:
            db.execute(f'ALTER TABLE "{KERNEL}" ADD COLUMN added INTEGER DEFAULT 5')
            db.execute(f'INSERT INTO "{KERNEL}" (added) VALUES (6)')
        db.commit()
    integers = [k for k, kind in enumerate(shape.kinds) if kind in ("small", "any", "nulls")]
    return [*integers, len(shape.kinds)] if shape.added_column else integers


def layout(path: Path) -> tuple[PageFile, int]:
    with closing(sqlite3.connect(path)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (KERNEL,)).fetchone()
    return check_database(path, limits=Limits()), root


def asked_of_sqlite(path: Path, columns: list[str]) -> list[list[object]]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        db.execute("PRAGMA cell_size_check = ON")
        db.text_factory = bytes
        rows = db.execute(f'SELECT {", ".join(columns)} FROM "{KERNEL}" NOT INDEXED').fetchall()
    return [[NULL if row[k] is None else row[k] for row in rows] for k in range(len(columns))]


@on_files
@given(shape=shapes)
def test_any_table_reads_as_sqlite_reads_it_or_is_refused(tmp_path: Path, shape: Shape) -> None:
    path = tmp_path / "any.sqlite"
    integers = make_table(path, shape)
    if not integers:
        return
    expected = asked_of_sqlite(path, ["added" if k == len(shape.kinds) else f"c{k}" for k in integers])
    file, root = layout(path)
    read = None
    with suppress(UnsupportedError):
        read = read_integers(file, root=root, columns=[IntegerColumn(index=k, null=NULL) for k in integers])
    if read is None:
        assert shape.added_column or "long" in shape.kinds, "a plain table must not be refused"
    else:
        assert [column.tolist() for column in read] == expected


@on_files
@given(shape=shapes)
def test_the_database_reads_what_the_page_reader_refuses(tmp_path: Path, shape: Shape) -> None:
    path = tmp_path / "any.sqlite"
    names = ["added" if k == len(shape.kinds) else f"c{k}" for k in make_table(path, shape)]
    if not names:
        return
    with Database(check_database(path, limits=Limits()), name="any.sqlite", limits=Limits()) as database:
        read = database.integers(KERNEL, dict.fromkeys(names, NULL))
    assert [read[name].tolist() for name in names] == asked_of_sqlite(path, names)


@pytest.mark.parametrize("page_size", PAGE_SIZES)
def test_a_plain_table_of_every_page_size_is_read_from_its_pages(tmp_path: Path, page_size: int) -> None:
    path = tmp_path / "plain.sqlite"
    shape = Shape(("any", "small", "text", "nulls"), 3000, page_size, 0, deletes=False, added_column=False, seed=1)
    make_table(path, shape)
    file, root = layout(path)
    read = read_integers(file, root=root, columns=[IntegerColumn(index=k, null=NULL) for k in (3, 0)])
    assert [column.tolist() for column in read] == asked_of_sqlite(path, ["c3", "c0"])


def test_only_what_lies_behind_the_wanted_columns_may_overflow(tmp_path: Path) -> None:
    path = tmp_path / "overflow.sqlite"
    make_table(path, Shape(("any", "long", "any"), 40, 512, 0, deletes=False, added_column=False, seed=5))
    file, root = layout(path)
    (read,) = read_integers(file, root=root, columns=[IntegerColumn(index=0, null=NULL)])
    assert [read.tolist()] == asked_of_sqlite(path, ["c0"])
    with pytest.raises(UnsupportedError, match=r"outside its page|shorter than"):
        read_integers(file, root=root, columns=[IntegerColumn(index=2, null=NULL)])


def test_a_record_that_leaves_its_page_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "long.sqlite"
    make_table(path, Shape(("any", "any"), 2, 512, 0, deletes=False, added_column=False, seed=5))
    file, root = layout(path)
    content = bytearray(path.read_bytes())
    page = (root - 1) * 512
    first_cell = page + int.from_bytes(content[page + 8 : page + 10], "big")
    content[first_cell] += 1
    path.write_bytes(content)
    with pytest.raises(UnsupportedError, match="a record outside its page"):
        read_integers(file, root=root, columns=[IntegerColumn(index=0, null=NULL)])


@settings(on_files, max_examples=150)
@given(seed=st.integers(0, 2**32), flips=st.integers(1, 8), in_tree=st.booleans())
def test_flipped_bytes_never_change_what_sqlite_still_reads(
    tmp_path: Path, seed: int, flips: int, *, in_tree: bool
) -> None:
    rng = random.Random(seed)
    path = tmp_path / "flipped.sqlite"
    shape = Shape(("any", "small", "text", "any"), 900, 512, 0, deletes=False, added_column=False, seed=seed % 7)
    make_table(path, shape)
    file, root = layout(path)
    content = bytearray(path.read_bytes())
    for _ in range(flips):
        page = root - 1 if in_tree and rng.random() < 0.5 else rng.randrange(1, len(content) // 512)
        content[page * 512 + rng.randrange(512 if rng.random() < 0.5 else 14)] = rng.randrange(256)
    path.write_bytes(content)
    try:
        with Database(file, name="flipped.sqlite", limits=Limits(deadline_s=5)) as database:
            read = database.integers(KERNEL, dict.fromkeys(("c0", "c1", "c3"), NULL))
    except InputError:
        return
    try:
        expected = asked_of_sqlite(path, ["c0", "c1", "c3"])
    except sqlite3.Error:
        return
    assert [read[name].tolist() for name in ("c0", "c1", "c3")] == expected


def put_u32(path: Path, at: int, number: int) -> None:
    with path.open("r+b") as stream:
        stream.seek(at)
        stream.write(number.to_bytes(4, "big"))


def test_p93_a_tree_that_contains_itself_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "loop.sqlite"
    make_table(path, Shape(("any",), 900, 512, 0, deletes=False, added_column=False, seed=3))
    file, root = layout(path)
    put_u32(path, (root - 1) * 512 + 8, root)
    with pytest.raises(DamagedError, match="in two places"):
        read_integers(file, root=root, columns=[IntegerColumn(index=0, null=NULL)])
    with (
        Database(file, name="loop.sqlite", limits=Limits()) as database,
        pytest.raises(InputError, match=r"loop.sqlite: CUPTI_ACTIVITY_KIND_KERNEL is damaged: a page is in two places"),
    ):
        database.integers(KERNEL, {"c0": NULL})


def test_p93_text_rows_beyond_what_the_file_can_hold_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "shared.sqlite"
    make_table(path, Shape(("text",) * 2, 900, 512, 0, deletes=False, added_column=False, seed=3))
    file, root = layout(path)
    content = path.read_bytes()
    page = content[(root - 1) * 512 : root * 512]
    first_leaf = int.from_bytes(page[int.from_bytes(page[12:14], "big") :][:4], "big")
    leaf = content[(first_leaf - 1) * 512 : first_leaf * 512]
    interior = bytearray(512)
    interior[0] = 5
    cells = range(12 + 2 * 60, 12 + 2 * 60 + 6 * 60, 6)
    interior[3:5] = len(cells).to_bytes(2, "big")
    interior[5:7] = cells[0].to_bytes(2, "big")
    for level in range(3):
        number = root if level == 0 else file.pages + level
        child = first_leaf if level == 2 else file.pages + level + 1
        for k, cell in enumerate(cells):
            interior[12 + 2 * k : 14 + 2 * k] = cell.to_bytes(2, "big")
            interior[cell : cell + 6] = child.to_bytes(4, "big") + b"\x01\x00"
        interior[8:12] = child.to_bytes(4, "big")
        content = content[: (number - 1) * 512] + bytes(interior) + content[number * 512 :]
    assert leaf[0] == 13
    path.write_bytes(content)
    whole = PageFile(path=path, page_size=512, usable=512, pages=file.pages + 2)
    with pytest.raises(DamagedError, match="in two places"):
        read_integers(whole, root=root, columns=[IntegerColumn(index=0, null=NULL)])
    path.write_bytes(content[:28] + (file.pages + 2).to_bytes(4, "big") + content[32:])
    with (
        Database(check_database(path, limits=Limits()), name="shared.sqlite", limits=Limits()) as database,
        pytest.raises(InputError, match="more rows than the file has room for"),
    ):
        database.texts(KERNEL, "c0")
