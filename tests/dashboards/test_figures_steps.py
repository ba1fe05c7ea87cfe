"""Steps as a heat map and as rows of points."""

from __future__ import annotations

import analyses
import pytest
from dashboard_fakes import opened, sample

from dashboards.components.palette import Theme
from dashboards.figures.steps import Grid, Lengths, heat_figure, length_figure
from dashboards.pages.step_grids import Value, host_grid, lane_grid


def grid_of(profile, value, *, most=200):
    return lane_grid(profile, value, lanes=range(len(profile.analysis.lanes)), most_steps=most)


def test_every_lane_has_its_step_times_and_a_link_for_each():
    profile = sample("slow_rank")
    grid, of = grid_of(profile, Value.STEP_TIME)
    assert grid.numbers == (1, 2, 3, 4, 5)
    assert of == 5
    assert grid.labels == tuple(f"rank {rank}" for rank in range(8))
    step = profile.analysis.lanes[3].steps.items[0]
    assert grid.values[3][0] == step.window.end_ns - step.window.start_ns
    assert grid.links[3][0].startswith(f"/p/{profile.stored.id}/timeline?start=")
    assert grid.links[3][0].endswith("&lane=3")


def test_the_slow_rank_has_the_longest_own_time_and_the_others_wait():
    own, _ = grid_of(sample("slow_rank"), Value.OWN_TIME)
    wait, _ = grid_of(sample("slow_rank"), Value.WAIT)
    for step in range(5):
        assert max(range(8), key=lambda lane: own.values[lane][step]) == 3
        assert min(range(8), key=lambda lane: wait.values[lane][step]) == 3


def test_overlap_is_a_ratio_and_idle_time_is_none_where_it_was_not_measured():
    overlap, _ = grid_of(sample("broken_overlap"), Value.OVERLAP)
    assert overlap.is_ratio
    assert {value for row in overlap.values for value in row} == {0.0}
    idle, _ = grid_of(opened(analyses.healthy()), Value.IDLE)
    assert idle.values[0][0] == 8_000_000


def test_of_many_steps_the_longest_are_shown_in_order():
    grid, of = grid_of(opened(analyses.healthy()), Value.STEP_TIME, most=1)
    assert of == 3
    assert len(grid.numbers) == 1
    assert grid.values[1][0] == 110_000_000


def test_processes_without_gpu_work_have_their_own_grid():
    grid, of = host_grid(analyses.host_only(), most_steps=200)
    assert grid.labels == ("rank 0", "rank 1")
    assert of == 3
    assert set(grid.values[0]) == {40_000_000}
    assert {link for row in grid.links for link in row} == {None}


def test_a_cell_says_what_it_is_and_carries_its_link():
    grid = Grid(
        title="wait",
        labels=("<b>",),
        numbers=(7, 8),
        values=((1_500_000, None),),
        is_ratio=False,
        links=(("/p/x", None),),
    )
    heat = heat_figure(grid, theme=Theme.DARK).data[0]
    assert list(heat.text[0]) == ["&lt;b&gt;, step 7: wait 1.500 ms", ""]
    assert list(heat.customdata[0]) == ["/p/x", None]
    assert heat.z[0][1] is None


def test_a_grid_without_any_value_is_drawn_empty():
    grid = Grid(title="wait", labels=("a",), numbers=(1,), values=((None,),), is_ratio=False, links=((None,),))
    assert heat_figure(grid, theme=Theme.LIGHT).data[0].z[0][0] is None


def test_lengths_show_each_step_and_the_marks():
    lengths = [Lengths(label="rank 0", each_ns=(10, 20, 90), p50_ns=20, mean_ns=40, p99_ns=89)]
    made = length_figure(lengths, theme=Theme.LIGHT)
    assert list(made.data[0].x) == [10, 20, 90]
    assert {trace.name: list(trace.x) for trace in made.data[1:]} == {"p50": [20], "mean": [40], "p99": [89]}
    low, high = made.layout.xaxis.range
    assert low < 10
    assert high > 90


@pytest.mark.parametrize("value", Value)
def test_every_value_has_words(value):
    assert value.words
