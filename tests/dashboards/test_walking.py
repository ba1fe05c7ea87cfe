from __future__ import annotations

import pytest
from dashboard_browser import prepared
from dashboard_hostile import US, two_lanes

from dashboards.data.opening import open_prepared
from dashboards.data.outline import cause_outlines, lane_outlines
from dashboards.data.rows import Row
from dashboards.data.searching import find_step, search, step_numbers
from dashboards.data.walking import HoleFilter, Order, Walk, hole_at, holes_of_stretch, next_hole
from gapfinder.errors import InputError

BOTH = HoleFilter(lanes=(0, 1))


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walking")
    return open_prepared(prepared("two lanes", [two_lanes(folder / "two.sqlite")], folder))


@pytest.fixture(scope="module")
def trace(profile):
    return profile.trace


def walked(trace, *, among=BOTH, **walk):
    """All holes from the first on, as (lane, start in us, end in us)."""
    found, after = [], None
    while (after := next_hole(trace, Walk(after=after, **walk), among=among)) is not None:
        found.append((after.lane, after.start_ns // US, after.end_ns // US))
    return found


def test_nothing_comes_after_the_last_hole_or_before_the_first(trace):
    assert next_hole(trace, Walk(from_ns=5000 * US), among=BOTH) is None
    assert next_hole(trace, Walk(from_ns=500 * US, is_back=True), among=BOTH) is None
    assert walked(trace, among=HoleFilter(lanes=())) == []
    assert walked(trace, among=HoleFilter(lanes=(0, 1), min_ns=2001 * US)) == []


def test_a_walk_in_time_goes_through_all_lanes(trace):
    assert walked(trace) == [(1, 500, 700), (0, 1000, 1500), (0, 2000, 4000)]
    assert walked(trace, from_ns=501 * US) == [(0, 1000, 1500), (0, 2000, 4000)]
    assert walked(trace, from_ns=1001 * US, is_back=True) == [(0, 1000, 1500), (1, 500, 700)]


def test_a_walk_by_length_begins_with_the_longest(trace):
    assert walked(trace, order=Order.LENGTH) == [(0, 2000, 4000), (0, 1000, 1500), (1, 500, 700)]
    assert walked(trace, order=Order.LENGTH, is_back=True) == [(1, 500, 700), (0, 1000, 1500), (0, 2000, 4000)]


def test_a_walk_keeps_to_its_filter(trace):
    assert walked(trace, among=HoleFilter(lanes=(1,))) == [(1, 500, 700)]
    assert walked(trace, among=HoleFilter(lanes=(0, 1), min_ns=500 * US)) == [(0, 1000, 1500), (0, 2000, 4000)]
    causes = {hole_at(trace, lane=0, hole=place).cause for place in range(2)}
    among = HoleFilter(lanes=(0, 1), causes=tuple(causes))
    assert {(0, 1000, 1500), (0, 2000, 4000)} <= set(walked(trace, among=among))


def test_holes_of_a_stretch_reach_into_it(trace):
    none = holes_of_stretch(trace, start_ns=1500 * US, end_ns=2000 * US, among=BOTH, limit=5)
    assert (none.count, none.total_ns, none.longest) == (0, 0, ())
    some = holes_of_stretch(trace, start_ns=699 * US, end_ns=2001 * US, among=BOTH, limit=2)
    assert (some.count, some.total_ns) == (3, 2700 * US)
    assert [hole.length_ns for hole in some.longest] == [2000 * US, 500 * US]


@pytest.mark.parametrize(("lane", "hole", "told"), [(2, 0, "no lane 2"), (0, 2, "no hole 2 on lane 0: it has 2 holes")])
def test_what_is_not_there_is_said(trace, lane, hole, told):
    with pytest.raises(InputError, match=told):
        hole_at(trace, lane=lane, hole=hole)


def test_a_name_is_found_where_it_comes_next(trace):
    nothing = search(trace, text="no such", from_ns=-1, is_back=False, lanes=(0, 1))
    assert (nothing.count, nothing.found) == (0, None)
    first = search(trace, text="GEMM_0", from_ns=0, is_back=False, lanes=(0, 1))
    assert (first.count, first.found.lane, first.found.row) == (3, 0, Row.COMPUTE)
    assert (first.found.start_ns, first.found.end_ns) == (1500 * US, 2000 * US)
    assert search(trace, text="gemm_0", from_ns=1500 * US, is_back=True, lanes=(0,)).found.start_ns == 0
    assert search(trace, text="gemm_0", from_ns=4000 * US, is_back=False, lanes=(0,)).found is None
    assert search(trace, text="gemm_0", from_ns=-1, is_back=False, lanes=(1,)).count == 0
    within = search(trace, text="forward", from_ns=-1, is_back=False, lanes=(1,)).found
    assert (within.row, within.start_ns, within.end_ns, within.depth) == (Row.RANGES, 100 * US, 300 * US, 1)


def test_steps_are_found_by_number(trace):
    assert step_numbers(trace) == (4, 5)
    assert find_step(trace, number=6) is None
    step = find_step(trace, number=5)
    assert (step.start_ns, step.end_ns) == (1500 * US, 5000 * US)


def test_the_outline_names_rows_that_hold_something(profile):
    outlines = lane_outlines(profile)
    assert [one.lane for one in outlines] == [0, 1]
    assert [one.host for one in outlines] == [None, None]
    assert outlines[0].rows == (Row.HOLES, Row.STEPS, Row.COMPUTE, Row.RANGES, Row.CALLS)
    assert (outlines[0].ranges_depth, outlines[0].calls_depth) == (2, 1)
    causes = cause_outlines(profile.trace)
    assert sum(one.count for one in causes) == 3
    assert sum(one.total_ns for one in causes) == 2700 * US
    assert [one.total_ns for one in causes] == sorted((one.total_ns for one in causes), reverse=True)
