"""The record of a watch: read as it was written, whatever the disk and other people do to it."""

from __future__ import annotations

import errno
import json
import os
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from gapfinder.watch import record as record_module
from gapfinder.watch.following import FollowedRecord
from gapfinder.watch.model import CaptureRecord, CaptureState, Event, TimesRow, Trigger, TriggerKind, WatchState
from gapfinder.watch.record import Record, find_watches, read_state
from gapfinder.watch.thinning import thin_out

ROW = TimesRow(
    at=10.5, rank=0, step=99, steps=100, mean_ns=50, p50_ns=49, p99_ns=90, longest_ns=95, apart_ns=20,
    is_disturbed=False,
)  # fmt: skip
EVENT = Event(at=11.0, text="rank 1 lags", capture=1)
STATE = WatchState(
    name="train",
    command=("torchrun", "train.py"),
    host="node0",
    pid=7,
    started_at=1.5,
    usual_ns=50,
    captures=(
        CaptureRecord(
            number=1,
            trigger=Trigger(kind=TriggerKind.LAG, step=99, rank=1, before_ns=20, now_ns=40, sentence="rank 1 lags"),
            state=CaptureState.DONE,
            started_at=12.0,
            first_step=100,
            end_step=120,
            folder="captures/001",
        ),
    ),
)


def read_record(folder):
    return FollowedRecord(folder).read("as it is now")


@pytest.fixture
def lost():
    return []


@pytest.fixture
def record(tmp_path, lost):
    return Record(tmp_path, report=lost.append)


def test_what_was_written_is_read(tmp_path, record, lost):
    record.write_state(STATE)
    record.add_times([ROW, replace(ROW, rank=1)])
    record.add_times([replace(ROW, at=15.5)])
    record.add_event(EVENT)
    found = read_record(tmp_path)
    assert found.state == STATE
    assert found.times == (ROW, replace(ROW, rank=1), replace(ROW, at=15.5))
    assert found.events == (EVENT,)
    assert (found.unread, lost) == (0, [])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.jsonl", "times.jsonl", "watch.json"]


def test_nothing_there_is_nothing_read(tmp_path):
    assert read_record(tmp_path / "none") == read_record(tmp_path)
    assert read_record(tmp_path).state is None
    assert find_watches(tmp_path / "none") == find_watches(tmp_path) == ()


def test_the_watch_that_started_last_comes_first(tmp_path, lost):
    for name, started_at in (("a", 5.0), ("b", 9.0), ("c", 7.0)):
        (tmp_path / name).mkdir()
        Record(tmp_path / name, report=lost.append).write_state(replace(STATE, started_at=started_at))
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "watch.json").write_text("{")
    (tmp_path / "other").mkdir()
    assert [path.name for path in find_watches(tmp_path)] == ["b", "c", "a", "d"]
    assert find_watches(tmp_path / "a") == (tmp_path / "a",)


@pytest.mark.parametrize(
    "line",
    [
        b'{"at": 10.5, "rank": 0, "st',
        b"[" * 100_000,
        b'{"at": 1e999}',
        b"NaN",
        b"\xff\xfe\x00",
        b"9" * 10_000,
        b'"' + b"x" * 1_000_000 + b'"',
        json.dumps({"at": "<script>", "text": "x"}).encode(),
        json.dumps({"at": True, "text": "x"}).encode(),
        json.dumps({"at": 10**400, "text": "x"}).encode(),
        json.dumps({"at": -1, "text": "x"}).encode(),
        json.dumps({"at": 1, "text": "x", "capture": 1.5}).encode(),
        json.dumps({"at": 1, "text": ["x"]}).encode(),
    ],
)
def test_a_line_that_is_no_event_is_left_out_and_counted(tmp_path, record, line):
    record.add_event(EVENT)
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(line + b"\n")
    record.add_event(EVENT)
    found = read_record(tmp_path)
    assert found.events == (EVENT, EVENT)
    assert found.unread == 1


def test_markup_is_text_and_control_characters_are_spelled_out(tmp_path):
    text = "<b>\x1b[31m\u202e\ud800"
    (tmp_path / "events.jsonl").write_text(json.dumps({"at": 1, "text": text, "later": 1}) + "\n")
    (event,) = read_record(tmp_path).events
    assert event.text == "<b>\\x1b[31m\\u202e\\ud800"


@pytest.mark.parametrize("folder", ["/etc", "../other", "captures/../../x"])
def test_a_capture_leads_nowhere_outside_the_folder(tmp_path, record, folder):
    record.write_state(replace(STATE, captures=(replace(STATE.captures[0], folder=folder),)))
    assert read_state(tmp_path).captures[0].folder == ""


@pytest.mark.parametrize(
    "change", [{"captures": {}}, {"command": "x"}, {"captures": [1]}, {"pid": None}, {"usual_ns": "1"}, {"host": 1}]
)
def test_a_state_of_wrong_types_is_none(tmp_path, record, change):
    record.write_state(STATE)
    path = tmp_path / "watch.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert read_state(tmp_path) is None


