"""`gapfinder run` as a user meets it: with the real nsys where its behaviour matters, else with a stub."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path

import databases
import pytest
from databases import MARK, Kernel, Range
from nsys_stub import nsys_stub

from gapfinder.compare.history import runs

ROOT = Path(__file__).parents[2]
SCRIPT = """
import nvtx, sys, time
print("training", flush=True)
for number in range(int(sys.argv[1])):
    with nvtx.annotate(f"step {number}"):
        time.sleep(0.005)
sys.exit(int(sys.argv[2]))
"""
TORCH = """
import torch
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(15):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "gapfinder", "run", *map(str, arguments)]


def surroundings_in(folder: Path) -> dict[str, str]:
    """The environment of a run: this Python is the active one, and gapfinder is this one."""
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    (folder / "tmp").mkdir()
    return {**os.environ, "PYTHONPATH": str(ROOT), "PATH": os.pathsep.join(paths), "TMPDIR": str(folder / "tmp")}


def script_in(folder: Path) -> Path:
    path = folder / "train.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def surroundings(tmp_path):
    return surroundings_in(tmp_path)


@pytest.fixture
def script(tmp_path):
    return script_in(tmp_path)


@pytest.fixture
def stub(tmp_path, surroundings):
    """A stub nsys whose export has one kernel."""
    program = nsys_stub(tmp_path / "bin")
    (program.parent / "database.sqlite").unlink()
    databases.nsys_database(program.parent / "database.sqlite", kernels=[Kernel(start=0, end=1_000)])
    surroundings["GAPFINDER_NSYS"] = str(program)
    return program


def run(*arguments: object, folder: Path, surroundings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=folder, env=surroundings, capture_output=True, text=True, timeout=100, check=False
    )


def record(folder: Path) -> dict[str, object]:
    return json.loads((folder / "run.json").read_text())


@pytest.fixture(scope="module")
def plain_run(tmp_path_factory) -> tuple[subprocess.CompletedProcess[str], Path, float]:
    """A run with the real nsys, its folder and how many seconds it took."""
    above = tmp_path_factory.mktemp("plain")
    folder = above / "new" / "of %q{RANK} 50%"
    words = ("--capture-range", "none", "-o", folder, script_in(above), 20, 7)
    began = time.monotonic()
    done = run(*words, folder=above, surroundings=surroundings_in(above))
    return done, folder, time.monotonic() - began


@pytest.mark.nsys
def test_p52_p54_p55_a_plain_script_with_the_real_nsys(plain_run):
    done, folder, _ = plain_run
    assert done.returncode == 7, done.stderr
    assert done.stdout.startswith("training\n")
    assert done.stderr.endswith("gapfinder: the training ended with exit code 7\nWrote new/of %q{RANK} 50%\n")
    files = {path.name for path in folder.iterdir() if path.is_file()}
    assert files == {"analysis.json", "report.html", "report.nsys-rep", "report.sqlite", "run.json"}
    assert json.loads((folder / "analysis.json").read_text())["source"]["files"] == ["report.sqlite"]
    assert (record(folder)["outcome"], record(folder)["exit_code"]) == ("captured", 7)


@pytest.mark.nsys
def test_p50_p51_the_hook_opens_the_window_of_the_real_nsys_and_the_training_goes_on(tmp_path, surroundings):
    script = tmp_path / "train.py"
    script.write_text(TORCH)
    done = run("--steps", "3:9", "-o", "run", script, folder=tmp_path, surroundings=surroundings)
    assert done.returncode == 0, done.stderr
    (process,) = record(tmp_path / "run")["processes"]
    assert (process["steps"], process["opened_at_step"], process["is_window_closed"]) == (15, 3, True)
    assert (tmp_path / "run" / "report.nsys-rep").exists()


@pytest.mark.nsys
def test_p60_sigterm_ends_the_training_and_its_report_is_analysed(tmp_path, script, surroundings):
    words = command("--capture-range", "none", "-o", "run", script, 10_000, 0)
    process = subprocess.Popen(
        words, cwd=tmp_path, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "training\n"
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=100)
    assert process.returncode == 143
    assert "the training ended with exit code 143 (SIGTERM)" in said
    assert (tmp_path / "run" / "analysis.json").exists()
    assert record(tmp_path / "run")["signals"] == ["SIGTERM"]


