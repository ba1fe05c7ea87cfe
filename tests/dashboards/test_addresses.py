"""Addresses: what a page is asked for is what its link says."""

from __future__ import annotations

import pytest

from dashboards.ids import OF_ONE_PROFILE, Asked, Page, address, asked_for, timeline_address


@pytest.mark.parametrize("page", Page)
def test_every_page_is_found_by_its_address(page):
    profile = "ab/c d?" if page in OF_ONE_PROFILE else None
    path, _, query = address(page, profile=profile, show="a b&c", lane=3).partition("?")
    assert asked_for(path, f"?{query}") == Asked(page, profile, {"show": "a b&c", "lane": "3"})


def test_the_root_lists_profiles_and_a_bare_profile_shows_its_overview():
    assert asked_for("/") == asked_for("") == asked_for(None) == Asked(Page.PROFILES)
    assert asked_for("/p/1f") == Asked(Page.OVERVIEW, "1f")


@pytest.mark.parametrize(
    "path", ["/nowhere", "/p/1f/nowhere", "/p/1f/compare", "/overview", "/p/1f/steps/x", "/../etc"]
)
def test_what_is_no_page_is_none(path):
    assert asked_for(path) is None


@pytest.mark.parametrize("text", ["", "-1", "1.5", "x", "1" * 40, "²"])
def test_a_number_is_none_where_the_address_holds_anything_else(text):
    assert Asked(Page.STEPS, "1f", {"lane": text}).number("lane") is None


def test_a_number_and_the_same_page_with_another_query():
    asked = Asked(Page.STEPS, "1f", {"lane": "12"})
    assert asked.number("lane") == 12
    assert asked.address(lane=3, show="idle") == "/p/1f/steps?lane=3&show=idle"


def test_a_stretch_of_the_timeline():
    assert timeline_address("1f", start=5, end=9, lane=0, hole=2) == "/p/1f/timeline?start=5&end=9&lane=0&hole=2"
