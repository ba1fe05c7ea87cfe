from __future__ import annotations

import json

import pytest
from dash.development.base_component import Component
from dashboard_browser import SAMPLES, prepared, view_of
from dashboard_hostile import MARKUP, hostile_database, no_gpu

from dashboards import ids
from dashboards.components.palette import Theme
from dashboards.data.opening import open_prepared
from dashboards.ids import Asked, Page
from dashboards.pages import timeline
from dashboards.pages.timeline_panel import nothing_chosen, panel
from gapfinder.errors import InputError
from gapfinder.explanations import Cause
from gapfinder.units import format_duration


@pytest.fixture(scope="module")
def profiles(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    files = {
        "slow_rank": SAMPLES / "slow_rank.sqlite",
        "hostile": hostile_database(folder / "hostile.sqlite"),
        "no_gpu": no_gpu(folder / "no_gpu.sqlite"),
    }
    return {name: prepared(name, [file], folder) for name, file in files.items()}


def words(part: object) -> str:
    """All text of a tree of components, in order."""
    if isinstance(part, list | tuple):
        return " ".join(map(words, part))
    if isinstance(part, Component):
        return words(getattr(part, "children", None))
    return "" if part is None else str(part).replace("\N{NO-BREAK SPACE}", " ")


def parts(part: object) -> list[Component]:
    """All components of a tree."""
    if isinstance(part, list | tuple):
        return [one for child in part for one in parts(child)]
    return [part, *parts(getattr(part, "children", None))] if isinstance(part, Component) else []


def layout_of(profiles, name):
    return timeline.layout(view_of(profiles), Asked(Page.TIMELINE, profiles[name].id), theme=Theme.LIGHT)


def test_the_canvas_is_told_what_it_needs(profiles):
    canvas = next(one for one in parts(layout_of(profiles, "slow_rank")) if getattr(one, "id", None) == ids.TIMELINE)
    data = canvas.to_plotly_json()["props"]
    assert data["data-base"] == f"/p/{profiles['slow_rank'].id}"
    assert [cause["cause"] for cause in json.loads(data["data-palette"])["causes"]] == list(Cause)


def test_without_gpu_work_the_page_says_why_and_shows_the_host(profiles):
    page = layout_of(profiles, "no_gpu")
    assert not any(getattr(one, "id", None) == ids.TIMELINE for one in parts(page))
    assert "no GPU operation that takes time was captured" in words(page)
    assert "Training processes" in words(page)


def test_every_hole_has_a_cause_and_parts_that_add_up(profiles):
    profile = open_prepared(profiles["slow_rank"])
    for lane, one in enumerate(profile.trace.lanes):
        for hole in range(len(one.holes.starts)):
            told = words(panel(profile, {"lane": lane, "hole": hole}))
            length = format_duration(int(one.holes.ends[hole] - one.holes.starts[hole]))
            assert told.startswith(f"{length} hole rank {lane}, ")
            assert told.count(f"together {length}") == 2


def test_a_late_rank_is_named_with_a_link_to_it(profiles):
    profile = open_prepared(profiles["slow_rank"])
    tree = panel(profile, {"lane": 2, "hole": 5})
    assert "AllReduce: rank 3 came late" in words(tree)
    link = next(one for one in parts(tree) if words(one) == "look at rank 3" and hasattr(one, "href"))
    assert link.href.startswith(f"/p/{profiles['slow_rank'].id}/timeline?start=")
    assert link.href.endswith("&lane=3")


def test_an_operation_is_told_with_its_launch(profiles):
    profile = open_prepared(profiles["hostile"])
    told = words(panel(profile, {"lane": 0, "row": "compute", "op": 0}))
    assert told.startswith(MARKUP.replace("\u202e", "\\u202e").replace("\u202c", "\\u202c"))
    assert "launched by cudaLaunchKernel" in told


@pytest.mark.parametrize(
    "chosen",
    [
        {},
        {"lane": "0", "hole": 0},
        {"lane": 0, "hole": 10_000},
        {"lane": 99, "hole": 0},
        {"lane": 0, "row": "nothing", "op": 0},
        {"lane": 0, "row": "holes", "op": 0},
        {"lane": 0, "row": "compute", "op": -1},
    ],
)
def test_what_cannot_be_chosen_is_said(profiles, chosen):
    with pytest.raises(InputError):
        panel(open_prepared(profiles["slow_rank"]), chosen)


def test_nothing_chosen_says_how_to_choose():
    assert "press n for the next one" in " ".join(words(nothing_chosen()).split())
