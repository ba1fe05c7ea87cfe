"""Every input a user may get wrong: its exit code, what is said, and that nothing was touched."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING

import databases
import pytest
from click.testing import CliRunner, Result
from databases import Kernel, Range

from gapfinder.cli.app import commands

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
WHOLE = (Kernel(start=1_000, end=2_000), Kernel(start=3_000, end=4_000))


def profile(folder: Path, *kernels: Kernel, **more) -> Path:
    return databases.nsys_database(folder / "run.sqlite", kernels=kernels, **more)


def changed(folder: Path, statement: str) -> Path:
    path = profile(folder, *WHOLE)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(statement)
    return path


def written(folder: Path, content: bytes, *, name: str = "run.sqlite") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def truncated(folder: Path) -> Path:
    path = profile(folder, *(Kernel(start=at, end=at + 5) for at in range(0, 20_000, 10)))
    path.write_bytes(path.read_bytes()[:20_000])
    return path


def view(folder: Path, query: str) -> Path:
    return changed(folder, f"ALTER TABLE {KERNEL} RENAME TO real; CREATE VIEW {KERNEL} AS {query}")


ENDLESS = "WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n) SELECT start FROM n"
MADE: dict[str, tuple[Callable[[Path], Path], int, str]] = {
    "missing file": (lambda folder: folder / "none.sqlite", 2, "no such file"),
    "folder without profiles": (lambda folder: folder, 2, "no profiles in the folder"),
    "empty file": (lambda folder: written(folder, b""), 2, "is empty"),
    "text file": (lambda folder: written(folder, b"hello\n" * 100), 2, "is a text file"),
    "random bytes": (lambda folder: written(folder, bytes(range(256)) * 8), 2, "neither a SQLite database nor"),
    "Git LFS pointer": (
        lambda folder: written(folder, b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"),
        2,
        "git lfs pull",
    ),
    "truncated": (truncated, 2, "cut off"),
    "only the header": (lambda folder: written(folder, b"SQLite format 3\0"), 2, "cut off"),
    "view posing as a table": (lambda folder: view(folder, "SELECT * FROM real"), 2, "view"),
    "endless view": (lambda folder: view(folder, ENDLESS), 2, "view"),
    "text in a time column": (lambda folder: changed(folder, f"UPDATE {KERNEL} SET start = 'abc'"), 2, "start"),
    "no GPU work": (
        lambda folder: profile(folder, ranges=[Range(start=0, end=9, name="step 1")]),
        3,
        "nothing to measure",
    ),
    "empty kernel table": (lambda folder: changed(folder, f"DELETE FROM {KERNEL}"), 3, "nothing to measure"),
    "only unusable rows": (
        lambda folder: profile(folder, Kernel(start=0, end=0), Kernel(start=9, end=5)),
        3,
        "nothing to measure",
    ),
}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


def state(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("name", MADE)
def test_a_bad_input_is_one_line_and_an_exit_code(name, tmp_path):
    make, exit_code, words = MADE[name]
    path = make(tmp_path)
    before = state(tmp_path)
    started = time.monotonic()
    result = run("analyze", path)
    assert time.monotonic() - started < 5
    assert result.exit_code == exit_code, result.output
    assert result.stderr.startswith("gapfinder: error: ")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert bool(result.stdout) == (exit_code == 3)
    assert state(tmp_path) == before


def lane(*arguments: object) -> dict:
    result = run("analyze", *arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    (only,) = json.loads(result.stdout)["lanes"]
    return only


def test_one_kernel_is_a_whole_lane(tmp_path):
    only = lane(profile(tmp_path, Kernel(start=1_000, end=2_500)))
    assert (only["window"]["duration_ns"], only["busy_ns"], only["idle_ns"]) == (1_500, 1_500, 0)
    assert (only["overlap_ratio"], only["steps"]) == (None, None)
    assert only["overlap_reason"]


def test_without_nvtx_the_rest_is_measured(tmp_path):
    path = profile(tmp_path, *WHOLE)
    assert lane(path, "--min-gap", "1us")["gaps"]["count"] == 1
    assert "steps not measured" in run("analyze", path).stdout


def test_unusable_rows_are_counted_and_left_out(tmp_path):
    only = lane(profile(tmp_path, *WHOLE, Kernel(start=0, end=0), Kernel(start=9_000, end=5_000)))
    assert (only["dropped_ops"], only["kernels"], only["window"]["end_ns"]) == (2, 2, 4_000)


def test_no_gpu_work_is_null_and_not_idle(tmp_path):
    result = run("analyze", profile(tmp_path, ranges=[Range(start=0, end=9, name="step 1")]), "--format", "json")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["lanes"], report["total"]["overlap_ratio"]) == (3, [], None)
    assert report["coverage"]["notes"]


def test_without_gpu_work_the_report_still_tells_what_the_host_did(tmp_path):
    ranges = [Range(start=100 * number, end=100 * number + 100, name=f"step {number}") for number in range(4)]
    ranges += [Range(start=100 * number, end=100 * number + 40, name="data loading") for number in range(4)]
    result = run("analyze", profile(tmp_path, ranges=ranges))
    assert result.exit_code == 3
    assert "1 process ran 3 steps of 100 ns (p50); 40.0 % of it was waiting for data." in " ".join(
        result.stdout.split()
    )
    assert "[data-wait]" in result.stdout
    assert result.stderr.startswith("gapfinder: error: nothing to measure on a GPU")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--min-gap", "100"], "min-gap: not a duration: '100'"),
        (["--window", "2s:1s"], "window: empty window"),
        (["--window", "5s:6s"], "no GPU work between 5.000000 s and 6.000000 s"),
        (["--steps", "8:3"], "steps: not a range of steps"),
        (["--step-pattern", "("], "step-pattern: bad regular expression"),
        (["--communication-pattern", "a", "--communication-pattern", "["], "communication-patterns: bad regular"),
        (["--compute-pattern", "*"], "compute-patterns: bad regular"),
        (["--compute-pattern", ""], "compute-patterns: bad regular expression: it is empty"),
        (["--steps", "0:" + "9" * 5_000], "steps: not a range of steps"),
        (["--ranks", "0,x"], "not a list of numbers: '0,x'"),
        (["--ranks", "0,1"], "--ranks names 2 ranks"),
        (["--gpu", "5"], "no GPU 5 in the report; it has GPU 0"),
        (["--config", "none.toml"], "cannot read none.toml"),
    ],
)
def test_an_option_that_cannot_be_used_names_itself(options, words, tmp_path):
    result = run("analyze", profile(tmp_path, *WHOLE), *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("gapfinder: error: ")
    assert words in result.stderr


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["analyse"], "gapfinder"),
        (["--nonsense"], "gapfinder"),
        (["analyze", "--format", "pdf", "x.sqlite"], "gapfinder analyze"),
        (["analyze", "--format"], "gapfinder analyze"),
        (["analyze", "--count-copies", "all", "x.sqlite"], "gapfinder analyze"),
        (["analyze", "--top", "-1", "x.sqlite"], "gapfinder analyze"),
        (["analyze", "--gpu", "one", "x.sqlite"], "gapfinder analyze"),
        (["analyze", "--nonsense"], "gapfinder analyze"),
        (["export", "--force"], "gapfinder export"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_help(arguments, command):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("gapfinder: error: ")
    assert result.stderr.endswith((f"; see {command} --help\n", f"? See {command} --help\n"))
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [[], ["analyze"], ["export"]])
def test_without_arguments_the_help_is_printed(arguments):
    result = run(*arguments)
    assert (result.exit_code, result.stderr.startswith("Usage: gapfinder")) == (2, True)


def test_a_name_cannot_drive_the_terminal(tmp_path):
    path = written(tmp_path, b"text", name="\x1b]0;owned\x07.sqlite")
    result = run("analyze", path)
    assert (result.exit_code, result.stderr.count("\n"), result.stderr.strip().isprintable()) == (2, 1, True)
    assert r"\x1b]0;owned\x07.sqlite" in result.stderr
    report = tmp_path / "\x1b[31mred"
    done = run("analyze", profile(tmp_path, *WHOLE), "--output", report)
    assert (done.exit_code, done.stderr) == (0, f"Wrote {tmp_path}/\\x1b[31mred\n")