@pytest.mark.parametrize("name", ["watch.json", "times.jsonl", "events.jsonl"])
def test_a_folder_or_a_pipe_in_place_of_a_file_is_nothing(tmp_path, name):
    (tmp_path / name).mkdir()
    assert read_record(tmp_path).events == ()
    (tmp_path / name).rmdir()
    os.mkfifo(tmp_path / name)
    assert read_record(tmp_path).times == ()


def test_a_gigabyte_of_times_needs_bounded_memory(tmp_path):
    line = json.dumps({**json.loads(record_module._line(ROW)), "at": 5}).encode()
    with (tmp_path / "times.jsonl").open("wb") as file:
        file.truncate(1_000_000_000)  # a hole: one line of zeros
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + line + b"\n")
    tracemalloc.start()
    found = read_record(tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.times == (replace(ROW, at=5.0),)
    assert peak < 200_000_000


def test_many_rows_are_merged_and_slow_ones_stay(tmp_path, record):
    rows = [replace(ROW, at=float(at), step=100 * at, rank=at % 2) for at in range(20_002)]
    rows[7_000] = replace(rows[7_000], longest_ns=10_000, p99_ns=9_000, is_disturbed=True)
    record.add_times(rows)
    times = read_record(tmp_path).times
    assert [sum(row.rank == rank for row in times) for rank in (0, 1)] == [3_334, 3_334]
    assert sum(row.steps for row in times) == 20_002 * 100
    slow = [row for row in times if row.longest_ns == 10_000]
    assert [(row.p99_ns, row.is_disturbed, row.p50_ns, row.mean_ns) for row in slow] == [(9_000, True, 49, 50)]
    assert [row.at for row in times] == sorted(row.at for row in times)


def test_a_mean_of_merged_rows_is_weighted_by_their_steps():
    rows = [replace(ROW, steps=1, mean_ns=10, p50_ns=10), replace(ROW, steps=3, mean_ns=50, p50_ns=50)]
    (row,) = thin_out(rows, most=1)
    assert (row.mean_ns, row.p50_ns, row.steps) == (40, 50, 4)


def test_the_file_of_times_stays_bounded(tmp_path, record, monkeypatch, lost):
    monkeypatch.setattr(record_module, "_LARGEST_TIMES", 20_000)
    for at in range(500):
        record.add_times([replace(ROW, at=float(at), rank=rank) for rank in (0, 1)])
        assert (tmp_path / "times.jsonl").stat().st_size < 21_000
    times = read_record(tmp_path).times
    assert sum(row.steps for row in times) == 500 * 2 * 100
    assert (times[-1].at, lost) == (499.0, [])


def test_a_full_disk_loses_records_is_reported_once_and_leaves_no_torn_line_behind(tmp_path, record, lost, monkeypatch):
    real = os.write

    def full(descriptor, text):
        real(descriptor, text[:20])
        raise OSError(errno.ENOSPC, "No space left on device")

    record.add_event(EVENT)
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        record.add_event(EVENT)
        record.add_times([ROW])
    record.add_event(EVENT)
    found = read_record(tmp_path)
    assert (found.events, found.unread) == ((EVENT, EVENT), 1)  # the torn line of times has no end yet
    record.add_times([ROW])
    found = read_record(tmp_path)
    assert (found.times, found.unread) == ((ROW,), 2)
    assert len(lost) == 1
    assert "No space left on device" in lost[0]


def test_a_folder_that_is_gone_loses_records_only(tmp_path, lost):
    record = Record(tmp_path / "gone", report=lost.append)
    record.write_state(STATE)
    record.add_times([ROW])
    record.add_event(EVENT)
    assert len(lost) == 1
    assert "the training goes on" in lost[0]


def test_a_state_that_cannot_be_written_leaves_the_old_one(tmp_path, record, lost, monkeypatch):
    record.write_state(STATE)

    def full(path, text):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    record.write_state(replace(STATE, pid=8))
    assert read_state(tmp_path) == STATE
    assert len(lost) == 1


def names(value, path=""):
    """Every name in a JSON value with the way to it."""
    if isinstance(value, list):
        return {name for item in value for name in names(item, f"{path}[]")}
    if not isinstance(value, dict):
        return set()
    places = {key: f"{path}.{key}" if path else key for key in value}
    return {*places.values(), *(name for key, place in places.items() for name in names(value[key], place))}


def test_every_name_that_is_written_is_described_and_no_other(tmp_path, record):
    record.write_state(STATE)
    record.add_times([ROW])
    record.add_event(EVENT)
    text = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^`(watch\.json|times\.jsonl|events\.jsonl)`", text, flags=re.MULTILINE)
    for name, part in zip(parts[::2], parts[1::2], strict=True):
        described = {line.split("`")[1] for line in part.splitlines() if line.startswith("| `")}
        assert described == names(json.loads((tmp_path / name).read_text().strip()))
