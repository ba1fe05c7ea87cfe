"""A metric over runs."""

from __future__ import annotations

from dashboards.components.palette import Theme
from dashboards.figures.trends import trend_figure
from gapfinder.compare.history import ChangePoint, Point, Run, Trend
from gapfinder.compare.metrics import METRICS


def run(number: int, *, accepted: bool = False, label: str | None = None) -> Run:
    return Run(
        id=number,
        recorded="2026-01-01T00:00:00+00:00",
        created=f"2026-01-0{number}T00:00:00+00:00",
        branch="main",
        label=label,
        source="check",
        accepted=accepted,
        digest=str(number),
        git_commit=None,
        gapfinder_version="1",
        nsys_version=None,
        gpu_names=None,
        world_size=None,
        lanes=8,
        steps=40,
        min_gap_ns=100_000,
    )


def trend_of(metric: str) -> Trend:
    points = (
        Point(run=run(1, accepted=True), value=0.9, change=None),
        Point(run=run(2), value=None, change=None),
        Point(run=run(3, label="<b>"), value=0.4, change=ChangePoint(at=2, before=0.9, after=0.4)),
    )
    return Trend(metric=METRICS[metric], branch="main", points=points)


def test_accepted_runs_are_apart_and_what_was_not_measured_is_no_point():
    made = trend_figure(trend_of("overlap_ratio"), names={1: "first"}, theme=Theme.LIGHT)
    line, accepted, others = made.data
    assert (list(line.x), list(line.y)) == ([0, 1, 2], [0.9, None, 0.4])  # no line over what was not measured
    assert (list(accepted.x), list(others.x)) == ([0], [2])
    assert accepted.text == ("run 1: 90.0 %, first, 2026-01-01 00:00 UTC",)
    assert others.text == ("run 3: 40.0 %, &lt;b&gt;, 2026-01-03 00:00 UTC",)


def test_a_change_of_level_stands_between_the_runs():
    made = trend_figure(trend_of("overlap_ratio"), names={}, theme=Theme.LIGHT)
    assert [shape.x0 for shape in made.layout.shapes] == [1.5]
    assert made.layout.annotations[0].text == "worse from run 3"


def test_less_of_what_is_lost_is_better():
    made = trend_figure(trend_of("idle_share"), names={}, theme=Theme.DARK)
    assert made.layout.annotations[0].text == "better from run 3"


def test_times_have_ticks_in_words():
    made = trend_figure(trend_of("step_p50"), names={}, theme=Theme.DARK)
    assert all(text.endswith("ns") for text in made.layout.yaxis.ticktext)


def test_shares_have_ticks_with_the_space_of_every_percentage():
    made = trend_figure(trend_of("overlap_ratio"), names={}, theme=Theme.DARK)
    assert made.layout.yaxis.ticktext == tuple(f"{share}.0\N{NO-BREAK SPACE}%" for share in (40, 60, 80))


def test_no_runs_make_an_empty_figure():
    empty = Trend(metric=METRICS["step_p50"], branch="main", points=())
    assert [len(trace.x) for trace in trend_figure(empty, names={}, theme=Theme.LIGHT).data] == [0, 0, 0]
