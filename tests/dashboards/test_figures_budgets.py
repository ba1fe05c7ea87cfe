"""Budgets and causes as bars that add up."""

from __future__ import annotations

import analyses
import pytest
from analysis_values import MS, budget
from dashboard_fakes import sample

from dashboards.components.palette import Theme
from dashboards.figures.budgets import Bar, budget_figure
from dashboards.figures.causes import cause_figure, cause_sums
from gapfinder.explanations import Cause
from gapfinder.render.parts import parts_of


def bars_of(analysis):
    return [Bar(f"lane {index}", lane.budget) for index, lane in enumerate(analysis.lanes)]


def test_the_parts_of_every_lane_add_up_to_all_of_it():
    analysis = sample("broken_overlap").analysis
    bars = bars_of(analysis)
    made = budget_figure(bars, parts=parts_of(bar.budget for bar in bars), theme=Theme.LIGHT)
    assert [trace.name for trace in made.data] == ["compute only", "hidden", "exposed", "copy only", "idle"]
    for lane in range(8):
        assert sum(trace.x[lane] for trace in made.data) == pytest.approx(1)
    assert made.layout.barmode == "stack"


def test_graphs_have_a_part_of_their_own():
    analysis = sample("cuda_graphs").analysis
    made = budget_figure(bars_of(analysis), parts=parts_of(one.budget for one in analysis.lanes), theme=Theme.DARK)
    assert [trace.name for trace in made.data if sum(trace.x) > 1] == ["graph only"]


def test_to_one_scale_the_longest_is_all_of_it():
    made = budget_figure(
        [Bar("before", budget(compute=30 * MS, idle=10 * MS)), Bar("after", budget(compute=50 * MS, idle=30 * MS))],
        parts=parts_of([budget(compute=1)]),
        theme=Theme.LIGHT,
        full_ns=80 * MS,
    )
    lengths = [sum(trace.x[bar] for trace in made.data) for bar in (0, 1)]
    assert lengths == pytest.approx([0.5, 1.0])


def test_what_was_not_measured_is_said_in_place_of_its_share():
    bar = Bar("rank <3>", budget(compute=30 * MS, idle=10 * MS), is_idle_known=False)
    idle = budget_figure([bar], parts=parts_of([bar.budget]), theme=Theme.LIGHT).data[-1]
    assert idle.customdata[0][0] == "rank &lt;3&gt;: idle not measured"


def test_causes_are_summed_over_lanes_most_first():
    sums = cause_sums(analyses.explained())
    assert sums[:3] == [(Cause.DATA_LOADING, 13 * MS), (Cause.EXPOSED_WAIT, 7 * MS), (Cause.EXPOSED_TRANSFER, 4 * MS)]
    made = cause_figure(analyses.explained(), theme=Theme.LIGHT)
    assert [trace.name for trace in made.data][:2] == ["data loading", "exposed communication wait"]
    assert made.layout.yaxis.ticktext[0] == "data loading<br>48.1 %, 13.00 ms"
    assert sum(trace.x[0] for trace in made.data) == pytest.approx(1)


def test_lanes_whose_holes_are_not_known_count_for_no_cause():
    assert cause_sums(analyses.idle_unknown()) == []
    assert len(cause_figure(analyses.idle_unknown(), theme=Theme.LIGHT).data) == 0
