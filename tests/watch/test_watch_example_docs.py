"""What docs/long-runs.md shows of a watch is what the program says of such step times: each sentence is made anew."""

from __future__ import annotations

import re
from math import log
from types import SimpleNamespace

import pytest
from documents import ROOT

from gapfinder.cli.watch_report import summary
from gapfinder.processes import Phase
from gapfinder.units import parse_duration
from gapfinder.watch import reasons
from gapfinder.watch.change import HostChange, PhaseChange, change_sentence, change_text
from gapfinder.watch.model import CaptureRecord, CaptureState, Trigger, TriggerKind, WatchState

TEXT = (ROOT / "docs" / "long-runs.md").read_text(encoding="utf-8")
SAID, FOLDER = re.search(r"```\n(gapfinder: step .*?)\nWrote (\S+)\n```", TEXT, re.DOTALL).groups()
LINES = SAID.replace("\n    ", " ").splitlines()  # a line that continues another one is indented by four
(PHASES,) = re.findall(r"```\n(mean of a step, .*?)```", TEXT, re.DOTALL)
TIME = r"[0-9.]+ (?:[nµm]?s)"


def ns(told: str) -> int:
    return parse_duration(told.replace(" ", "").replace("µ", "u"))


def said(pattern: str) -> list[tuple[str, ...]]:
    return [found.groups() for line in LINES if (found := re.fullmatch(pattern, line))]


BEGUN = said(r"gapfinder: step ([0-9]+): (.*); capture ([0-9]+) begins")
HELD = said(r"gapfinder: capture ([0-9]+) holds steps ([0-9]+) to ([0-9]+); analysing them")
FOUND = said(r"gapfinder: capture ([0-9]+): ([^;]*(?:; [0-9.]+ % of it was waiting for data\.)?)(?:; (.*))?")


def sentence(kind: TriggerKind, told: str, step: int) -> str:
    """Say again why a capture begins, from the times in the sentence."""
    times = [ns(time) for time in re.findall(TIME, told)]
    if kind is TriggerKind.HEALTHY:
        return reasons.healthy(usual_ns=times[0], step=step).sentence
    lasted = times[-1]
    if kind is TriggerKind.DRIFT:
        level = SimpleNamespace(now=log(times[0]), lasted_ns=lasted)
        return reasons.drift([SimpleNamespace(usual_ns=times[1], step_level=level)], step=step).sentence
    lagging = SimpleNamespace(lasted_ns=lasted)
    (rank,) = re.findall(r"rank ([0-9]+)", told)
    one = SimpleNamespace(rank=int(rank), apart_ns=times[0], others_ns=times[1], lag_level=lagging)
    return reasons.lag(one, step=step).sentence


KINDS = (TriggerKind.HEALTHY, TriggerKind.DRIFT, TriggerKind.LAG)


def test_each_capture_begins_for_a_reason_that_the_watch_gives():
    assert [number for _, _, number in BEGUN] == ["1", "2", "3"]
    for kind, (step, told, _) in zip(KINDS, BEGUN, strict=True):
        assert sentence(kind, told, int(step)) == told


def changed(told: str, phases: list[PhaseChange]) -> HostChange:
    after, before = (ns(time) for time in re.findall(TIME, told)[:2])
    return HostChange(before_ns=before, after_ns=after, phases=tuple(phases))


def test_the_change_is_told_as_the_phases_grew():
    row = rf"  (rank [0-9]), ([a-z ]+): ({TIME}) before, ({TIME}) now \(\+({TIME})\)"
    rows = [re.fullmatch(row, line).groups() for line in PHASES.splitlines()[1:]]
    phases = [
        PhaseChange(rank=rank, phase=Phase(phase), before_ns=ns(before), after_ns=ns(after))
        for rank, phase, before, after, _ in rows
    ]
    change = changed(FOUND[1][2], phases)
    assert change_sentence(change) == FOUND[1][2]
    written = change_text(change).partition("\n\n")[2].splitlines()
    assert [line.rpartition(" (")[0] for line in written[1:]] == [
        line.rpartition(" (")[0] for line in PHASES.splitlines()[1:]
    ]
    assert written[0] == PHASES.splitlines()[0]
    rounded_ns = 10_100  # three times are shown with four digits
    assert [one.growth_ns for one in phases] == pytest.approx([ns(growth) for *_, growth in rows], abs=rounded_ns)


def test_a_rank_that_lags_is_named_beside_what_is_slow_on_all():
    told = FOUND[2][2]
    other, loading = (ns(time) for time in re.findall(rf"\+({TIME})", told))
    phases = [
        PhaseChange(rank="rank 1", phase=Phase.OTHER, before_ns=0, after_ns=other),
        *(PhaseChange(rank=f"rank {n}", phase=Phase.DATA_LOADING, before_ns=0, after_ns=loading) for n in (1, 0)),
    ]
    assert change_sentence(changed(told, phases)) == told


def test_the_summary_is_that_of_the_captures():
    captures = []
    for kind, (_, why, _), (number, first, last), (_, headline, change) in zip(KINDS, BEGUN, HELD, FOUND, strict=True):
        captures.append(
            CaptureRecord(
                number=int(number),
                trigger=Trigger(kind=kind, step=0, sentence=why),
                state=CaptureState.DONE,
                started_at=0.0,
                first_step=int(first),
                end_step=int(last) + 1,
                headline=headline,
                change=change,
            )
        )
    ((steps, mean, p50, p99),) = said(rf"([0-9,]+) steps of all ranks: mean ({TIME}), p50 ({TIME}), p99 ({TIME})")
    totals = SimpleNamespace(
        steps=int(steps.replace(",", "")),
        mean_ns=ns(mean),
        percentile_ns={50: ns(p50), 99: ns(p99)}.__getitem__,
    )
    state = WatchState(name="", command=(), host="", pid=0, started_at=0.0, captures=tuple(captures))
    watched = SimpleNamespace(totals=totals, state=state)
    assert [line.strip() for line in summary(watched)] == [line.strip() for line in LINES[LINES.index("") :]]


def test_the_captures_are_as_long_and_the_healthy_one_as_usual_as_is_told_elsewhere():
    (_, first, last), (_, headline, _) = HELD[0], FOUND[0]
    ran, usual = re.search(rf"ran ([0-9]+) steps each of ({TIME}) \(p50\)", headline).groups()
    assert int(ran) == int(last) - int(first) + 1
    assert [re.findall(TIME, change)[1] for _, _, change in FOUND[1:]] == [usual, usual]
    assert re.fullmatch(r"gapfinder-runs/20\d\d-\d\d-\d\d_\d{6}-watch-train_slowing", FOLDER)