def test_everything_is_in_one_folder_and_two_at_once_have_two(tmp_path, script, stub, surroundings):
    words = command("--capture-range", "none", script, 1, 0)
    both = [
        subprocess.Popen(words, cwd=tmp_path, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=100) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    folders = sorted((tmp_path / "gapfinder-runs").iterdir())
    assert len(folders) == 2
    for folder in folders:
        assert json.loads((folder / "analysis.json").read_text())["lanes"][0]["kernels"] == 1
        assert "<html" in (folder / "report.html").read_text()
        assert oct((folder / "report.sqlite").stat().st_mode & 0o777) == "0o600"
        assert "PATH" not in (folder / "run.json").read_text()
    stored = runs(tmp_path / ".gapfinder" / "history.db")
    assert {one.label for one in stored} <= {folder.name for folder in folders}
    # both captures are the same, and a capture is stored once
    assert [(one.source, one.accepted, one.branch) for one in stored] == [("run", False, "main")]
    assert sum(b"run 1 of main" in stderr for _, stderr in said) == 2


def test_a_history_that_cannot_be_written_ends_no_run(tmp_path, script, stub, surroundings):
    (tmp_path / ".gapfinder").mkdir()
    store = tmp_path / ".gapfinder" / "history.db"
    store.write_text("no database")
    done = run("--capture-range", "none", "-o", "a", script, 1, 0, folder=tmp_path, surroundings=surroundings)
    told = [line for line in done.stderr.splitlines() if "history" in line]
    assert (done.returncode, len(told)) == (0, 1), done.stderr
    assert told[0].startswith("gapfinder: not stored in the history: ")
    assert (tmp_path / "a" / "report.html").exists()
    store.unlink()
    words = ("--no-history", "--capture-range", "none", "-o", "b", script, 1, 0)
    assert run(*words, folder=tmp_path, surroundings=surroundings).returncode == 0
    assert not store.exists()


def whole_files(folder: Path) -> set[str]:
    """The names of the files in a run folder, each of which is whole."""
    files = {path.name: path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")}
    for name, path in files.items():
        if name.endswith(".json"):
            json.loads(path.read_text())
        elif name == "report.html":
            assert path.read_text().rstrip().endswith("</html>")
        elif name == "report.sqlite":
            with closing(sqlite3.connect(path)) as database:
                assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        else:
            assert name == "report.nsys-rep"
    return set(files)


def kill_after(words: list[str], *, moment: float, folder: Path, surroundings: dict[str, str]) -> None:
    """Kill a run alone, not what it started, and wait until that has ended by itself."""
    process = subprocess.Popen(
        words, cwd=folder, env=surroundings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(moment)
    process.kill()
    process.wait()
    deadline = time.monotonic() + 60
    while left := started_with(f"TMPDIR={surroundings['TMPDIR']}"):
        assert time.monotonic() < deadline, f"a minute after the run was killed there is still {left}"
        time.sleep(0.1)


def started_with(variable: str) -> list[str]:
    """The command lines of all processes that have a variable in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if variable.encode() in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.mark.parametrize("after_s", [0.3, 0.8, 1.3])
def test_a_run_killed_at_any_moment_leaves_no_half_file(tmp_path, script, stub, surroundings, after_s):
    words = command("--capture-range", "none", "-o", "run", script, 20, 0)
    kill_after(words, moment=after_s, folder=tmp_path, surroundings=surroundings)
    if (tmp_path / "run").exists() and "report.nsys-rep" in whole_files(tmp_path / "run"):
        assert len((tmp_path / "run" / "report.nsys-rep").read_bytes()) == len("a report of ") + 16


@pytest.mark.nsys
def test_p60_after_runs_killed_at_any_moment_the_next_one_works(tmp_path, script, surroundings, plain_run):
    _, whole_folder, whole_s = plain_run
    words = ["--capture-range", "none", "-o"]
    moments = random.Random(3)  # noqa: S311
    for number in range(3):
        moment = whole_s * (number + moments.random()) / 3
        name = f"killed{number}"
        kill_after(command(*words, name, script, 20, 7), moment=moment, folder=tmp_path, surroundings=surroundings)
        if (tmp_path / name).exists():
            whole_files(tmp_path / name)
    done = run(*words, "last", script, 20, 7, folder=tmp_path, surroundings=surroundings)
    assert (done.returncode, record(tmp_path / "last")["outcome"]) == (7, "captured"), done.stderr
    assert whole_files(tmp_path / "last") == whole_files(whole_folder)


def test_no_report_is_exit_code_4_only_when_the_training_went_well(tmp_path, script, stub, surroundings):
    surroundings["STUB"] = "nothing"
    well = run("-o", "a", script, 1, 0, folder=tmp_path, surroundings=surroundings)
    assert (well.returncode, "no Python process that imports torch" in well.stderr) == (4, True)
    badly = run("-o", "b", script, 20, 9, folder=tmp_path, surroundings=surroundings)
    assert (badly.returncode, record(tmp_path / "b")["outcome"]) == (9, "window never opened")


def test_p59_ranks_without_gpu_work_are_named_once(tmp_path, script, stub, surroundings):
    marks = [
        Range(start=0, end=None, name=f"rank={rank} local_rank={rank} world_size=4 host=a", pid=pid, event_type=MARK)
        for rank, pid in enumerate((100, 101, 102, 103))
    ]
    kernels = [Kernel(start=0, end=1_000, device=pid - 100, pid=pid) for pid in (100, 101, 103)]
    (stub.parent / "database.sqlite").unlink()
    databases.nsys_database(stub.parent / "database.sqlite", kernels=kernels, ranges=marks)
    done = run("--capture-range", "none", "-o", "run", script, 1, 0, folder=tmp_path, surroundings=surroundings)
    assert done.returncode == 0, done.stderr
    (told,) = [line for line in (done.stdout + done.stderr).splitlines() if "rank 2" in line]
    assert told == "- no GPU work of rank 2 in this report (world size 4)"


def test_a_reader_that_stops_early_costs_neither_record_nor_exit_code(tmp_path, script, stub, surroundings):
    words = command("--capture-range", "none", "-o", "run", script, 1, 7)
    process = subprocess.Popen(
        words, cwd=tmp_path, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "training\n"
    process.stdout.close()
    with process.stderr:
        said = process.stderr.read()
    assert process.wait(timeout=100) == 7, said
    assert said.endswith("gapfinder: the training ended with exit code 7\nWrote run\n")
    assert "error" not in said
    assert (record(tmp_path / "run")["outcome"], record(tmp_path / "run")["exit_code"]) == ("captured", 7)


def test_p56_sessions_are_analysed_one_by_one(tmp_path, script, stub, surroundings):
    surroundings["STUB"] = "sessions"
    done = run("--capture-range", "none", "-o", "run", script, 1, 0, folder=tmp_path, surroundings=surroundings)
    assert done.returncode == 0, done.stderr
    for number in (1, 2, 3):
        analysis = json.loads((tmp_path / "run" / f"analysis.{number}.json").read_text())
        assert analysis["source"]["files"] == [f"report.{number}.sqlite"]


def test_a_dry_run_prints_a_command_and_runs_nothing(tmp_path, script, stub, surroundings):
    done = run("--dry-run", script, "a b", folder=tmp_path, surroundings=surroundings)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("NSYS_NVTX_PROFILER_REGISTER_ONLY=0 PYTHONPATH=")
    assert done.stdout.endswith(f" --output=RUN_FOLDER/.capture/report python {script} 'a b'\n")
    assert "'--nvtx-capture=gapfinder capture@*'" in done.stdout
    assert not (tmp_path / "gapfinder-runs").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["no-such.py"], 2, "no such script: no-such.py"),
        (["--", "no-such-program"], 2, "'no-such-program' is no program on PATH"),
        (["--steps", "5", "train.py"], 2, "not a range of steps: '5'"),
        (["--steps", "3:5", "--no-annotate", "train.py"], 2, "which --no-annotate turns off"),
        (["--steps", "3:5", "--capture-range", "none", "train.py"], 2, "which --capture-range turns off"),
        (["--capture-range", "nvtx", "train.py"], 2, "--nvtx-range NAME@DOMAIN"),
        (["--nsys-arg", "-o x", "train.py"], 2, "must not set --output"),
        (["--nsys-arg", "'x", "train.py"], 2, "no closing quotation"),
        (["--per-rank", "train.py"], 2, "does not know how python starts its ranks"),
        (["--nsys", "no-such-nsys", "train.py"], 4, "--nsys is 'no-such-nsys'"),
    ],
)
@pytest.mark.usefixtures("script", "stub")
def test_what_cannot_be_run_is_told_in_one_line_and_leaves_nothing(tmp_path, surroundings, arguments, code, told):
    done = run(*arguments, folder=tmp_path, surroundings=surroundings)
    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "gapfinder-runs").exists()
