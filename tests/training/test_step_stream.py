"""What a reader of step times shows: every step once, none that is torn, and how many it came too late for."""

import os
import subprocess
import sys

import pytest

from gapfinder.training.startup._gapfinder_hook.place import Place
from gapfinder.training.startup._gapfinder_hook.step_stream import (
    COUNT_WORD,
    ENTRIES,
    FIRST_WORD,
    StepStream,
)
from gapfinder.training.step_stream import MarkSwitch, StepReader

_PLACE = Place(3, 8, 1, is_final=False)
# Writes as fast as it can, with a step time that tells whether an entry is of its step.
_FAST = """
import sys
sys.path.insert(0, sys.argv[1])
from _gapfinder_hook.place import Place
from _gapfinder_hook.step_stream import ENTRIES, FIRST_WORD, WRITTEN_WORD, StepStream
words = StepStream(sys.argv[2], place=Place(0, 1, 0, is_final=False), now_ns=0).words
for step in range(int(sys.argv[3])):
    at = FIRST_WORD + step % ENTRIES * 2
    words[at] = (step + 1) * 1000
    words[at + 1] = step * 1000 + step % 999
    words[WRITTEN_WORD] = step + 1
"""


def _end(stream, step, *, begun_at=1_000, lasts=100, backward=30):
    stream.times += (begun_at + (step + 1) * lasts, begun_at + step * lasts + backward)
    stream.words[COUNT_WORD] = step + 1
    stream.write()


@pytest.fixture
def stream(tmp_path):
    return StepStream(str(tmp_path), place=_PLACE, now_ns=1_000)


def _poll(reader):
    (one,) = reader.poll()
    return one


def test_a_process_without_steps_is_known(tmp_path, stream):
    one = _poll(StepReader(tmp_path))
    assert (one.pid, one.host, one.rank, one.local_rank, one.world_size) == (os.getpid(), os.uname().nodename, 3, 1, 8)
    assert (one.begun_at_ns, one.steps, one.total, one.missed) == (1_000, (), 0, 0)


def test_steps_come_once_with_their_times(tmp_path, stream):
    reader = StepReader(tmp_path)
    _end(stream, 0)
    _end(stream, 1)
    assert [(s.number, s.ended_at_ns, s.duration_ns, s.apart_ns) for s in _poll(reader).steps] == [
        (0, 1_100, None, 70),
        (1, 1_200, 100, 70),
    ]
    assert _poll(reader).steps == ()
    _end(stream, 2)
    assert [(s.number, s.duration_ns) for s in _poll(reader).steps] == [(2, 100)]


def test_a_step_counts_before_its_times_are_written(tmp_path, stream):
    reader = StepReader(tmp_path)
    _end(stream, 0)
    stream.times += (1_200, 1_300)
    stream.words[COUNT_WORD] = 2
    one = _poll(reader)
    assert ([s.number for s in one.steps], one.total, one.missed) == ([0], 2, 0)
    stream.write()
    assert [(s.number, s.duration_ns, s.apart_ns) for s in _poll(reader).steps] == [(1, 100, 0)]  # never below 0


def test_what_was_overwritten_is_counted(tmp_path, stream):
    reader = StepReader(tmp_path)
    for step in range(10):
        _end(stream, step)
    assert len(_poll(reader).steps) == 10
    for step in range(10, 10 + 3 * ENTRIES):
        _end(stream, step)
    one = _poll(reader)
    assert (one.total, one.missed + len(one.steps)) == (10 + 3 * ENTRIES, 3 * ENTRIES)
    assert ENTRIES * 0.9 < len(one.steps) < ENTRIES
    assert [s.number for s in one.steps] == list(range(10 + one.missed, one.total))
    assert {(s.duration_ns, s.apart_ns) for s in one.steps} == {(100, 70)}


@pytest.mark.parametrize("word", [0, 1])
def test_a_word_of_the_last_time_round_is_not_shown(tmp_path, stream, word):
    for step in range(ENTRIES + 5):
        _end(stream, step)
    reader = StepReader(tmp_path)
    _poll(reader)
    at = FIRST_WORD + 5 * 2 + word
    old = stream.words[at]
    _end(stream, ENTRIES + 5)
    new, stream.words[at] = stream.words[at], old  # as a machine may show it that writes in another order
    assert _poll(reader).steps == ()
    stream.words[at] = new
    assert [(s.number, s.duration_ns, s.apart_ns) for s in _poll(reader).steps] == [(ENTRIES + 5, 100, 70)]


