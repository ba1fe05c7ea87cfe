"""Programs that hang, die or babble, and system calls that do not return; and this machine itself."""

from __future__ import annotations

import os
import threading
import time

import pytest

from gapfinder.doctor.check import NotCheckedError, numbered, ranges
from gapfinder.doctor.machine import this_machine
from gapfinder.doctor.programs import Programs, within


@pytest.fixture
def folder(tmp_path):
    def write(name, script):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    write("babble", r"printf 'first\n\377\376 last\n'; echo no good >&2; exit 3")
    write("hang", f"echo $$ > {tmp_path}/started; echo once >> {tmp_path}/calls; sleep 60 & wait")
    write("count", f"echo x >> {tmp_path}/lines; wc -l < {tmp_path}/lines")
    write("where", "echo $LC_ALL")
    write("endless", "exec yes")
    write("silent", "exec >&- 2>&-; sleep 60")
    (tmp_path / "broken").write_bytes(b"\x7fELF")
    (tmp_path / "broken").chmod(0o755)
    return tmp_path


@pytest.fixture
def programs(folder):
    return Programs({"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"})


def test_what_is_no_text_is_read_all_the_same(programs):
    ran = programs(("babble",), 10)
    assert (ran.code, ran.output, ran.words()) == (3, "first\n\ufffd\ufffd last\n", "no good")


def test_a_command_runs_once(programs, folder):
    assert [programs(("count",), 10).output.strip() for _ in range(3)] == ["1", "1", "1"]
    assert programs(("count", "again"), 10).output.strip() == "2"


def test_programs_speak_english(programs):
    assert programs(("where",), 10).output == "C\n"


@pytest.mark.parametrize(("name", "words"), [("nowhere", "nowhere not found"), ("broken", "broken cannot be run: ")])
def test_a_program_that_is_not_there_or_none_is_not_checked(name, words, programs):
    with pytest.raises(NotCheckedError, match=words):
        programs((name,), 10)


def test_a_program_that_never_stops_talking_is_ended_before_memory_is_full(programs):
    with pytest.raises(NotCheckedError, match=r"endless cannot be run: it printed more than 16\.00 MB"):
        programs(("endless",), 60)


def test_a_program_that_closes_its_output_and_stays_is_not_waited_for(programs):
    with pytest.raises(NotCheckedError, match=r"silent gave no answer within 0\.3 s"):
        programs(("silent",), 0.3)


def test_a_program_that_hangs_costs_its_time_once_and_leaves_nothing(programs, folder):
    for command in (("hang",), ("hang", "--other")):
        with pytest.raises(NotCheckedError, match=r"hang gave no answer within 0\.5 s"):
            programs(command, 0.5)
    assert (folder / "calls").read_text() == "once\n"
    group = int((folder / "started").read_text())
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    pytest.fail("its child is still there")


def test_a_system_call_that_does_not_return_is_not_waited_for():
    never = threading.Event()
    with pytest.raises(NotCheckedError, match=r"the disk gave no answer within 0\.05 s"):
        within(0.05, never.wait, what="the disk")
    never.set()


def test_what_a_system_call_answers_or_raises_is_passed_on():
    def fail() -> None:
        raise PermissionError(13, "Permission denied")

    assert within(5, lambda: 7, what="it") == 7
    with pytest.raises(PermissionError):
        within(5, fail, what="it")


def test_this_machine_answers(tmp_path):
    here = this_machine(output=tmp_path)
    assert here.read("/proc/self/status")
    assert here.read("/no/such/file") is None
    assert here.names("/no/such/folder") == []
    space = here.space(tmp_path)
    assert (space.total_bytes >= space.free_bytes > 0, space.is_writable) == (True, True)
    with pytest.raises(FileNotFoundError):
        here.space(tmp_path / "none")
    assert here.addresses("127.0.0.1") == ("127.0.0.1",)
    assert here.addresses("no such host.invalid") == ()
    assert here.cpus


@pytest.mark.parametrize(
    ("numbers", "text"), [([0, 1, 2, 7], "0-2, 7"), ([3], "3"), ([2, 1], "1-2"), ([1, 1, 3], "1, 3"), ([], "")]
)
def test_numbers_are_told_as_ranges(numbers, text):
    assert ranges(numbers) == text


def test_what_is_alike_is_told_together():
    told = numbered("GPU", [(0, "16 lanes"), (3, "8 lanes"), (1, "16 lanes")])
    assert told == "GPUs 0-1: 16 lanes; GPU 3: 8 lanes"
