"""What files and folders a user's arguments stand for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gapfinder.errors import InputError
from gapfinder.load import find_profiles


def touch(folder: Path, *names: str) -> list[Path]:
    files = [folder / name for name in names]
    for file in files:
        file.touch()
    return files


def test_a_folder_stands_for_its_profiles_sorted(tmp_path: Path) -> None:
    names = ["a.sqlite", "b.sqlite.gz", "c.sqlite.zst", "d.nsys-rep", "e.qdrep", "f.qdstrm"]
    files = touch(tmp_path, *reversed(names))
    touch(tmp_path, "notes.txt", "a.sqlite-wal", "model.pt")
    (tmp_path / "g.sqlite").mkdir()
    assert find_profiles([tmp_path]) == sorted(files)


def test_numbers_in_names_are_in_order_of_their_values(tmp_path: Path) -> None:
    for node in (10, 9):
        (tmp_path / f"node{node}").mkdir()
        touch(tmp_path / f"node{node}", *(f"rank_{rank}.sqlite" for rank in ("10", "2", "02", "x", "1_3", "1_10")))
    found = [file.relative_to(tmp_path).as_posix() for file in find_profiles([tmp_path / "node*"])]
    ranks = ["1_3", "1_10", "02", "2", "10", "x"]
    assert found == [f"node{node}/rank_{rank}.sqlite" for node in (9, 10) for rank in ranks]


def test_of_a_report_and_its_export_only_the_export_is_taken(tmp_path: Path) -> None:
    touch(tmp_path, "x.nsys-rep", "x.qdstrm", "x.sqlite", "y.qdstrm", "y.nsys-rep", "z.sqlite.gz", "z.nsys-rep")
    assert [file.name for file in find_profiles([tmp_path])] == ["x.sqlite", "y.nsys-rep", "z.sqlite.gz"]


def test_a_named_file_is_taken_whatever_its_name_and_once(tmp_path: Path) -> None:
    odd, export = touch(tmp_path, "odd.bin", "a.sqlite")
    assert find_profiles([odd, tmp_path, export, tmp_path / ".." / tmp_path.name / "odd.bin"]) == [export, odd]


def test_a_folder_without_profiles_is_an_error_that_names_what_was_looked_for(tmp_path: Path) -> None:
    touch(tmp_path, "notes.txt")
    with pytest.raises(InputError) as caught:
        find_profiles([tmp_path])
    message = str(caught.value)
    assert str(tmp_path) in message
    assert all(
        suffix in message for suffix in (".sqlite", ".sqlite.gz", ".sqlite.zst", ".nsys-rep", ".qdrep", ".qdstrm")
    )


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such file or folder: .*gone.sqlite"):
        find_profiles([tmp_path / "gone.sqlite"])


def test_paths_that_the_system_refuses_are_errors_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="cannot be read: File name too long"):
        find_profiles([tmp_path / ("x" * 5_000)])
    (tmp_path / "loop.sqlite").symlink_to("loop.sqlite")
    with pytest.raises(InputError, match=r"loop.sqlite: cannot be read: Too many levels of symbolic links"):
        find_profiles([tmp_path / "loop.sqlite"])
    (file,) = touch(tmp_path, "a.sqlite")
    with pytest.raises(InputError, match="no such file or folder"):
        find_profiles([file / "b.sqlite"])

    def closed(path: Path, **_: object) -> os.stat_result:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", closed)
    with pytest.raises(InputError, match=r"a.sqlite: cannot be read: Permission denied"):
        find_profiles([file])


def test_a_pattern_stands_for_what_fits_it_as_in_a_shell(tmp_path, monkeypatch):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for name in ("rank_0.sqlite", "rank_1.sqlite", "other.sqlite"):
            (tmp_path / folder / name).touch()
    monkeypatch.chdir(tmp_path)
    asked = Path("*/rank_[01].sqlite")
    assert find_profiles([asked]) == [Path(f"{folder}/rank_{n}.sqlite") for folder in "ab" for n in (0, 1)]
    assert find_profiles([tmp_path / "**/o*.sqlite"]) == [tmp_path / f"{folder}/other.sqlite" for folder in "ab"]
    assert len(find_profiles([Path("?")])) == 6  # folders, each for its profiles


def test_a_name_that_looks_like_a_pattern_is_a_name(tmp_path):
    odd = tmp_path / "rank[0].sqlite"
    odd.touch()
    (tmp_path / "rank0.sqlite").touch()
    assert find_profiles([odd]) == [odd]


def test_a_pattern_that_nothing_fits_is_named(tmp_path):
    with pytest.raises(InputError, match=r"no file or folder fits .*rank\*"):
        find_profiles([tmp_path / "rank*"])
