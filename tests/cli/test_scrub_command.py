"""`gapfinder scrub` writes a whole copy or none, over nothing that it was not told to overwrite."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from databases import Kernel, Range, nsys_database

ROOT = Path(__file__).parents[2]


@pytest.fixture
def report(tmp_path: Path) -> Path:
    ranges = [Range(start=1, end=90, name="load /home/ann/a.bin on node-7")]
    tables = {"Odd\nname": (("x",), [(1,)]), "ENUM_A": (("id",), []), "ENUM_B": (("id",), [])}
    return nsys_database(
        tmp_path / "a.sqlite",
        kernels=[Kernel(start=10, end=50), Kernel(start=60, end=80)],
        ranges=ranges,
        tables=tables,
    )


def scrub(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gapfinder", "scrub", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def test_it_says_what_is_in_the_copy_and_what_is_not(report, tmp_path):
    done = scrub(report, tmp_path / "b.sqlite", "--hide", "node-7")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.splitlines() == [
        "Kept 6 rows of 4 tables",
        "Replaced: path: 1, word: 1",
        "Left out: 0 strings that nothing refers to",
        "Left out tables: Odd\\nname, 2 tables of ENUM_*",
        "Left out columns: none",
        f"Wrote {tmp_path / 'b.sqlite'}",
    ]
    assert b"node-7" not in (tmp_path / "b.sqlite").read_bytes()


def test_a_window_cuts(report, tmp_path):
    done = scrub(report, tmp_path / "b.sqlite", "--window", "55ns:100ns")
    assert done.returncode == 0
    assert done.stderr.startswith("Kept 5 rows of 4 tables\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.sqlite", "a.sqlite", "--force"], "a.sqlite is an input; name another output"),
        (["a.sqlite", "c.sqlite"], "c.sqlite exists; name another file, or overwrite it with --force"),
        (["a.sqlite", "b.json"], "b.json would not be known as an export; name a file that ends in .sqlite"),
        (["none.sqlite", "b.sqlite"], "no such file"),
        (["a.sqlite", "b.sqlite", "--window", "1s"], "not a window: '1s'"),
        (["a.sqlite", "b.sqlite", "--window", "1s:2s"], "nothing was captured between 1.000000 s and 2.000000 s"),
        (["text.sqlite", "b.sqlite"], "is a text file"),
        (["cut.sqlite", "b.sqlite"], "cut.sqlite: is cut off"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_leaves_nothing(report, tmp_path, arguments, message):
    (tmp_path / "c.sqlite").write_text("mine")
    (tmp_path / "text.sqlite").write_text("hello")
    (tmp_path / "cut.sqlite").write_bytes(report.read_bytes()[:-5000])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = scrub(*(tmp_path / name if "." in name else name for name in arguments))
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.nsys
def test_a_real_report_is_exported_first(tmp_path):
    command = ["nsys", "profile", "-t", "osrt", "--sample=none", "--cpuctxsw=none", "-o", str(tmp_path / "r"), "true"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/home/planted", "MY_TOKEN": "SENTINEL-1234"}
    nsys = shutil.which("nsys")
    subprocess.run([nsys, *command[1:]], env=environment, timeout=90, check=True, capture_output=True)
    assert b"SENTINEL-1234" in (tmp_path / "r.nsys-rep").read_bytes()
    done = scrub(tmp_path / "r.nsys-rep", tmp_path / "b.sqlite")
    assert done.returncode == 0, done.stderr
    assert "TARGET_INFO_SYSTEM_ENV" in done.stderr
    content = (tmp_path / "b.sqlite").read_bytes()
    assert b"SENTINEL" not in content
    assert b"/home/planted" not in content
    assert b"OSRT_API" in content
