"""A snapshot survives JSON, and JSON from strangers is refused in one line that says where it is wrong."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime, timedelta, timezone

import analyses
import pytest
from analysis_values import MS, budget
from snapshots import finding_total, lane_of, simulated, snapshot_of

from gapfinder.compare.snapshot import CollectiveTotal, Snapshot
from gapfinder.compare.snapshot_json import snapshot_from_json, snapshot_to_json
from gapfinder.compare.take import take_snapshot
from gapfinder.errors import InputError
from gapfinder.explanations import Cause, KernelTotal
from gapfinder.settings import Settings

CREATED = datetime(2026, 3, 2, 12, 0, 0, 999, tzinfo=timezone(timedelta(hours=2)))


def taken(analysis, **settings) -> Snapshot:
    return take_snapshot(analysis, settings=Settings(**settings), commit="0123abc", created=CREATED)


@pytest.mark.parametrize("situation", analyses.SITUATIONS.values(), ids=analyses.SITUATIONS)
def test_every_snapshot_comes_back_as_it_was(situation):
    snapshot = taken(situation())
    text = snapshot_to_json(snapshot)
    back = snapshot_from_json(text, source="x")
    assert back == snapshot
    assert snapshot_to_json(back) == text
    assert text.isascii()


def test_every_kind_of_value_comes_back():
    collective = CollectiveTotal(
        operation="AllReduce",
        communicator="0x1",
        instances=3,
        total_ns=9,
        hidden_ns=6,
        exposed_ns=3,
        wait_ns=None,
        transfer_ns=2,
        bytes_total=None,
    )
    kernel = KernelTotal(name='gemm<"\ud800\x1b">', is_communication=False, count=2, total_ns=2**62)
    full = replace(
        simulated(seed=1, steps=2, lanes=2),
        collectives=(collective,),
        kernels=(kernel,),
        findings=(finding_total("overlap-broken", lost_ms=3.5, lane=1),),
        step_range=(3, 8),
        window=(0, 10),
    )
    lane = replace(full.lanes[0], causes={Cause.ALLOCATOR: 1}, sync_calls={"cudaDeviceSynchronize": (3, 4)})
    full = replace(full, lanes=(lane, full.lanes[1]))
    assert snapshot_from_json(snapshot_to_json(full), source="x") == full


def test_the_order_of_causes_changes_no_byte():
    one = snapshot_of(replace(lane_of(()), causes={Cause.ALLOCATOR: 1, Cause.UNKNOWN: 2}))
    other = snapshot_of(replace(lane_of(()), causes={Cause.UNKNOWN: 2, Cause.ALLOCATOR: 1}))
    assert snapshot_to_json(one) == snapshot_to_json(other)


def test_what_is_kept_of_an_analysis():
    analysis = analyses.explained()
    snapshot = taken(analysis, min_gap_ns=7, window=(1, 2))
    assert (snapshot.created, snapshot.commit) == ("2026-03-02T10:00:00+00:00", "0123abc")
    assert (snapshot.min_gap_ns, snapshot.window, snapshot.step_range) == (7, (1, 2), None)
    assert [lane.budget for lane in snapshot.lanes] == [lane.budget for lane in analysis.lanes]
    assert [len(lane.steps) for lane in snapshot.lanes] == [0, 0]
    assert [one.code for one in snapshot.findings] == [one.code for one in analysis.findings]
    with_steps = taken(analyses.healthy())
    assert [len(lane.steps) for lane in with_steps.lanes] == [3, 3]


def test_no_file_name_host_or_process_is_kept():
    analysis = analyses.healthy()
    text = snapshot_to_json(taken(analysis))
    assert all(file not in text for file in analysis.source.files)
    assert all(f'"{name}"' not in text for name in ("pid", "file", "host"))


def test_the_digest_tells_captures_apart_and_nothing_else():
    analysis = analyses.healthy()
    same = take_snapshot(analysis, settings=Settings(min_gap_ns=1), commit=None, created=datetime.now(UTC))
    assert same.digest == taken(analysis).digest
    lane = analysis.lanes[0]
    longer = replace(lane.budget, window_ns=lane.budget.window_ns + 1, idle_ns=lane.budget.idle_ns + 1)
    changed = replace(analysis, lanes=(replace(lane, budget=longer), *analysis.lanes[1:]))
    assert taken(changed).digest != same.digest


def test_calls_are_kept_without_the_version_of_cuda():
    analysis = analyses.healthy()
    calls = {"cudaStreamSynchronize_v3020": (2, 5), "cudaStreamSynchronize_ptsz_v7000": (1, 1), "cudaFree": (1, 2)}
    lane = analysis.lanes[0]
    changed = replace(analysis, lanes=(replace(lane, host=replace(lane.host, sync_calls=calls)),))
    (kept,) = taken(changed).lanes
    assert kept.sync_calls == {
        "cudaFree": (1, 2),
        "cudaStreamSynchronize": (2, 5),
        "cudaStreamSynchronize_ptsz": (1, 1),
    }


def changed(*path: str | int, to: object) -> str:
    document = json.loads(snapshot_to_json(simulated(seed=1, steps=2, lanes=1)))
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return json.dumps(document)


HOSTILE = {
    "text": ("gASVDAAAAAAAAACMBXBpY2tsZQ==", "not JSON"),
    "empty": ("", "not JSON"),
    "list": ("[]", "an object is expected"),
    "deep": ("[" * 200_000, "not JSON"),
    "huge number": ('{"schema_version": ' + "9" * 10_000 + "}", "not JSON"),
    "not a number": ('{"schema_version": NaN}', "NaN is no number"),
    "twice": ('{"schema_version": 1, "schema_version": 1}', "twice"),
    "no version": ("{}", "schema_version is None, and this gapfinder reads 1"),
    "newer": (changed("schema_version", to=2), "schema_version is 2, and this gapfinder reads 1"),
    "true is no version": (changed("schema_version", to=True), "schema_version is True"),
    "missing": ('{"schema_version": 1, "digest": "a"}', "has no collectives, commit"),
    "unknown": (changed("__class__", to="os.system"), "unknown '__class__'"),
    "wrong type": (changed("lanes", 0, "device", to="0"), "lanes[0].device is '0', not int"),
    "true is no number": (changed("lanes", 0, "device", to=True), "lanes[0].device is True"),
    "negative": (changed("min_gap_ns", to=-1), "min_gap_ns is -1, not from 0"),
    "too large": (changed("min_gap_ns", to=2**63), "not from 0 to 2**63"),
    "ratio": (changed("lanes", 0, "overlap_ratio", to=-0.5), "lanes[0].overlap_ratio is -0.5, not from 0 up"),
    "cause": (changed("lanes", 0, "causes", to={"cosmic rays": 1}), "'cosmic rays', not one of"),
    "pair": (changed("window", to=[1]), "window has 1 value in place of 2"),
    "sum": (changed("lanes", 0, "steps", 1, "budget", "idle_ns", to=1), "lanes[0].steps[1].budget do not add up"),
    "no time": (
        changed("lanes", 0, "budget", to=asdict(budget())),
        "lanes[0].budget is of no time at all",
    ),
    "no steps and no reason": (changed("lanes", 0, "steps", to=[]), "lanes[0] needs either steps or a steps_reason"),
    "no such lane": (
        changed(
            "findings",
            to=[{"code": "a", "severity": "info", "title": "b", "lost_ns": 1, "share": 0.5, "lane": 1}],
        ),
        "findings[0].lane is 1, and there are 1 lane",
    ),
    "control characters": (changed("lanes", 0, "gpu_name", to={"\x1b[2J": 1}), "\\x1b[2J"),
}


@pytest.mark.parametrize(("text", "told"), HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_snapshot_is_refused_in_one_line(text, told):
    with pytest.raises(InputError) as raised:
        snapshot_from_json(text, source="main\x1b.json")
    message = str(raised.value)
    assert message.startswith("main\\x1b.json is no snapshot of gapfinder: ")
    assert told in message
    assert "\n" not in message
    assert len(message) < 400


def test_a_snapshot_has_no_field_that_is_not_written():
    document = json.loads(snapshot_to_json(simulated(seed=1, steps=1, lanes=1)))
    assert list(document) == ["schema_version", *(field.name for field in fields(Snapshot))]
    assert document["lanes"][0]["steps"][0]["budget"]["window_ns"] > 90 * MS
