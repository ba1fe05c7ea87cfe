"""Many reports, some lost, late or broken: the answer is that of one after the other, and names what it lacks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import worker_tasks
from click.testing import CliRunner

from gapfinder.analysis import analyze, join_reports
from gapfinder.cli.app import commands
from gapfinder.cluster.measuring import measure_files
from gapfinder.cluster.memory import estimated_need, fits, free_memory
from gapfinder.cluster.workers import LocalProcesses, ThisProcess, local_workers
from gapfinder.errors import InputError
from gapfinder.load import load_profile
from gapfinder.render import render_json
from gapfinder.settings import Settings
from sample_profiles.build import build_profile

ROOT = Path(__file__).parents[2]
STATES = ("fsdp", "one_stream", "slow_rank")
TWO = LocalProcesses(count=2)


@pytest.fixture(scope="session")
def built(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("reports")
    files = [folder / f"rank_{number}.sqlite" for number in range(len(STATES))]
    for state, file in zip(STATES, files, strict=True):
        build_profile(state, file, seed=3, steps=3, ranks=2)
    return files


@pytest.fixture
def files(built, tmp_path) -> list[Path]:
    return [Path(shutil.copy(file, tmp_path)) for file in built]


def one_after_the_other(files: list[Path]) -> str:
    return render_json(analyze(map(load_profile, files)))


def joined(measured) -> str:
    return render_json(join_reports(measured.reports, settings=Settings()))


@pytest.mark.parametrize("workers", [ThisProcess(), TWO], ids=["here", "processes"])
def test_workers_give_the_bytes_of_one_after_the_other(files, workers):
    measured = measure_files(files, settings=Settings(), workers=workers, task=worker_tasks.first_is_last)
    assert measured.left_out == ()
    assert joined(measured) == one_after_the_other(files)


def test_a_worker_killed_in_the_middle_changes_nothing(files):
    measured = measure_files(files, settings=Settings(), workers=TWO, task=worker_tasks.dies_once)
    died = files[1].with_suffix(".died")
    assert int(died.read_text()) != os.getpid()
    assert measured.left_out == ()
    assert joined(measured) == one_after_the_other(files)


def test_a_report_that_always_takes_its_worker_along_is_named_and_left_out(files):
    measured = measure_files(files, settings=Settings(), workers=TWO, task=worker_tasks.always_dies)
    assert [one.path for one in measured.left_out] == [files[1]]
    assert measured.left_out[0].sentence.startswith("left out: rank_1.sqlite: its worker died twice")
    assert len(set(files[1].with_suffix(".died").read_text().split())) == 2
    assert joined(measured) == one_after_the_other([files[0], files[2]])


class BreaksBetweenTasks(ThisProcess):
    """A worker dies when nothing is under way: handing in the second task shows it."""

    handed_in = 0

    def lost(self):
        return (BrokenExecutor,)

    @contextmanager
    def open(self):
        yield self

    def submit(self, task, *given):
        type(self).handed_in += 1
        if self.handed_in == 2:
            raise BrokenExecutor
        with ThisProcess.open(self) as executor:
            return executor.submit(task, *given)


def test_a_worker_that_dies_between_two_tasks_takes_no_report_along(files):
    workers = BreaksBetweenTasks()
    measured = measure_files(files, settings=Settings(), workers=workers)
    assert (measured.left_out, workers.handed_in) == ((), 4)
    assert joined(measured) == one_after_the_other(files)


def test_a_broken_report_does_not_take_the_others_along(files):
    with files[0].open("r+b") as file:
        file.truncate(100_000)
    measured = measure_files(files, settings=Settings(), workers=ThisProcess())
    assert [one.path for one in measured.left_out] == [files[0]]
    assert joined(measured) == one_after_the_other(files[1:])


def test_a_bug_is_no_report_left_out(files):
    with pytest.raises(ZeroDivisionError, match="rank_"):
        measure_files(files, settings=Settings(), workers=TWO, task=worker_tasks.has_a_bug)


def test_what_takes_more_than_a_worker_may_have_is_left_out(files):
    enough = LocalProcesses(count=1, memory=1_000_000_000)
    assert measure_files(files[:1], settings=Settings(), workers=enough, task=worker_tasks.takes_memory).left_out == ()
    (one,) = measure_files(files[:1], settings=Settings(), workers=LocalProcesses(count=1, memory=20_000)).left_out
    assert isinstance(one.error, InputError)
    assert one.sentence.startswith(
        "left out: rank_0.sqlite: needs more memory than --memory allows; allow more, or measure"
    )


def test_watching_tells_what_runs_and_what_is_done(files):
    seen = []
    measure_files(
        files,
        settings=Settings(),
        workers=ThisProcess(),
        watch=lambda running, done: seen.append(([path.stem for path in running], done)),
    )
    assert seen == [(["rank_0"], 0), (["rank_1"], 1), (["rank_2"], 2)]


def test_a_worker_ends_with_the_process_that_started_it(files):
    code = (
        "import sys; from pathlib import Path; import worker_tasks\n"
        "from gapfinder.cluster.measuring import measure_files; from gapfinder.cluster.workers import LocalProcesses\n"
        "from gapfinder.settings import Settings\n"
        "if __name__ == '__main__':\n"
        "    measure_files([Path(sys.argv[1])], settings=Settings(), workers=LocalProcesses(count=1),"
        " task=worker_tasks.waits)\n"
    )
    script = files[0].with_name("parent.py")
    script.write_text(code)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    parent = subprocess.Popen([sys.executable, script, files[0]], env=environment)
    number = files[0].with_suffix(".pid")
    try:
        assert _within(30, lambda: number.exists() and number.read_text())
    finally:
        parent.kill()
        parent.wait()
    assert _within(10, lambda: not Path(f"/proc/{number.read_text()}").exists())


def _within(seconds: float, holds) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False


def test_a_large_report_waits_until_it_is_alone():
    assert fits(5, beside=[4], free=9)
    assert not fits(6, beside=[4], free=9)
    assert fits(10, beside=[], free=9)
    assert fits(10, beside=[4], free=None)
    free = free_memory()
    assert free is None or 0 <= free < 1 << 50


def test_room_is_for_so_many_and_for_so_much(files):
    need = estimated_need(files[0])
    assert need > files[0].stat().st_size
    assert estimated_need(files[0].with_suffix(".nsys-rep")) < need  # not there
    workers = LocalProcesses(count=2, free=need + estimated_need(files[1]))
    assert workers.has_room(files[0], beside=[files[1]])
    assert not workers.has_room(files[0], beside=files[1:])
    assert not LocalProcesses(count=2, free=need).has_room(files[0], beside=[files[1]])
    assert LocalProcesses(count=2, free=need, memory=need // 2).has_room(files[0], beside=[files[1]])


def test_a_compressed_report_needs_what_it_is_when_unpacked(tmp_path):
    plain, packed = tmp_path / "a.sqlite", tmp_path / "a.sqlite.zst"
    for path in (plain, packed):
        path.write_bytes(bytes(1_000_000))
    assert estimated_need(packed) > 5 * 1_000_000 > estimated_need(plain) - 150_000_000


def test_processes_are_for_many_large_reports(files, tmp_path):
    assert local_workers(files, count=None, memory=None) == ThisProcess()
    assert local_workers(files, count=1, memory=None) == ThisProcess()
    assert local_workers(files[:1], count=8, memory=None) == ThisProcess()
    chosen = local_workers(files, count=8, memory=None)
    assert isinstance(chosen, LocalProcesses)
    assert chosen.count == 3
    assert isinstance(local_workers(files[:1], count=1, memory=10**9), LocalProcesses)
    for path in files:
        os.truncate(path, 100_000_000)  # holes in a file take no space
    large = local_workers(files, count=None, memory=None)
    cpus = len(os.sched_getaffinity(0))
    assert large == ThisProcess() if cpus == 1 else isinstance(large, LocalProcesses) and large.count == min(cpus, 3)


def run(*arguments: object):
    return CliRunner().invoke(commands, ["analyze", *map(str, arguments)])


def test_the_command_gives_the_same_bytes_with_any_number_of_workers(files):
    pattern = files[0].parent / "rank_*.sqlite"
    one, two = (run(pattern, "--format", "json", "--workers", count) for count in (1, 2))
    assert (one.exit_code, two.exit_code) == (0, 0)
    assert one.stdout == two.stdout == run(files[0].parent, "--format", "json").stdout
    assert one.stderr == two.stderr == ""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_report_left_out_is_named_and_the_exit_code_is_3(files, workers):
    with files[1].open("r+b") as file:
        file.truncate(100_000)
    result = run(*files, "--format", "json", "--workers", workers)
    assert result.exit_code == 3
    first, second = result.stderr.splitlines()
    assert first.startswith("gapfinder: left out: rank_1.sqlite: is cut off")
    assert second == "gapfinder: error: the report is about 2 of 3 files; see above"
    told = json.loads(result.stdout)
    assert told["coverage"]["notes"][0] == first.removeprefix("gapfinder: ")
    assert told["source"]["files"] == ["rank_0.sqlite", "rank_2.sqlite"]


def test_where_no_report_can_be_measured_its_error_is_the_answer(files):
    for path in files:
        os.truncate(path, 100_000)
    result = run(*files)
    assert (result.exit_code, result.stdout) == (2, "")
    assert [line.split(": ", 3)[1:3] for line in result.stderr.splitlines()] == [
        ["left out", "rank_1.sqlite"],
        ["left out", "rank_2.sqlite"],
        ["error", "rank_0.sqlite"],
    ]


@pytest.mark.parametrize("options", [["--workers", "2"], ["--memory", "1GB"]])
def test_dask_workers_are_not_processes_of_ours(files, options):
    result = run(*files, "--scheduler", "tcp://127.0.0.1:1", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--workers and --memory are for this machine" in result.stderr


def test_a_memory_that_is_no_size_is_an_error(files):
    assert run(*files, "--memory", "much").exit_code == 2


def test_ctrl_c_is_held_back_from_the_process_that_loads_libraries():
    program = (
        "from gapfinder.cluster import workers; workers._load_libraries()\n"
        "from multiprocessing.forkserver import _forkserver; from pathlib import Path\n"
        "print(Path(f'/proc/{_forkserver._forkserver_pid}/status').read_text())"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    (blocked,) = (line.split()[1] for line in told.splitlines() if line.startswith("SigBlk:"))
    assert int(blocked, 16) & 1 << signal.SIGINT - 1


def test_a_pipe_to_a_worker_that_is_gone_does_not_end_the_command():
    def held_back():
        return signal.SIGPIPE in signal.pthread_sigmask(signal.SIG_BLOCK, ())

    assert not held_back()
    with LocalProcesses(count=1).open(), ThreadPoolExecutor(1) as threads:
        assert threads.submit(held_back).result()
    assert not held_back()


def test_ctrl_c_ends_a_worker_without_a_word():
    code = (
        "from gapfinder.cluster.process import prepare_worker; import os, signal\n"
        "prepare_worker(None); os.kill(os.getpid(), signal.SIGINT)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


def test_ctrl_c_in_the_middle_is_one_line_and_leaves_no_process(files):
    script = files[0].with_name("interrupted.py")
    script.write_text(
        "import functools, signal, worker_tasks; import gapfinder.cluster.measuring as measuring\n"
        "from gapfinder.cli import main\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it\n"
        "    measuring.measure_files = functools.partial(measuring.measure_files, task=worker_tasks.waits)\n"
        "    main()\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    command = [sys.executable, script, "analyze", *files[:2], "--workers", "2"]
    parent = subprocess.Popen(
        command,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert _within(60, lambda: all(path.with_suffix(".pid").exists() for path in files[:2]))
        os.killpg(parent.pid, signal.SIGINT)
        _, told = parent.communicate(timeout=30)
        assert (told, parent.returncode) == ("gapfinder: interrupted\n", 130)
        assert _within(20, lambda: not _is_there(parent.pid))
    finally:
        if _is_there(parent.pid):
            os.killpg(parent.pid, signal.SIGKILL)


def _is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
