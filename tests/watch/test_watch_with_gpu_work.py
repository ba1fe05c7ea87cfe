"""Captures with GPU work: what is told of the second, what changed since the first, and what the history keeps."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from watched_stand_ins import Stage, make_quick

from gapfinder.cli.watch_report import summary
from gapfinder.compare.history import Source, default_store, runs
from gapfinder.watch import capturing, examine
from gapfinder.watch.examine import Task
from gapfinder.watch.model import CaptureState, TriggerKind
from gapfinder.watch.rules import Rules
from sample_profiles.build import build_profile


class Ended:
    """A process that has ended."""

    returncode = pid = 0

    def poll(self) -> int:
        return 0


def examined_at_once(task: Task, *, log: object) -> Ended:
    """Examine it here, where everything is loaded and which need not step back."""
    examine.main(json.dumps(asdict(task)))
    return Ended()


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    paths = {state: folder / f"{state}.sqlite" for state in ("healthy", "data_starved", "slow_rank")}
    for state, path in paths.items():
        build_profile(state, path, ranks=4, steps=3)
    return paths


@pytest.fixture(autouse=True)
def _quick(monkeypatch, tmp_path):
    make_quick(monkeypatch)
    monkeypatch.setattr(capturing, "start_examining", examined_at_once)
    monkeypatch.setattr(examine, "_step_back", lambda: None)
    monkeypatch.chdir(tmp_path)


def watched(place, *reports):
    """A watch whose training is healthy until it has been captured, then slow until it has been captured again."""
    ends = {f"capture {number}{how}": "end" for number in (1, 2) for how in (" failed", ":")}
    stage = Stage(place=place, reports=reports, on={**ends, "capture 1:": "slow"})
    return stage, stage.watch(rules=Rules(healthy_at=20, sustained_ns=200_000_000), keeps_history=True)


def change_of(folder) -> dict:
    return json.loads((folder / "change.json").read_text())


def examined(place, *exports, is_lag=False):
    """What comes of the second of two captures."""
    folders = [place / f"{number:03}" for number in range(1, 3)]
    for folder, export in zip(folders, exports, strict=True):
        folder.mkdir()
        (folder / "report.sqlite").write_bytes(export.read_bytes())
    before, after = map(str, folders)
    nsys = ("nsys", "2022.4.2.1")
    task = Task(folder=after, nsys=nsys, steps=None, healthy=(before, None), label=None, is_lag=is_lag)
    return examine.examine(task), folders[1]


def test_the_same_again_has_not_changed(tmp_path, exports):
    found, folder = examined(tmp_path, exports["healthy"], exports["healthy"])
    assert found.change == "against the healthy capture: A step takes as long as before: 38.30 ms, was 38.30 ms (0.0 %)"
    assert {one["status"] for one in change_of(folder)["findings"]} == {"same"}


def test_what_changed_is_told_written_and_stored_with_its_trigger(tmp_path, exports):
    stage, ended = watched(tmp_path, exports["healthy"], exports["data_starved"])
    assert ended.exit_code == 7
    healthy, drift = ended.state.captures
    assert (healthy.trigger.kind, healthy.state) == (TriggerKind.HEALTHY, CaptureState.DONE)
    assert (drift.trigger.kind, drift.state) == (TriggerKind.DRIFT, CaptureState.DONE)
    assert (drift.headline, drift.trouble) == ("The GPU waits for data", None)

    folder = ended.folder / drift.folder
    change = change_of(folder)
    before, after = (change[side]["budget"]["idle_ns"] for side in ("before", "after"))
    assert change["names"] == ["healthy", "now"]
    assert after - before > 5_000_000 > 50 * before
    assert (change["causes"][0]["cause"], change["causes"][0]["status"]) == ("data_loading", "appeared")
    assert (change["findings"][0]["code"], change["findings"][0]["status"]) == ("data-starved", "appeared")

    assert drift.change.startswith("against the healthy capture: A step takes ")
    assert "New: The GPU waits for data [data-starved], " in drift.change
    assert " of idle time" in drift.change
    assert stage.told[-1] == f"capture 2: {drift.headline}; {drift.change}"
    assert list(summary(ended))[-3:] == [
        f"Capture 2 (drift, steps {drift.first_step} to {drift.end_step - 1}): {drift.trigger.sentence}",
        "  found: The GPU waits for data",
        f"  changed: {drift.change}",
    ]
    text = (folder / "change.txt").read_text()
    assert text.startswith("healthy → now\n\nA step takes ")
    assert "\nmean of a step, of each rank and phase:\n" in text

    stored = runs(default_store(tmp_path))
    assert {(one.label, one.source, one.accepted) for one in stored} == {
        (f"out: {one.trigger.kind} at step {one.trigger.step}", Source.WATCH, False) for one in (healthy, drift)
    }


def test_of_a_lag_the_slow_rank_is_named(tmp_path, exports):
    found, folder = examined(tmp_path, exports["healthy"], exports["slow_rank"], is_lag=True)
    assert found.headline.startswith("Rank 3 ")
    assert "straggler" in {one["code"] for one in change_of(folder)["findings"]}
    assert "New: Rank 3 is slower than the others, which wait [straggler], " in found.change
