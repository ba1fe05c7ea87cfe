from __future__ import annotations

import json

import pytest
from dashboard_browser import prepared, view_of
from dashboard_hostile import MARKUP, US, hostile_database, two_lanes
from flask import Flask

from dashboards.routes import timeline
from gapfinder.explanations import Cause


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    folder = tmp_path_factory.mktemp("routes")
    files = {"two": two_lanes(folder / "two.sqlite"), "hostile": hostile_database(folder / "hostile.sqlite")}
    profiles = {name: prepared(name, [file], folder) for name, file in files.items()}
    server = Flask("test")
    timeline.register(server, view_of(profiles))
    client = server.test_client()

    def get(question, *, profile="two", headers=None, **query):
        known = profiles[profile].id if profile in profiles else profile
        return client.get(
            f"/p/{known}/{question}", query_string={k.strip("_"): v for k, v in query.items()}, headers=headers
        )

    return get


@pytest.mark.parametrize("question", ["lanes", "window", "hole", "holes", "search", "mark", "step"])
def test_a_profile_that_is_not_there_is_404(ask, question):
    answer = ask(question, profile="none")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (404, "no-store")
    assert answer.get_json() == {"error": "no profile 'none' in the store"}


@pytest.mark.parametrize(
    ("question", "query", "told"),
    [
        ("window", {"columns": "x"}, "columns is no whole number: 'x'"),
        ("window", {}, "columns is missing; give a whole number"),
        ("window", {"columns": 0}, "columns is 0; it is from 1 to 4096"),
        ("window", {"columns": 9, "lanes": "0,2"}, "lanes is 2; it is from 0 to 1"),
        ("window", {"columns": 9, "rows": "nothing"}, "rows has 'nothing'; known are holes, steps"),
        ("window", {"columns": 9, "start": 5, "end": 5}, "the stretch is empty: it starts at 5 ns"),
        ("window", {"columns": 9, "start": "9" * 19}, "start is no whole number"),
        ("holes", {"causes": "laziness"}, "causes has 'laziness'; known are exposed_communication_transfer"),
        ("hole", {"lane": 0, "hole": 2}, "no hole 2 on lane 0: it has 2 holes"),
        ("hole", {"after": "0"}, "hole of after is no whole number: ''"),
        ("hole", {"order": "size"}, "order has 'size'; known are time, length"),
        ("hole", {"back": 2}, "back is 2; it is from 0 to 1"),
        ("search", {"name": " "}, "name is 1 characters long; give 1 to 400"),
        ("mark", {"lane": 0, "op": 0}, "row is missing; give one row of the timeline"),
        ("mark", {"lane": 0, "op": 0, "row": "holes"}, "a hole is no operation"),
        ("mark", {"lane": 2, "op": 0, "row": "steps"}, "no lane 2; there are 2"),
        ("mark", {"lane": 0, "op": 3, "row": "compute"}, "no mark in compute 3; there are 3"),
        ("step", {}, "steps are 4 to 5"),
        ("step", {"number": 7}, "no step 7; steps are 4 to 5"),
    ],
)
def test_a_wrong_question_is_told_in_one_line(ask, question, query, told):
    answer = ask(question, **query)
    assert answer.status_code == 400
    assert answer.get_json()["error"].startswith(told)
    assert "\n" not in answer.get_json()["error"]


def test_the_outline_says_what_there_is(ask):
    body = ask("lanes").get_json()
    assert (body["name"], body["end"]) == ("two", 5000 * US)
    assert [lane["label"] for lane in body["lanes"]] == ["lane 0", "lane 1"]
    assert body["lanes"][0]["detail"] == "GPU 0, process 100"
    assert {cause["cause"] for cause in body["causes"]} <= set(Cause)


def test_a_window_is_answered_with_its_holes(ask):
    body = ask("window", start=0, end=5000 * US, columns=50, lanes="1,0", rows="holes").get_json()
    assert [lane["lane"] for lane in body["lanes"]] == [1, 0]
    assert [lane["holes"]["of"] for lane in body["lanes"]] == [1, 2]
    fewer = ask("window", columns=50, lanes="0", rows="holes", min_hole=600 * US).get_json()
    assert fewer["lanes"][0]["holes"]["of"] == 1


def test_the_same_answer_is_not_sent_twice(ask):
    first = ask("window", columns=50)
    assert (first.status_code, first.headers["Cache-Control"]) == (200, "private, no-cache")
    again = ask("window", columns=50, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert ask("window", columns=51, headers={"If-None-Match": first.headers["ETag"]}).status_code == 200


def test_holes_come_one_after_the_other(ask):
    first = ask("hole", from_=0).get_json()["hole"]
    assert (first["lane"], first["start"], first["end"], first["length"]) == (1, 500 * US, 700 * US, "200.0 µs")
    second = ask("hole", after=f"{first['lane']}.{first['hole']}").get_json()["hole"]
    assert (second["lane"], second["start"]) == (0, 1000 * US)
    longest = ask("hole", order="length").get_json()["hole"]
    assert longest["words"].startswith("lane 0, at 0.002000 s: 2.000 ms hole, ")
    assert ask("hole", after=f"0.{longest['hole']}").get_json() == {"hole": None}
    assert ask("hole", lane=0, hole=longest["hole"]).get_json()["hole"] == longest


def test_a_stretch_is_told_in_a_sentence(ask):
    body = ask("holes", start=0, end=1600 * US).get_json()
    assert body["words"].startswith(
        "lane 0 and lane 1, 0.000000 s to 0.001600 s: 2 holes of 700.0 µs together, the longest 500.0 µs "
    )
    assert body["words"].endswith(" on lane 0")
    assert [hole["length"] for hole in body["holes"]] == ["500.0 µs", "200.0 µs"]
    assert (
        ask("holes", start=0, end=100 * US, lanes=1).get_json()["words"] == "lane 1, 0.000000 s to 0.000100 s: no holes"
    )


def test_names_are_found_and_spelled_out(ask):
    body = ask("search", profile="hostile", name="IMG SRC").get_json()
    assert body["count"] == 1
    assert body["found"]["name"] == MARKUP.replace("\u202e", "\\u202e").replace("\u202c", "\\u202c")
    assert ask("search", name="nothing like it").get_json() == {
        "words": "nothing has such a name",
        "count": 0,
        "found": None,
    }


def test_a_mark_is_told_by_its_place(ask):
    found = ask("search", name="forward", lanes=1).get_json()["found"]
    assert ask("mark", lane=1, row="ranges", op=found["op"]).get_json() == {"mark": found}
    step = ask("mark", lane=0, row="steps", op=1).get_json()["mark"]
    assert (step["start"], step["end"], step["row"]) == (1500 * US, 5000 * US, "steps")


def test_a_step_lasts_until_the_last_lane_is_through(ask):
    assert ask("step", number=4).get_json() == {"number": 4, "start": 0, "end": 5000 * US}
    assert ask("step", number=5).get_json() == {"number": 5, "start": 1500 * US, "end": 5000 * US}


def test_answers_are_json_whatever_the_names(ask):
    raw = ask("window", profile="hostile", columns=50).data
    assert any("<img" in name for name in json.loads(raw)["names"].values())
