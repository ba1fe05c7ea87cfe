"""The page of a watched training, from records as they are written and as they may be left."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from dashboard_fakes import FakeQueue, nodes, post, stored, texts, updates, view_of
from dashboard_hostile import MARKUP
from dashboard_watches import BEGAN_S, MS, capture, row, state, write_watch

from dashboards.app import create_app
from dashboards.components.palette import Theme
from dashboards.ids import Asked, Page
from dashboards.jobs.captures import Watches
from dashboards.pages import live
from dashboards.store.records import JobState
from gapfinder.errors import visible
from gapfinder.watch.model import CaptureState, Event
from gapfinder.watch.record import EVENTS_NAME, STATE_NAME, TIMES_NAME

NO_BREAK = "\N{NO-BREAK SPACE}"


def view_with(root, *profiles):
    view = view_of(*profiles)
    return replace(view, watches=Watches((root,), store=view.store, queue=FakeQueue()))


def page_of(root, *profiles, view=None, **query):
    asked = Asked(Page.LIVE, None, query)
    return live.layout(view or view_with(root, *profiles), asked, theme=Theme.LIGHT)


def told_by(root, **query):
    return texts(page_of(root, **query)).replace(NO_BREAK, " ")


def test_without_a_watch_it_is_said_what_to_run(tmp_path):
    shown = page_of(tmp_path)
    told = texts(shown)
    assert "gapfinder watch -- torchrun train.py" in told
    assert "gapfinder dashboard gapfinder-runs" in told
    assert nodes(shown, id="live-course-part")[0]["hidden"]
    assert told == texts(live.layout(view_of(), Asked(Page.LIVE), theme=Theme.LIGHT))


def test_a_running_watch_says_how_it_does_now_and_why_it_captured(tmp_path):
    captures = (
        capture(1, sentence="this is how a healthy step looks", headline="Communication is well hidden"),
        capture(2, state=CaptureState.CAPTURING, first_step=None, end_step=None, folder=""),
    )
    times = [row(5), row(5, rank=1), row(10, p50=130 * MS), row(10, rank=1, p50=130 * MS, apart_ns=91 * MS)]
    write_watch(
        tmp_path / "run",
        state(captures=captures, usual_ns=100 * MS),
        times=times,
        events=[Event(at=BEGAN_S, text="the training started"), Event(at=BEGAN_S + 60, text="a capture", capture=1)],
    )
    told = told_by(tmp_path)
    for words in (
        "train: torchrun train.py",
        "The training is running on",
        "2 captures, the last one because: it drifts. It is being taken now.",
        "130.0 ms usual 100.0 ms, +30.0 %",
        "Slowest rank rank 1 +16.7 % outside backward",  # 91 ms, and the median of 65 and 91 is 78
        "2025-11-30 03:01:00 UTC drift: this is how a healthy step looks 610 to 619 Communication is well hidden",
        "the training started",
    ):
        assert words in told
    assert told.index("a capture") < told.index("the training started")


def test_what_is_read_out_changes_only_with_the_training_and_its_captures(tmp_path):
    folder = write_watch(tmp_path / "run", state(), times=[row(5)])

    def said():
        return nodes(page_of(tmp_path), role="status")[0]["children"]

    before = said()
    write_watch(folder, None, times=[row(10, p50=150 * MS)])
    assert said() == before
    write_watch(folder, state(captures=(capture(),)))
    assert said() != before


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"training_exit_code": 0, "ended_at": 5.0}, "The training has ended with exit code 0. No capture was taken."),
        ({"training_exit_code": 137, "ended_at": 5.0}, "The training failed with exit code 137 (SIGKILL)."),
        ({"ended_at": 5.0}, "what became of the training is not known"),
        ({"pid": 2**62}, "its process 4611686018427387904 is not alive"),
        ({"host": "node17"}, "It runs on node17: only there"),
    ],
)
def test_the_end_of_a_training_is_told_as_it_is_known(tmp_path, changed, words):
    write_watch(tmp_path / "run", state(**changed))
    assert words in told_by(tmp_path)


def test_a_capture_that_its_watch_left_is_not_said_to_be_under_way(tmp_path):
    under_way = capture(state=CaptureState.ANALYSING)
    write_watch(tmp_path / "run", state(captures=(under_way,)))
    assert "It is being analysed." in told_by(tmp_path)
    write_watch(tmp_path / "run", state(captures=(under_way,), ended_at=9.0))
    told = told_by(tmp_path)
    assert "being analysed" not in told
    assert "was analysing when the watch ended" in told


def test_markup_in_names_sentences_and_events_is_text(tmp_path):
    hostile = capture(sentence=MARKUP, headline=MARKUP, change=MARKUP, trouble=MARKUP, state=CaptureState.FAILED)
    known = state(name=MARKUP, command=(MARKUP,), captures=(hostile,), host=MARKUP)
    write_watch(tmp_path / "run", known, times=[row(5)], events=[Event(at=BEGAN_S, text=MARKUP)])
    shown = page_of(tmp_path)
    assert texts(shown).count(visible(MARKUP)) >= 8
    (graph,) = nodes(shown, "Graph")
    assert "<img" not in json.dumps(graph["figure"])


def test_torn_and_missing_files_are_told_and_the_rest_is_shown(tmp_path):
    folder = write_watch(tmp_path / "run", state(), times=[row(5)], events=[Event(at=1.0, text="it began")])
    (folder / STATE_NAME).write_text('{"name": ')
    with (folder / TIMES_NAME).open("a") as file:
        file.write('{"at": 12\n{"at":')
    shown = page_of(tmp_path)
    told = texts(shown)
    assert "This watch cannot be read" in told
    assert "usual not known" in told
    assert "1 line of the record cannot be read" in told
    assert "it began" in told
    assert not nodes(shown, id="live-course-part")[0]["hidden"]
    (folder / STATE_NAME).unlink()
    assert "No training is watched" in told_by(tmp_path)


def test_a_watch_without_steps_says_when_they_come(tmp_path):
    folder = write_watch(tmp_path / "run", state())
    (folder / EVENTS_NAME).unlink(missing_ok=True)
    shown = page_of(tmp_path)
    assert "No step times yet" in texts(shown)
    assert nodes(shown, id="live-course-part")[0]["hidden"]


def test_one_of_several_watches_is_chosen_by_the_address_and_nothing_else_is_opened(tmp_path):
    runs = tmp_path / "runs"
    for number in range(15):
        write_watch(runs / f"run{number}", state(name=f"training {number}", started_at=float(number)))
    secret = write_watch(tmp_path / "secret", state(name="secret"))
    told = told_by(runs)
    assert "training 14:" in told
    assert "Older watches (3)" in told
    assert "training 2:" in told_by(runs, watch="run2", span="1h")
    links = {one["href"] for one in nodes(page_of(runs, watch="run2", span="1h"), "Link")}
    assert {"/live?watch=run7&span=1h", "/live?watch=run0&span=1h", "/live?watch=run2&span=10m"} <= links
    for elsewhere in ("../secret", str(secret), "run99"):
        told = told_by(runs, watch=elsewhere)
        assert "No such watch" in told
        assert "secret:" not in told


def ask(app, *, seen, query=None):
    (output,) = [one for one, entry in app.callback_map.items() if entry["inputs"][0]["id"] == "live-poll"]
    states = [("live-shown", "data", query or {}), ("live-seen", "data", seen), ("theme", "data", "light")]
    return post(app, output, inputs=[("live-poll", "n_intervals", 1)], state=states, changed=["live-poll.n_intervals"])


def drawn_anew(sent):
    """What of the figure was changed, by its place."""
    return {tuple(one["location"]): one["params"]["value"] for one in sent["live-course"]["figure"]["operations"]}


def test_polling_sends_only_what_is_new(tmp_path):
    folder = write_watch(tmp_path / "run", state(), times=[row(5)])
    view = view_with(tmp_path)
    app = create_app(view)
    (seen,) = [one["data"] for one in nodes(page_of(tmp_path, view=view), "Store", id="live-seen")]
    assert updates(ask(app, seen=seen)) == {}
    write_watch(folder, None, times=[row(10)])
    sent = updates(ask(app, seen=seen))
    changed = drawn_anew(sent)
    assert {("data",), ("layout", "shapes"), ("layout", "yaxis")} == set(changed)  # the axis of time is the reader's
    middle = changed["data",][0]
    assert middle["name"] == "rank 0"
    assert len(middle["x"]) == 2
    assert updates(ask(app, seen=sent["live-seen"]["data"])) == {}
    (folder / STATE_NAME).unlink()
    gone = updates(ask(app, seen=sent["live-seen"]["data"]))
    assert "No training is watched" in texts(gone["live-said"]["children"])
    assert gone["live-course-part"]["hidden"]


def test_a_finished_capture_leads_to_its_timeline_as_soon_as_that_is_there(tmp_path):
    folder = write_watch(tmp_path / "run", state(captures=(capture(),)), times=[row(5)])
    view = view_with(tmp_path)
    report = folder / "captures" / "001" / "report.sqlite"
    added = []

    def add(files, *, name):
        added.append((list(files), name))
        return view.store.profile(stored("one").id)

    view.store.add = add
    app = create_app(view)
    waiting, ready, failed = (
        stored("one", state=JobState.QUEUED),
        stored("one"),
        stored("one", state=JobState.FAILED, message="it is <b>damaged</b>"),
    )
    view.store.by_id[waiting.id] = waiting
    first = updates(ask(app, seen=None))
    assert added == [([report], "train, capture 1")]
    assert "its timeline is prepared" in texts(first["live-below"]["children"])
    view.store.by_id[waiting.id] = ready
    second = updates(ask(app, seen=first["live-seen"]["data"]))
    link = f"/p/{ready.id}/timeline"
    assert link in [one["href"] for one in nodes(second["live-below"]["children"], "Link")]
    flags = [one for one in drawn_anew(second)["data",] if one["name"] == "capture"]
    assert flags[0]["customdata"] == [link]
    assert len(added) == 1
    view.store.by_id[waiting.id] = failed
    third = updates(ask(app, seen=second["live-seen"]["data"]))
    assert "no timeline: it is <b>damaged</b>" in texts(third["live-below"]["children"])
    del view.store.by_id[waiting.id]
    assert "its profile was deleted" in texts(
        updates(ask(app, seen=third["live-seen"]["data"]))["live-below"]["children"]
    )


def test_a_capture_without_its_report_says_so(tmp_path):
    write_watch(tmp_path / "run", state(captures=(capture(),)))
    view = view_with(tmp_path)

    def add(files, *, name):
        view.store.profile("missing")

    view.store.add = add
    told = texts(updates(ask(create_app(view), seen=None))["live-below"]["children"])
    assert "cannot be opened: no profile 'missing'" in told
