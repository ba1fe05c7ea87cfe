from __future__ import annotations

import errno
import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import databases
import pytest
from click.testing import CliRunner, Result
from databases import Kernel

from gapfinder import __version__
from gapfinder.cli.app import commands

ROOT = Path(__file__).parents[2]
MAIN = [sys.executable, "-m", "gapfinder"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


@pytest.fixture
def profile(tmp_path):
    kernels = [
        Kernel(start=0, end=1_000),
        Kernel(start=201_000, end=202_000),
        Kernel(start=202_000, end=203_000, name="ncclDevKernel_AllReduce", stream=9),
    ]
    return databases.nsys_database(tmp_path / "run.sqlite", kernels=kernels)


def described() -> Iterator[tuple[str, ...]]:
    """The words of every command and subcommand."""
    for name, command in commands.commands.items():
        yield (name,)
        if isinstance(command, click.Group):
            yield from ((name, below) for below in command.commands)


@pytest.mark.parametrize("words", [(), *described()], ids=" ".join)
def test_help_fits_80_columns_and_cuts_no_sentence(words):
    told = CliRunner().invoke(commands, [*words, "--help"], terminal_width=80).stdout
    assert [line for line in told.splitlines() if len(line) > 80] == []
    assert not re.search(r"[a-z]\.\.\.$", told, re.MULTILINE)
    assert re.search(r"\b(TEXT|INTEGER|FLOAT) RANGE\b|\bFLOAT\b", told) is None


def test_the_version_is_told():
    assert run("--version").stdout == f"gapfinder {__version__}\n"


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_each_format_is_printed_and_written_alike(form, profile, tmp_path):
    printed = run("analyze", profile, "--format", form)
    output = tmp_path / "report"
    written = run("analyze", profile, "--format", form, "--output", output)
    assert (printed.exit_code, printed.stderr) == (0, "")
    assert printed.stdout == output.read_text(encoding="utf-8")
    assert (written.exit_code, written.stdout, written.stderr) == (0, "", f"Wrote {output}\n")


def test_nothing_is_overwritten_without_force(profile, tmp_path):
    output = tmp_path / "report.json"
    output.write_text("mine")
    refused = run("analyze", profile, "--format", "json", "--output", output)
    assert (refused.exit_code, output.read_text()) == (2, "mine")
    assert "exists; name another file, or overwrite it with --force" in refused.stderr
    assert run("analyze", profile, "--format", "json", "--output", output, "--force").exit_code == 0
    assert json.loads(output.read_text())["schema_version"] == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.json", "run.sqlite"]


def test_the_input_is_not_an_output(profile):
    before = profile.read_bytes()
    result = run("analyze", profile, "--output", profile, "--force")
    assert (result.exit_code, profile.read_bytes()) == (2, before)
    assert "is an input" in result.stderr


@pytest.mark.parametrize(("output", "words"), [(".", "is a folder"), ("none/report", "no such folder")])
def test_an_output_that_cannot_be_is_refused_before_the_work(output, words, tmp_path):
    unreadable = tmp_path / "text.sqlite"
    unreadable.write_text("no profile")
    result = run("analyze", unreadable, "--output", tmp_path / output)
    assert (result.exit_code, words in result.stderr) == (2, True)


def test_a_full_disk_leaves_the_old_file(profile, tmp_path, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    output = tmp_path / "report.txt"
    output.write_text("old")
    monkeypatch.setattr(Path, "write_text", full)
    result = run("analyze", profile, "--output", output, "--force")
    assert result.exit_code == 2
    assert result.stderr == f"gapfinder: error: cannot write {output}: No space left on device\n"
    assert output.read_text() == "old"


def test_options_reach_the_analysis(profile, tmp_path):
    def lane(*options: str) -> dict:
        return json.loads(run("analyze", profile, "--format", "json", *options).stdout)["lanes"][0]

    assert lane()["gaps"]["count"] == 1
    assert lane("--min-gap", "300us")["gaps"]["count"] == 0
    assert lane("--window", "201us:203us")["window"]["duration_ns"] == 2_000
    assert lane()["communication_ns"] == 1_000
    assert lane("--compute-pattern", "nccl")["communication_ns"] == 0
    assert lane("--communication-pattern", "^gemm$")["communication_ns"] == 3_000
    assert lane("--ranks", "7")["rank"] == 7
    assert lane("--top", "0")["holes"]["top"] == []
    config = tmp_path / "some.toml"
    config.write_text('min-gap = "300us"\n')
    assert lane("--config", str(config))["gaps"]["count"] == 0
    assert lane("--config", str(config), "--min-gap", "100us")["gaps"]["count"] == 1


def test_a_folder_and_its_files_are_the_same_profiles(profile, tmp_path):
    second = databases.nsys_database(tmp_path / "second.sqlite", kernels=[Kernel(start=0, end=500, pid=200)])
    folder = run("analyze", tmp_path, "--format", "json").stdout
    assert folder == run("analyze", second, profile, "--format", "json").stdout
    assert len(json.loads(folder)["lanes"]) == 2


def in_terminal(profile: Path, **environment: str) -> str:
    """What `analyze` prints on a terminal."""
    ours, theirs = pty.openpty()
    inherited = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM", "COLUMNS")}
    env = {**inherited, "TERM": "xterm", **environment}
    process = subprocess.Popen([*MAIN, "analyze", profile], stdout=theirs, stderr=subprocess.PIPE, env=env, cwd=ROOT)
    os.close(theirs)
    printed = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        printed += piece
    os.close(ours)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (0, b"")
    return printed.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colour_and_its_width_unless_it_says_no(profile):
    coloured = in_terminal(profile, COLUMNS="90")
    assert "\x1b[" in coloured
    plain = in_terminal(profile, COLUMNS="90", NO_COLOR="1")
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert max(map(len, plain.splitlines())) <= 90
    assert plain != run("analyze", profile).stdout
    assert "\x1b" not in in_terminal(profile, TERM="dumb")


@pytest.mark.parametrize("columns", ["0", "1", "-3", "60"])
def test_a_terminal_of_no_use_still_gets_the_whole_report(columns, profile):
    coloured = in_terminal(profile, COLUMNS=columns)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == in_terminal(profile, COLUMNS=columns, NO_COLOR="1")
    assert "Not measured, and worth knowing" in coloured


def test_tables_fit_80_columns(profile):
    sample = ROOT / "sample_profiles" / "healthy.sqlite"
    assert max(map(len, in_terminal(sample, COLUMNS="80", NO_COLOR="1").splitlines())) <= 80


@pytest.mark.parametrize(
    ("closing", "words"), [(">&-", "standard output is closed"), (">/dev/full", "No space left on device")]
)
@pytest.mark.parametrize("arguments", [["analyze"], ["--help"], ["analyze", "--help"], ["--version"]])
def test_standard_output_that_takes_nothing_is_one_line(closing, words, arguments, profile):
    command = [*MAIN, *arguments, *([profile] if arguments == ["analyze"] else [])]
    process = subprocess.run(
        ["sh", "-c", f'"$@" {closing}', "sh", *command], stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False
    )
    assert (process.returncode, process.stderr.count("\n")) == (2, 1)
    assert process.stderr.startswith("gapfinder: error: ")
    assert words in process.stderr


@pytest.mark.parametrize("closing", ["2>&-", "2>/dev/full"])
def test_without_standard_error_the_work_is_done_all_the_same(closing, profile, tmp_path):
    command = [*MAIN, "analyze", profile, "--output", tmp_path / "report"]
    process = subprocess.run(["sh", "-c", f'"$@" {closing}', "sh", *command], cwd=ROOT, check=False)
    assert (process.returncode, (tmp_path / "report").exists()) == (0, True)
    missing = subprocess.run(
        ["sh", "-c", f'"$@" {closing}', "sh", *MAIN, "analyze", tmp_path / "none"], cwd=ROOT, check=False
    )
    assert missing.returncode == 2


def test_a_current_folder_that_is_gone_is_one_line(profile, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        ["sh", "-c", script, "sh", gone, *MAIN, "analyze", profile],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert (process.returncode, process.stdout, process.stderr.count("\n")) == (2, "", 1)
    assert "cannot look for gapfinder.toml" in process.stderr


def test_a_reader_who_stops_early_gets_no_traceback(profile):
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run([*MAIN, "analyze", profile], stdout=writing, stderr=subprocess.PIPE, cwd=ROOT, check=False)
    os.close(writing)
    assert (process.returncode, process.stderr) == (-signal.SIGPIPE, b"")


def test_an_interrupt_is_one_line(profile, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gapfinder.cluster.measuring.measure_files", interrupted)
    result = run("analyze", profile)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "gapfinder: interrupted\n")


@pytest.mark.parametrize("module", ["click", "pandas"])
def test_an_interrupt_of_an_import_is_one_line(module, profile):
    code = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from gapfinder.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "analyze", profile]
    process = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (130, "", "gapfinder: interrupted\n")


def test_a_bug_keeps_its_traceback(profile, monkeypatch):
    def wrong(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("gapfinder.cluster.measuring.measure_files", wrong)
    assert isinstance(run("analyze", profile).exception, ZeroDivisionError)


def test_a_stream_that_cannot_write_a_character_is_no_error(profile):
    env = {**os.environ, "PYTHONIOENCODING": "iso8859-1"}
    process = subprocess.run([*MAIN, "analyze", profile], capture_output=True, env=env, cwd=ROOT, check=False)
    assert (process.returncode, process.stderr) == (0, b"")
    assert rb"gemm \u2192 gemm" in process.stdout


@pytest.fixture
def exporting(tmp_path, monkeypatch):
    """A report and a stub nsys that exports it."""
    made = databases.nsys_database(tmp_path / "made.sqlite", kernels=[Kernel(start=0, end=1_000)])
    program = tmp_path / "nsys"
    program.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo "version 2025.5.2.266-1"; exit 0; }\n'
        f'for a in "$@"; do case $a in --output=*) cp {made} "${{a#--output=}}" ;; esac; done\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("GAPFINDER_NSYS", str(program))
    report = tmp_path / "reports" / "run.nsys-rep"
    report.parent.mkdir()
    report.write_bytes(b"events of this test")
    return report


def test_export_writes_beside_the_report_once(exporting):
    target = exporting.with_suffix(".sqlite")
    first = run("export", exporting)
    assert (first.exit_code, first.stderr) == (0, f"Wrote {target}\n")
    with closing(sqlite3.connect(target)) as database:
        assert database.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone() == (1,)
    again = run("export", exporting)
    assert (again.exit_code, "--force" in again.stderr) == (2, True)
    assert run("export", exporting, "--force").exit_code == 0


def test_export_writes_where_it_is_told(exporting, tmp_path):
    assert run("export", exporting, "--output", tmp_path / "other.sqlite").exit_code == 0
    folder = tmp_path / "exports"
    folder.mkdir()
    assert run("export", exporting, "-o", folder).exit_code == 0
    assert [path.name for path in folder.iterdir()] == ["run.sqlite"]
    second = exporting.with_name("second.nsys-rep")
    second.write_bytes(b"other events")
    clash = run("export", exporting, second, "-o", tmp_path / "one.sqlite")
    assert (clash.exit_code, "two reports" in clash.stderr) == (2, True)


def test_a_file_to_write_behind_the_report_is_no_report(exporting, tmp_path):
    result = run("export", exporting, tmp_path / "new.sqlite")
    advice = f"gapfinder: error: there is no report {tmp_path}/new.sqlite; name the file to write with --output\n"
    assert (result.exit_code, result.stderr) == (2, advice)
    assert not exporting.with_suffix(".sqlite").exists()


def test_analyze_takes_a_report(exporting):
    result = run("analyze", exporting, "--format", "json")
    assert json.loads(result.stdout)["source"]["files"] == ["run.nsys-rep"]
    assert [path.name for path in exporting.parent.iterdir()] == ["run.nsys-rep"]


def test_without_nsys_a_report_is_exit_code_4(exporting, monkeypatch):
    monkeypatch.setenv("GAPFINDER_NSYS", "no-such-nsys")
    for command in ("export", "analyze"):
        result = run(command, exporting)
        assert (result.exit_code, "GAPFINDER_NSYS" in result.stderr) == (4, True)
