"""Compressed exports: found by content, unpacked in private, removed when done."""

from __future__ import annotations

import errno
import gc
import gzip
import pickle
import shutil
import tempfile
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import zstandard
from databases import Call, Kernel, nsys_database

from gapfinder.errors import InputError
from gapfinder.load import Limits, load_profile

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    calls = [Call(start=0, end=1, correlation=1)]
    return nsys_database(tmp_path / "rank3.sqlite", kernels=[Kernel(start=3, end=9)], calls=calls)


def streamed(content: bytes) -> bytes:
    """Zstandard as a pipe writes it: two frames, no size told."""
    pack = zstandard.ZstdCompressor(write_content_size=False).compress
    return pack(content[:5000]) + pack(content[5000:])


@pytest.mark.parametrize(
    "compress", [gzip.compress, zstandard.compress, streamed], ids=["gzip", "zstd", "streamed zstd"]
)
@pytest.mark.parametrize("name", ["rank3.sqlite.gz", "rank3.sqlite", "noname"])
def test_an_archive_is_read_and_its_copy_goes_with_the_profile(
    temporary: Path, plain: Path, compress: object, name: str
) -> None:
    packed = plain.parent / "packed" / name
    packed.parent.mkdir()
    packed.write_bytes(compress(plain.read_bytes()))  # type: ignore[operator]
    profile = load_profile(packed)
    assert profile.path == packed
    assert profile.kernels["start"].tolist() == [3]
    (copy,) = temporary.iterdir()
    assert copy.stat().st_mode & 0o077 == 0
    assert len(profile.read_calls()) == 1
    del profile
    gc.collect()
    assert list(temporary.iterdir()) == []
    assert list(packed.parent.iterdir()) == [packed]


def test_a_damaged_archive_leaves_nothing(temporary: Path, plain: Path) -> None:
    plain.write_bytes(gzip.compress(plain.read_bytes())[:-20])
    with pytest.raises(InputError, match=r"rank3\.sqlite: cannot be unpacked"):
        load_profile(plain)
    assert list(temporary.iterdir()) == []


def test_a_full_disk_is_told_before_anything_is_written(
    temporary: Path, plain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = plain.stat().st_size
    plain.write_bytes(zstandard.compress(plain.read_bytes()))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5))
    with pytest.raises(InputError) as caught:
        load_profile(plain)
    assert str(caught.value) == (
        f"rank3.sqlite: no room to unpack it in {temporary}: at least {size:,} bytes needed, 5 free; "
        "free some space or set TMPDIR to another folder"
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 (as it comes from a worker)
    assert list(temporary.iterdir()) == []


def test_a_disk_that_fills_up_meanwhile(temporary: Path, plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain.write_bytes(gzip.compress(plain.read_bytes()))

    def full(*_: object) -> bytes:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(gzip.GzipFile, "read", full)
    with pytest.raises(InputError, match="no room to unpack it"):
        load_profile(plain)
    assert list(temporary.iterdir()) == []


def endless(start: bytes) -> bytes:
    """Something that unpacks to 256 MiB."""
    return gzip.compress(start) + b"".join([gzip.compress(bytes(1 << 22))] * 64)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the chunks that are unpacked."""
    sizes: list[int] = []
    read = gzip.GzipFile.read

    def counted(file: gzip.GzipFile, size: int | None = -1) -> bytes:
        chunk = read(file, size)
        sizes.append(len(chunk))
        return chunk

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    return sizes


def test_only_the_start_of_an_archive_that_holds_no_database_is_unpacked(
    temporary: Path, plain: Path, written: list[int]
) -> None:
    plain.write_bytes(endless(b"\0"))
    with pytest.raises(InputError, match="neither a SQLite database nor an nsys report"):
        load_profile(plain)
    assert sum(written) <= 1 << 22
    assert list(temporary.iterdir()) == []


def test_no_more_is_unpacked_than_the_databases_header_tells(temporary: Path, plain: Path, written: list[int]) -> None:
    content = plain.read_bytes()
    plain.write_bytes(endless(content))
    with pytest.raises(InputError, match=f"unpacks to more than the {len(content):,} bytes that its header tells"):
        load_profile(plain)
    assert sum(written) <= 2 << 22
    assert list(temporary.iterdir()) == []


def test_a_header_that_tells_too_much_or_nothing_is_refused_before_the_rest_is_unpacked(
    temporary: Path, plain: Path, written: list[int]
) -> None:
    content = plain.read_bytes()
    for pages, said in (
        (b"\x7f\0\0\0", "more than the limit of 8,388,608 bytes"),
        (bytes(4), "does not tell its size"),
    ):
        written.clear()
        plain.write_bytes(endless(content[:28] + pages + content[32:]))
        with pytest.raises(InputError, match=said):
            load_profile(plain, limits=Limits(max_bytes=1 << 23))
        assert sum(written) <= 1 << 22
    assert list(temporary.iterdir()) == []


def test_an_archive_that_says_it_is_too_large_is_not_unpacked_at_all(temporary: Path, plain: Path) -> None:
    size = plain.stat().st_size
    plain.write_bytes(zstandard.compress(plain.read_bytes())[:20])
    with pytest.raises(InputError, match="more than the limit"):
        load_profile(plain, limits=Limits(max_bytes=size - 1))


def test_unpacking_stops_at_the_deadline(temporary: Path, plain: Path) -> None:
    plain.write_bytes(gzip.compress(plain.read_bytes()))
    with pytest.raises(InputError, match=r"rank3.sqlite: not unpacked within 0 s"):
        load_profile(plain, limits=Limits(deadline_s=0))
    assert list(temporary.iterdir()) == []


def test_no_temporary_folder_is_an_error_that_says_what_to_set(
    plain: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain.write_bytes(gzip.compress(plain.read_bytes()))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(InputError, match="set TMPDIR"):
        load_profile(plain)


@pytest.mark.parametrize("name", ["x.nsys-rep", "x.qdrep", "x.qdstrm", "renamed"])
def test_a_report_is_exported_first(tmp_path: Path, plain: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    report = tmp_path / name
    report.write_bytes(b"\x01\x02" if name != "renamed" else b"NVIDIA Tegra Profiler Report 1.\n\x0b")
    asked: list[Path] = []
    monkeypatch.setattr("gapfinder.load.reading.export_report", lambda path: asked.append(path) or plain)
    profile = load_profile(report)
    assert asked == [report]
    assert profile.path == report
    assert profile.kernels["start"].tolist() == [3]