def test_a_clock_that_goes_back_costs_one_step(tmp_path, stream):
    reader = StepReader(tmp_path)
    for step in range(3):
        _end(stream, step, begun_at=9_000)
    for step in range(3, 6):
        _end(stream, step)
    polls = [_poll(reader) for _ in range(4)]
    assert [[s.number for s in one.steps] for one in polls] == [[0, 1, 2], [], [4, 5], []]
    assert [one.missed for one in polls] == [0, 0, 1, 0]
    assert [s.duration_ns for s in polls[2].steps] == [100, 100]


def test_nothing_is_torn_while_a_fast_writer_goes_round(tmp_path):
    from gapfinder.training.environment import STARTUP_FOLDER

    total = 1_000_000
    writer = subprocess.Popen([sys.executable, "-c", _FAST, str(STARTUP_FOLDER), str(tmp_path), str(total)])
    reader = StepReader(tmp_path)
    expected = polls = missed = 0
    while expected < total:
        is_done = writer.poll() is not None
        for one in reader.poll():
            polls += 1
            missed += one.missed
            expected += one.missed
            for step in one.steps:
                assert (step.number, step.ended_at_ns) == (expected, (expected + 1) * 1000)
                assert step.duration_ns == (1000 if expected else None)
                assert step.apart_ns == 1000 - expected % 999
                expected += 1
            assert expected <= one.total
        assert not is_done or expected == total
    assert writer.wait() == 0
    assert polls > 5


def test_a_later_process_of_the_same_pid_begins_anew(tmp_path, stream):
    reader = StepReader(tmp_path)
    _end(stream, 0)
    assert _poll(reader).total == 1
    _end(stream, 1)
    later = StepStream(str(tmp_path), place=Place(2, 8, 1, is_final=False), now_ns=9_000)
    _end(later, 0, begun_at=9_000)
    second, first = reader.poll()
    assert (first.rank, first.begun_at_ns, [s.number for s in first.steps]) == (3, 1_000, [1])
    assert (second.rank, second.begun_at_ns, [s.number for s in second.steps]) == (2, 9_000, [0])
    assert _poll(reader).begun_at_ns == 9_000


def test_a_place_that_is_known_later_is_told(tmp_path, stream):
    reader = StepReader(tmp_path)
    assert _poll(reader).world_size == 8
    stream.tell(Place(70_000, 100_000, 7, is_final=True))
    one = _poll(reader)
    assert (one.rank, one.local_rank, one.world_size) == (70_000, 7, 100_000)


def _header(path):
    return next(one for one in path.iterdir() if one.suffix == ".steps")


@pytest.mark.parametrize(
    ("at", "content"), [(0, b"notsteps"), (8, b"\x01\0\0\0"), (12, b"\x01\0\0\0"), (COUNT_WORD * 8, b"\xff" * 8)]
)
def test_what_another_version_wrote_is_not_read(tmp_path, stream, at, content):
    _end(stream, 0)
    with _header(tmp_path).open("r+b") as file:
        file.seek(at)
        file.write(content)
    assert StepReader(tmp_path).poll() == ()


def test_what_is_no_stream_is_left_out(tmp_path, stream):
    (tmp_path / "empty.steps").write_bytes(b"")
    (tmp_path / "short.steps").write_bytes(_header(tmp_path).read_bytes()[:5_000])
    (tmp_path / "folder.steps").mkdir()
    (tmp_path / "loop.steps").symlink_to("loop.steps")
    os.mkfifo(tmp_path / "pipe.steps")
    assert _poll(StepReader(tmp_path)).pid == os.getpid()


def test_a_folder_that_is_gone_has_no_streams(tmp_path, stream):
    assert StepReader(tmp_path / "gone").poll() == ()
    with StepReader(tmp_path) as reader:
        assert _poll(reader).total == 0
        _end(stream, 0)
        _header(tmp_path).unlink()
        tmp_path.rmdir()
        assert _poll(reader).total == 1  # what is open is read on
    assert reader.poll() == ()


def test_the_switch_never_shrinks(tmp_path):
    switch = MarkSwitch(tmp_path)
    with pytest.raises(FileNotFoundError):
        switch.turn_on()
    seen = []
    for act in (switch.make, switch.turn_on, switch.turn_off, switch.turn_on, switch.make):
        act()
        seen.append((tmp_path / "marks").read_bytes())
    assert seen == [b"\0", b"\1", b"\0", b"\1", b"\0"]
