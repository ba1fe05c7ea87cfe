"""Step times of a watched training as a figure: nothing is hidden that was slow, and nothing is drawn that is not known."""

from __future__ import annotations

import pytest
from dashboard_hostile import MARKUP
from dashboard_watches import BEGAN_S, MS, capture, row, state

from dashboards.components.palette import Theme
from dashboards.figures.live import MOST_RANKS, course_figure, course_of
from gapfinder.watch.following import WatchRecord
from gapfinder.watch.model import CaptureState

HOUR_S = 3_600.0


def drawn(*times, captures=(), usual=None, last_s=None, links=None, view="a/all"):
    known = state(captures=tuple(captures), usual_ns=usual)
    record = WatchRecord(state=known, times=times, events=())
    return course_figure(course_of(record, last_s=last_s, links=links or {}, view=view), theme=Theme.LIGHT)


def trace(made, name):
    return next((one for one in made.data if one.name == name), None)


def axis(at):
    """A moment as the axis counts it: ms since 1970."""
    return (BEGAN_S + at) * 1_000


def test_each_rank_has_its_p50_and_its_p99():
    made = drawn(row(5), row(5, rank=1, p50=110 * MS), row(10, p50=101 * MS), row(10, rank=1, p50=111 * MS))
    for rank, values in ((0, (100, 101)), (1, (110, 111))):
        middle, high = trace(made, f"rank {rank}"), trace(made, f"rank {rank}, p99")
        assert list(middle.x) == list(high.x) == [axis(5), axis(10)]
        assert list(middle.y) == [value * MS for value in values]
        assert list(high.y) == [2 * value * MS for value in values]
    assert trace(made, "rank 1").text[0] == (
        "rank 1, 50 steps up to step 50<br>2025-11-30 03:00:05 UTC<br>"
        "p50 110.0 ms, p99 220.0 ms<br>mean 111.0 ms, longest 330.0 ms"
    )
    assert trace(made, "rank 0").line.color != trace(made, "rank 1").line.color


def test_there_is_no_line_over_a_time_without_steps():
    made = drawn(*(row(at) for at in (5, 10, 15, 20, 200, 205)))
    assert list(trace(made, "rank 0").y) == [100 * MS] * 4 + [None] + [100 * MS] * 2


def test_rows_that_are_far_apart_all_along_are_one_line():
    assert None not in trace(drawn(*(row(60.0 * place) for place in range(1, 9))), "rank 0").y


def test_what_is_usual_is_a_dashed_line_only_where_it_is_known():
    assert trace(drawn(row(5), row(10)), "usual") is None
    usual = trace(drawn(row(5), row(10), usual=90 * MS), "usual")
    assert (list(usual.x), list(usual.y), usual.line.dash) == ([axis(5), axis(10)], [90 * MS] * 2, "dash")


def test_disturbed_times_are_shaded_once_for_all_ranks():
    times = [row(at, rank=rank, is_disturbed=at in (10, 15, 30)) for at in (5, 10, 15, 20, 25, 30) for rank in (0, 1)]
    shades = [shape for shape in drawn(*times).layout.shapes if shape.type == "rect"]
    assert [(shape.x0, shape.x1) for shape in shades] == [(axis(5), axis(15)), (axis(25), axis(30))]


def test_a_capture_has_a_flag_with_its_reason_and_its_link():
    captures = [capture(1, at=6, sentence=MARKUP), capture(2, at=9, state=CaptureState.FAILED)]
    flags = trace(drawn(row(5), row(10), captures=captures, links={1: "/p/aa/timeline"}), "capture")
    assert (list(flags.x), list(flags.text)) == ([axis(6), axis(9)], ["1", "2"])
    assert list(flags.customdata) == ["/p/aa/timeline", None]
    assert "<img" not in flags.hovertext[0]
    assert "&lt;img" in flags.hovertext[0]
    assert flags.marker.color[0] != flags.marker.color[1]


def test_a_first_step_that_compiles_does_not_flatten_the_rest_and_is_marked():
    quiet = drawn(*(row(5 * place) for place in range(1, 20)))
    assert list(trace(quiet, "higher").x) == []
    made = drawn(row(5, p50=60_000 * MS), *(row(5 * place) for place in range(2, 20)))
    least, most = made.layout.yaxis.range
    assert least < 100 * MS < most < 400 * MS
    higher = trace(made, "higher")
    assert list(higher.x) == [axis(5)]
    assert "p50 60.00 s" in higher.text[0]


@pytest.mark.parametrize(("last_s", "left"), [(None, 4), (HOUR_S, 2), (1.0, 1)])
def test_the_last_stretch_ends_with_the_newest_step(last_s, left):
    times = [row(at) for at in (5, 10, 2 * HOUR_S, 2 * HOUR_S + 50)]
    made = drawn(*times, captures=[capture(at=6)], last_s=last_s)
    assert len([value for value in trace(made, "rank 0").y if value is not None]) == left
    assert len(trace(made, "capture").x) == (last_s is None)


def test_a_long_record_is_thinned_out_and_its_slowest_step_stays():
    slow = 4_321
    made = drawn(*(row(5.0 * place, p99=250 * MS if place == slow else 110 * MS) for place in range(1, 5_000)))
    high = trace(made, "rank 0, p99").y
    assert len(high) <= 600
    assert max(high) == 250 * MS


def test_of_many_ranks_those_that_are_slowest_now_are_drawn():
    ranks = 40
    made = drawn(*(row(5, rank=rank, p50=(100 + rank) * MS) for rank in range(ranks)))
    names = [one.name for one in made.data if one.name.startswith("rank ") and "p99" not in one.name]
    assert names == [f"rank {rank}" for rank in range(ranks - MOST_RANKS, ranks)]


def test_ranks_that_were_switched_off_stay_so_while_the_same_is_looked_at():
    first, later = drawn(row(5), view="a/all"), drawn(row(5), row(10), view="a/all")
    assert first.layout.uirevision == later.layout.uirevision
    assert first.layout.uirevision != drawn(row(5), view="a/1h").layout.uirevision
    assert not first.layout.xaxis.fixedrange


def test_times_that_no_calendar_has_are_left_out():
    made = drawn(row(5), row(2.0**62), captures=[capture(at=2.0**62)])
    assert list(trace(made, "rank 0").x) == [axis(5)]
    assert list(trace(made, "capture").x) == []


def test_no_times_make_an_empty_figure():
    made = drawn()
    assert [one.name for one in made.data] == ["higher", "capture"]
    assert all(len(one.x) == 0 for one in made.data)
