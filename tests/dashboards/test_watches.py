"""Which watches there are, what became of their trainings, and the profiles made of their captures."""

from __future__ import annotations

import socket
import subprocess
import sys
import time

import pytest
from dashboard_watches import MS, row, state, write_watch

from dashboards.data.watches import Training, record_of, training_of, watches_in
from dashboards.jobs.captures import Watches
from dashboards.jobs.queue import Queue
from dashboards.store.store import Store
from gapfinder.watch.model import Event
from gapfinder.watch.record import TIMES_NAME


def test_every_watch_is_found_once_the_newest_first(tmp_path):
    runs = tmp_path / "gapfinder-runs"
    older = write_watch(runs / "older", state(started_at=1.0))
    newer = write_watch(runs / "newer", state(started_at=2.0))
    (runs / "a run").mkdir()
    assert watches_in([tmp_path / "nowhere"]) == []
    found = watches_in([runs, newer])
    assert [(one.folder, one.key) for one in found] == [(newer, "newer"), (older, "older")]


def test_watches_of_one_name_are_told_apart(tmp_path):
    folders = [write_watch(tmp_path / node / "run", state()) for node in ("node1", "node2")]
    assert [one.key for one in watches_in(folders)] == [str(folder) for folder in folders]


def test_a_record_is_read_again_only_when_it_has_changed(tmp_path):
    folder = write_watch(tmp_path / "run", state(), times=[row(5)])
    (first,) = watches_in([folder])
    assert watches_in([folder]) == [first]
    assert record_of(first) is record_of(first)
    write_watch(folder, None, times=[row(10)])
    (second,) = watches_in([folder])
    assert second.mark != first.mark
    assert len(record_of(second).times) == 2


def read(folder):
    (watched,) = watches_in([folder])
    return record_of(watched)


def test_a_record_is_followed_by_whole_lines_whatever_becomes_of_its_file(tmp_path):
    began, went_on = Event(at=1.0, text="it began"), Event(at=2.0, text="it went on")
    known = state()
    folder = write_watch(tmp_path / "run", known, times=[row(5)], events=[began])
    assert (read(folder).state, read(folder).times, read(folder).events) == (known, (row(5),), (began,))
    times = folder / TIMES_NAME
    whole = times.read_text()
    line = whole.splitlines()[-1]
    with times.open("a") as file:
        file.write(line[:20])
        file.flush()
        assert len(read(folder).times) == 1
        file.write(f"{line[20:]}\nno row\n")
    assert (len(read(folder).times), read(folder).unread) == (2, 1)
    write_watch(folder, None, times=[row(15)], events=[went_on])
    assert read(folder).times == (row(5), row(5), row(15))
    assert read(folder).events == (began, went_on)
    times.write_text(whole)  # made shorter in its place
    assert (len(read(folder).times), read(folder).unread) == (1, 0)
    times.unlink()
    assert (read(folder).times, len(read(folder).events)) == ((), 2)


def test_a_record_that_was_made_anew_is_read_anew(tmp_path):
    folder = write_watch(tmp_path / "run", state(), times=[row(5), row(10)])
    assert len(read(folder).times) == 2
    part = tmp_path / "part"
    part.write_text("\n".join([(folder / TIMES_NAME).read_text().splitlines()[-1]] * 3 + [""]))
    part.replace(folder / TIMES_NAME)
    assert [one.step for one in read(folder).times] == [100, 100, 100]


def test_a_record_of_weeks_takes_no_more_and_more_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("gapfinder.watch.following._MOST_TIMES", 10)
    folder = write_watch(tmp_path / "run", state())
    for place in range(1, 200):
        write_watch(folder, None, times=[row(5.0 * place, p99=900 * MS if place == 50 else None)])
        kept = read(folder).times
        assert len(kept) <= 20
    assert kept[-1].at == row(5.0 * 199).at
    assert max(one.p99_ns for one in kept) == 900 * MS


def ended_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize(
    ("changed", "training"),
    [
        ({}, Training.RUNNING),
        ({"training_exit_code": 0}, Training.ENDED),
        ({"training_exit_code": 3, "ended_at": 5.0}, Training.ENDED),
        ({"ended_at": 5.0}, Training.UNKNOWN),
        ({"host": f"not-{socket.gethostname()}"}, Training.ELSEWHERE),
        ({"pid": ended_process}, Training.WATCH_GONE),
        ({"started_at": 5.0}, Training.WATCH_GONE),  # this process began later: another one had its number
        ({"pid": 2**62}, Training.WATCH_GONE),
    ],
)
def test_what_became_of_a_training_is_told_as_far_as_it_is_known(changed, training):
    changed = {name: value() if callable(value) else value for name, value in changed.items()}
    assert training_of(state(**changed)) is training


@pytest.fixture
def store(tmp_path):
    one = Store(tmp_path / "store")
    yield one
    one.close()


def report(folder, name="report.sqlite", content=b"SQLite format 3\x00"):
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / name
    path.write_bytes(content)
    return path


def test_a_capture_becomes_a_profile_once(tmp_path, store):
    watches = Watches((), store=store, queue=Queue(store))
    path = report(tmp_path / "captures" / "001")
    assert watches.profile_of(path) is None
    for _ in range(2):
        watches.take({path: "train, capture 1"})
    (profile,) = store.profiles()
    assert (profile.name, profile.files, profile.is_uploaded) == ("train, capture 1", (path,), False)
    assert watches.profile_of(path) == profile.id
    assert [job.profile for job in store.jobs()] == [profile.id]
    store.remove(profile.id)
    watches.take({path: "train, capture 1"})
    assert store.profiles() == []


def test_a_capture_that_is_refused_is_told_and_tried_again(tmp_path, store):
    watches = Watches((), store=store, queue=Queue(store))
    path = tmp_path / "captures" / "001" / "report.sqlite"
    watches.take({path: "a capture"})
    assert str(path) in watches.trouble_of(path)
    report(path.parent)
    watches.take({path: "a capture"})
    assert watches.trouble_of(path) is None
    assert watches.profile_of(path) == store.profiles()[0].id


def test_many_captures_are_taken_in_turns(tmp_path, store, monkeypatch):
    paths = [report(tmp_path / str(place), content=f"SQLite format 3\x00{place}".encode()) for place in range(3)]
    watches = Watches((), store=store, queue=Queue(store))
    lost = tmp_path / "lost" / "report.sqlite"
    moments = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: next(moments))  # each takes a second, which is too long
    reached = []
    for _ in range(5):
        watches.take(dict.fromkeys([lost, *paths], "a capture"))
        reached.append([watches.profile_of(path) is not None for path in paths])
    assert reached == [[False] * 3, [True, False, False], [True, True, False], [True] * 3, [True] * 3]
    assert watches.trouble_of(lost) is not None
