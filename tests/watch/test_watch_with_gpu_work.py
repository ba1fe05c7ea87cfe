"""Captures with GPU work: what is told of the second, what changed since the first, and what the history keeps."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from watched_stand_ins import Stage, make_quick

from gapfinder.cli.watch_report import summary
from gapfinder.watch.examine import Task, examine
from gapfinder.watch.judge import Rules
from gapfinder.watch.model import CaptureState, TriggerKind
from sample_profiles.build import build_profile


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exports")
    paths = {state: folder / f"{state}.sqlite" for state in ("healthy", "data_starved", "slow_rank")}
    for state, path in paths.items():
        build_profile(state, path, ranks=2, steps=4)
    return paths

def test_x(tmp_path, monkeypatch, exports):
    make_quick(monkeypatch)
    monkeypatch.chdir(tmp_path)
    stage = Stage(place=tmp_path, reports=[exports["healthy"], exports["data_starved"]],
                  on={"capture 1:": "slow", "capture 1 failed": "end", "capture 2:": "end", "capture 2 failed": "end"})
    watched = stage.watch(rules=Rules(healthy_at=20, sustained_s=0.2), keeps_history=True)
    print("\n".join(stage.told))
    print("\n".join(summary(watched)))
    print((watched.folder / "captures/002/change.txt").read_text()[:3000])
    print(json.loads((watched.folder / "captures/002/change.json").read_text()).keys())
    print(json.loads((watched.folder / "captures/002/change.json").read_text())["causes"][:3])
