"""Files that are broken, unfinished, mistaken or hostile: one clear sentence each, quickly, and nothing is written."""

# ruff: noqa: S311 - random inputs, no secrets

from __future__ import annotations

import gzip
import os
import random
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import zstandard
from databases import Call, Kernel, Range, nsys_database, write_database

from gapfinder.errors import InputError
from gapfinder.load import Limits, load_profile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
COLUMNS = "start INTEGER, end INTEGER, deviceId INTEGER, globalPid INTEGER, demangledName INTEGER"
ENDLESS = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x AS start, x AS end FROM r"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rank3.sqlite"


def refusal(path: Path, limits: Limits | None = None) -> str:
    """The message that a file is refused with; it is one line and names the file."""
    with pytest.raises(InputError) as caught:
        load_profile(path, limits=limits or Limits()).read_calls()
    message = str(caught.value)
    assert "\n" not in message
    assert path.name in message
    return message


def database_of(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()
    return path


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "git lfs pull"),
        (b"start,end\n1,2\n", "is a text file"),
        (bytes(range(256)), "neither a SQLite database nor an nsys report"),
        (b"SQLite format 3\0 cut", "cut off after 20 bytes"),
        (b"SQLite format 3\0" + bytes(200), "header is damaged"),
        (b"SQLite format 3\0\x10\x00\x01\x01" + os.urandom(8180), "rank3.sqlite"),
        (b"\x1f\x8b damaged", "cannot be unpacked"),
        (b"\x28\xb5\x2f\xfd damaged", "cannot be unpacked"),
        (gzip.compress(b"SQLite format 3\0" + bytes(200), mtime=0)[:-9], "cannot be unpacked"),
        (gzip.compress(b"not a database", mtime=0), "is a text file"),
    ],
)
def test_files_that_are_no_database(path: Path, content: bytes, said: str) -> None:
    path.write_bytes(content)
    assert said in refusal(path)


def test_things_that_are_no_file(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "missing.sqlite")
    assert "is a folder" in refusal(tmp_path)
    os.mkfifo(tmp_path / "pipe.sqlite")
    assert "not a regular file" in refusal(tmp_path / "pipe.sqlite")


def test_a_cut_file_tells_both_sizes(path: Path) -> None:
    nsys_database(path, kernels=[Kernel(start=k, end=k + 1) for k in range(900)])
    whole = path.stat().st_size
    os.truncate(path, whole - 4096)
    assert refusal(path) == f"rank3.sqlite: is cut off: {whole - 4096:,} bytes of {whole:,}; copy or export it again"


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_an_unfinished_export_is_refused_and_an_empty_companion_is_not(path: Path, suffix: str) -> None:
    nsys_database(path, kernels=[Kernel(start=0, end=1)])
    companion = path.with_name(path.name + suffix)
    companion.touch()
    assert len(load_profile(path).kernels) == 1
    companion.write_bytes(b"1")
    assert "interrupted or is still open elsewhere" in refusal(path)


def test_other_databases_are_refused(path: Path) -> None:
    write_database(path, {"users": (("id",), [(1,)])})
    assert "none of the tables of an nsys export" in refusal(path)


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        ([f"CREATE VIEW {KERNEL} AS {ENDLESS}"], f"{KERNEL} is not an ordinary table but of the kind view"),
        ([f"CREATE TABLE {KERNEL} ({COLUMNS}, PRIMARY KEY (start)) WITHOUT ROWID"], "WITHOUT ROWID"),
        ([f"CREATE TABLE {KERNEL} ({COLUMNS}, g INTEGER AS (start + 1))"], "generated column"),
        ([f"CREATE TABLE {KERNEL} ({COLUMNS}, g INTEGER AS (start + 1) STORED)"], "generated column"),
        (
            [f"CREATE TABLE {KERNEL} ({COLUMNS})", f"CREATE TRIGGER t AFTER INSERT ON {KERNEL} BEGIN SELECT 1; END"],
            "has a trigger",
        ),
        ([f"CREATE VIRTUAL TABLE {KERNEL} USING fts5(start, end)"], "kind virtual table"),
        ([f"CREATE TABLE {KERNEL} (begin INTEGER)", f"INSERT INTO {KERNEL} VALUES (1)"], "has no column start"),
        (
            ["CREATE TABLE t (a)", f"CREATE INDEX {KERNEL} ON t (a)"],
            f"{KERNEL} is not an ordinary table but of the kind index",
        ),
    ],
)
def test_p93_only_ordinary_tables_are_read(path: Path, statements: list[str], said: str) -> None:
    began = time.monotonic()
    assert said in refusal(database_of(path, *statements))
    assert time.monotonic() - began < 5


def test_p93_work_without_end_stops_at_the_deadline(path: Path) -> None:
    nsys_database(path, kernels=[Kernel(start=k, end=k + 1, name=f"k{k}") for k in range(3000)])
    assert "not read within 0 s" in refusal(path, Limits(deadline_s=0))


def test_p93_a_large_file_is_refused_by_size(tmp_path: Path) -> None:
    path = nsys_database(tmp_path / "rank3.sqlite", kernels=[Kernel(start=0, end=1)])
    size = path.stat().st_size
    assert "more than the limit" in refusal(path, Limits(max_bytes=size - 1))
    packed = tmp_path / "rank3.sqlite.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert "unpacks to more than the limit" in refusal(packed, Limits(max_bytes=size - 1))
    assert len(load_profile(packed, limits=Limits(max_bytes=size)).kernels) == 1


