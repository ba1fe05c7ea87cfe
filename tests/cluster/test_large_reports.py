"""A report that would take more memory than there is is measured in parts, with the same result."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from documents import SPELLED, words

from gapfinder.analysis import join_reports, measure_report
from gapfinder.cluster import memory, task
from gapfinder.cluster.memory import MOST_MEMORY, estimated_need, rows_at_once
from gapfinder.cluster.workers import LocalProcesses
from gapfinder.load import large, load_profile
from gapfinder.render import render_json
from gapfinder.settings import Settings

SAMPLE = Path(__file__).parents[2] / "sample_profiles" / "fsdp.sqlite"


@pytest.fixture
def cuts(monkeypatch) -> list[int]:
    """How often each report was cut; parts are small here."""
    monkeypatch.setattr(memory, "_FEWEST_ROWS", 2_000)
    monkeypatch.setattr("gapfinder.load.runs._RUN_BYTES", 50_000)
    seen: list[int] = []
    measure = task.measure_parts

    def watched(large, *, settings, times):
        seen.append(len(times))
        return measure(large, settings=settings, times=times)

    monkeypatch.setattr(task, "measure_parts", watched)
    return seen


def test_enough_memory_means_one_part(cuts):
    task.measured_within(estimated_need(SAMPLE), SAMPLE, settings=Settings())
    assert cuts == []


def test_too_little_memory_means_several_and_the_same_bytes(cuts):
    settings = Settings()
    found = task.measured_within(estimated_need(SAMPLE) - 1, SAMPLE, settings=settings)
    assert cuts[0] > 1
    expected = measure_report(load_profile(SAMPLE), settings=settings)
    assert render_json(join_reports([found], settings=settings)) == render_json(
        join_reports([expected], settings=settings)
    )


def test_rows_are_read_as_often_as_is_told(monkeypatch):
    """By few parts: where there are many, rows around the cuts are read with both sides."""
    seen: Counter[str] = Counter()

    def counted(name: str):
        read = getattr(large, name)

        def counting(*arguments, **options):
            frame = read(*arguments, **options)
            seen[name] += len(frame)
            return frame

        return counting

    for name in ("read_kernels", "read_calls"):
        monkeypatch.setattr(large, name, counted(name))
    task.measured_within(0, SAMPLE, settings=Settings())
    profile = load_profile(SAMPLE)
    often = [seen["read_kernels"] / len(profile.kernels), seen["read_calls"] / len(profile.read_calls())]
    kernels, calls = (SPELLED[int(one)] for one in often)
    assert often == [int(one) for one in often]
    assert f"It costs reading kernels {kernels} times and calls {calls} times" in words("docs/design.md")
    assert f"they are read {kernels} to {calls} times" in words("docs/scale.md")


def test_a_report_without_a_device_is_measured_at_once(cuts, monkeypatch):
    monkeypatch.setattr(task, "open_large", lambda *_, **__: None)
    assert task.measured_within(0, SAMPLE, settings=Settings()).lanes
    assert cuts == []


def test_parts_grow_with_the_memory():
    assert rows_at_once(0) == rows_at_once(10_000_000)
    assert rows_at_once(MOST_MEMORY) > 2 * rows_at_once(MOST_MEMORY // 4)


def test_no_report_needs_more_than_its_parts(tmp_path):
    large = tmp_path / "large.sqlite"
    with large.open("wb") as file:
        file.truncate(20 * MOST_MEMORY)
    assert estimated_need(large) > MOST_MEMORY
    two = LocalProcesses(count=2, free=2 * MOST_MEMORY)
    assert two.has_room(large, beside=[large])
    assert not LocalProcesses(count=2, free=2 * MOST_MEMORY - 1).has_room(large, beside=[large])
