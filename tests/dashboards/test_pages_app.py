"""The app: which address shows which page, and what a browser gets when something fails."""

from __future__ import annotations

import json
import re
from pathlib import Path

import analyses
import pytest
from dashboard_fakes import FakeStore, opened, post, sample, stored, texts, updates, view_of

from dashboards import ids
from dashboards.app import create_app
from dashboards.ids import Page, address
from dashboards.store.records import JobState

SHOW = "..content.children...navigation.children...title.data...notice.children.."


def ask(view, path, *, search="", theme="light"):
    inputs = [("location", "pathname", path), ("location", "search", search), ("theme", "data", theme)]
    return post(create_app(view), SHOW, inputs=inputs, changed=["location.pathname"])


def test_the_front_page_fetches_nothing_from_elsewhere():
    app = create_app(view_of())
    page = app.server.test_client().get("/").get_data(as_text=True)
    assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", page)
    assert "shell.js" in page
    assets = list(Path(app.config.assets_folder).iterdir())
    assert {"shell.js", "shell.css", "parts.css", "pages.css"} <= {asset.name for asset in assets}
    for asset in assets:
        assert not re.search("https?://|@import|url\\(", asset.read_text(encoding="utf-8")), asset.name


@pytest.mark.parametrize("page", Page)
def test_every_page_is_shown_at_its_address(page):
    profile = sample("broken_overlap")
    path = address(page, profile=profile.stored.id if page in ids.OF_ONE_PROFILE else None)
    response = updates(ask(view_of(profile), path))
    assert response["content"]["children"]["type"] != "Section", texts(response["content"]["children"])
    about = " · broken_overlap" if page in ids.OF_ONE_PROFILE else ""
    assert response["title"]["data"] == f"{page.title()}{about} · gapfinder"


def test_navigation_has_the_pages_of_the_profile_and_the_others_to_switch_to():
    first, second = sample("broken_overlap"), sample("slow_rank")
    response = updates(ask(view_of(first, second), f"/p/{first.stored.id}/steps"))
    menu = json.dumps(response["navigation"]["children"])
    assert f"/p/{first.stored.id}/collectives" in menu
    assert f"/p/{second.stored.id}/steps" in menu
    assert f"/p/{second.stored.id}/collectives" not in menu
    assert re.findall(r'"className": "current", [^}]*?"href": "(?P<href>[^"]*steps)"|', menu)


def test_what_is_not_ready_is_no_choice():
    view = view_of(sample("slow_rank"), stored("later", state=JobState.RUNNING))
    assert "later" not in json.dumps(updates(ask(view, "/profiles"))["navigation"])


def test_the_choice_learns_of_new_profiles_and_is_sent_only_then():
    first = sample("slow_rank")
    view = view_of(first)
    app = create_app(view)
    (output,) = [one for one, entry in app.callback_map.items() if entry["inputs"][0]["id"] == "look"]

    def look(seen):
        state = [("location", "pathname", f"/p/{first.stored.id}/steps"), ("location", "search", ""), seen]
        return post(app, output, inputs=[("look", "n_intervals", 1)], state=state, changed=["look.n_intervals"])

    known = updates(look(("known", "data", None)))["known"]["data"]
    assert look(("known", "data", known)).status_code == 204
    later = stored("later")
    view.store.by_id[later.id] = later
    sent = updates(look(("known", "data", known)))
    assert f"/p/{later.id}/steps" in json.dumps(sent["navigation"]["children"])
    assert sent["known"]["data"] != known


def test_an_address_that_leads_nowhere_is_told_with_a_way_back():
    response = updates(ask(view_of(), "/nowhere"))
    told = texts(response["content"]["children"])
    assert "No such page" in told
    assert "All profiles" in told
    assert response["title"]["data"] == "No such page · gapfinder"


def test_a_profile_that_is_unknown_or_not_ready_is_told():
    assert "no profile 'ff'" in texts(updates(ask(view_of(), "/p/ff/overview"))["content"]["children"])
    late = stored("late", state=JobState.QUEUED)
    told = texts(updates(ask(view_of(late), f"/p/{late.id}/findings"))["content"]["children"])
    assert "late is not ready" in told


def test_the_theme_reaches_the_figures_and_anything_else_is_light():
    profile = sample("broken_overlap")
    path = f"/p/{profile.stored.id}/overview"
    inks = {
        theme: "#e8ebee" in json.dumps(updates(ask(view_of(profile), path, theme=theme))) for theme in ("dark", "x")
    }
    assert inks == {"dark": True, "x": False}


def test_an_error_of_gapfinder_is_a_notice_and_no_traceback(monkeypatch, caplog):
    def broken(_: FakeStore) -> list:
        raise RuntimeError("secret <b>")

    view = view_of(opened(analyses.healthy()))
    monkeypatch.setattr(FakeStore, "profiles", broken)
    answer = ask(view, "/profiles")
    body = answer.get_data(as_text=True)
    assert answer.status_code == 200
    assert "secret" not in body
    assert "Traceback" not in body
    assert "the log of the server tells more" in body
    assert "secret" in caplog.text


@pytest.mark.parametrize("figure", ["steps-heat", "live-course"])
def test_a_click_on_a_step_or_a_capture_leads_into_the_timeline_and_nowhere_else(figure):
    app = create_app(view_of(sample("slow_rank")))
    (output,) = [
        one
        for one in app.callback_map
        if one.startswith("location.href@") and app.callback_map[one]["inputs"][0]["id"] == figure
    ]

    def follow(target):
        inputs = [(figure, "clickData", {"points": [{"customdata": target}]})]
        return post(app, output, inputs=inputs, changed=[f"{figure}.clickData"])

    target = "/p/1f/timeline?start=1&end=2&lane=0"
    assert updates(follow(target)) == {"location": {"href": target}}
    for elsewhere in (None, "https://example.org", "//example.org", ["/p/"]):
        assert updates(follow(elsewhere)) == {}


def test_two_apps_do_not_share_callbacks():
    first, second = create_app(view_of(sample("slow_rank"))), create_app(view_of())
    assert set(first.callback_map) == set(second.callback_map)
    inputs = [("location", "pathname", "/profiles"), ("location", "search", ""), ("theme", "data", "light")]
    answers = [updates(post(app, SHOW, inputs=inputs, changed=["location.pathname"])) for app in (first, second)]
    told = [texts(answer["content"]["children"]) for answer in answers]
    assert "slow_rank" in told[0]
    assert "slow_rank" not in told[1]