@pytest.mark.parametrize(
    ("value", "kind"), [("'abc'", "text"), ("x'00'", "blob"), ("1.5", "real"), ("9223372036854775808", "real")]
)
def test_p94_a_value_of_another_type_is_named(path: Path, value: str, kind: str) -> None:
    database_of(path, f"CREATE TABLE {KERNEL} ({COLUMNS})", f"INSERT INTO {KERNEL} VALUES ({value}, 2, 0, 0, 0)")
    assert refusal(path) == (
        f"rank3.sqlite: {KERNEL} row 1: start is {kind}, expected an integer; export the report again"
    )


def test_p94_the_row_and_table_are_named(path: Path) -> None:
    nsys_database(
        path, calls=[Call(start=k, end=k, correlation=k) for k in range(5)], ranges=[Range(start=0, end=1, name="a")]
    )
    database_of(path, "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET correlationId = 'x' WHERE rowid = 4")
    assert "CUPTI_ACTIVITY_KIND_RUNTIME row 4: correlationId is text" in refusal(path)
    database_of(path, "UPDATE StringIds SET value = 7.5 || x'' WHERE id = 1", "UPDATE StringIds SET value = x'61'")
    database_of(path, "CREATE TABLE s (id INTEGER PRIMARY KEY, value)", "INSERT INTO s VALUES (1, 5)")
    database_of(path, "DROP TABLE StringIds", "ALTER TABLE s RENAME TO StringIds")
    assert "StringIds row 1: value is integer, expected text" in refusal(path)


def test_p94_a_range_text_that_is_none_is_named(path: Path) -> None:
    database_of(path, "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text)")
    database_of(path, "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 'a'), (1, 2, 59, NULL), (1, 2, 59, 7)")
    assert refusal(path) == ("rank3.sqlite: NVTX_EVENTS row 3: text is integer, expected text; export the report again")


def test_p96_what_a_file_chose_cannot_break_the_message(path: Path) -> None:
    database_of(
        path, f'CREATE TABLE {KERNEL} (begin INTEGER, "\n\x1b[31m" INTEGER)', f"INSERT INTO {KERNEL} VALUES (1, 2)"
    )
    assert "has no column start (it has begin)" in refusal(path)
    database_of(
        path, "PRAGMA writable_schema = ON", f"UPDATE sqlite_master SET sql = 'x\n\x1b[31m' WHERE name = '{KERNEL}'"
    )
    message = refusal(path)
    assert "SQLite cannot read it" in message
    assert message.isprintable()


def test_a_real_column_with_whole_numbers_is_refused(path: Path) -> None:
    database_of(path, f"CREATE TABLE {KERNEL} (start REAL, end INTEGER)", f"INSERT INTO {KERNEL} VALUES (5, 6)")
    assert "row 1: start is real, expected an integer" in refusal(path)


def test_loading_leaves_no_trace_and_needs_no_write_permission(path: Path) -> None:
    nsys_database(path, kernels=[Kernel(start=0, end=1)], calls=[Call(start=0, end=1, correlation=1)])
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(path.parent.iterdir()))
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        load_profile(path).read_calls()
    finally:
        path.parent.chmod(0o700)
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(path.parent.iterdir())) == before


def test_odd_file_names_are_opened_as_they_are(tmp_path: Path) -> None:
    for name in ("a?mode=rwc&x.sqlite", "50%25#1.sqlite", "ä ö.sqlite"):
        assert len(load_profile(nsys_database(tmp_path / name, kernels=[Kernel(start=0, end=1)])).kernels) == 1
    assert len(list(tmp_path.iterdir())) == 3


def test_calls_of_a_file_that_changed_meanwhile_are_refused(path: Path) -> None:
    nsys_database(path, calls=[Call(start=0, end=1, correlation=1)])
    profile = load_profile(path)
    with path.open("ab") as stream:
        stream.write(b"x")
    with pytest.raises(InputError, match="changed while it was being read"):
        profile.read_calls()


def test_tables_read_row_by_row_are_noted(path: Path) -> None:
    database_of(
        path, f"CREATE TABLE {KERNEL} (start INTEGER PRIMARY KEY, end INTEGER)", f"INSERT INTO {KERNEL} VALUES (5, 6)"
    )
    profile = load_profile(path)
    assert profile.kernels[["start", "end"]].to_numpy().tolist() == [[5, 6]]
    assert any(note.startswith(f"{KERNEL} was read row by row") for note in profile.notes)


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("damage", [lambda content: content[: len(content) // 2], lambda content: content[:-1]])
def test_cut_archives(path: Path, compress: Callable[[bytes], bytes], damage: Callable[[bytes], bytes]) -> None:
    nsys_database(path, kernels=[Kernel(start=0, end=1)])
    path.write_bytes(damage(compress(path.read_bytes())))
    refusal(path)


def test_whatever_bytes_are_flipped_only_an_input_error_comes_out(path: Path) -> None:
    kernels = [Kernel(start=k, end=k + 1, name=f"k{k}") for k in range(60)]
    nsys_database(path, kernels=kernels, ranges=[Range(start=k, end=k, name=f"r{k}") for k in range(60)])
    whole = path.read_bytes()
    refused = 0
    for seed in range(300):
        rng = random.Random(seed)
        content = bytearray(whole)
        for _ in range(rng.choice((1, 3, 20))):
            page = rng.randrange(len(whole) // 4096)
            content[page * 4096 + rng.randrange(rng.choice((16, 120, 4096)))] = rng.randrange(256)
        path.write_bytes(content)
        try:
            load_profile(path, limits=Limits(deadline_s=5)).read_calls()
        except InputError:
            refused += 1
    assert 30 < refused < 300
