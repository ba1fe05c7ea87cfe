"""Compressed exports: found by content, unpacked in private, removed when done."""

from __future__ import annotations

import errno
import gc
import gzip
import shutil
import tempfile
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
import zstandard
from databases import Call, Kernel, nsys_database

from gapfinder.errors import InputError
from gapfinder.load import load_profile

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
    assert list(temporary.iterdir()) == []


def test_a_disk_that_fills_up_meanwhile(temporary: Path, plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain.write_bytes(gzip.compress(plain.read_bytes()))

    def full(*_: object) -> bytes:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(gzip.GzipFile, "read", full)
    with pytest.raises(InputError, match="no room to unpack it"):
        load_profile(plain)
    assert list(temporary.iterdir()) == []


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
