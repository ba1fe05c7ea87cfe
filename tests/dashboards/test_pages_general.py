"""The pages about several profiles: the list, comparisons and trends."""

from __future__ import annotations

from dataclasses import replace

import analyses
import pytest
from dashboard_fakes import ADDED_S, nodes, opened, post, sample, stored, texts, updates, view_of

from dashboards.app import create_app
from dashboards.components.palette import Theme
from dashboards.data.recording import BRANCH, profile_ids
from dashboards.ids import Asked, Page
from dashboards.pages import compare, overview, profiles, trends
from dashboards.pages.metric_table import metric_table
from dashboards.pages.trend_runs import record_prepared
from dashboards.store.records import JobState
from gapfinder.compare.history import accept, find_run, runs
from gapfinder.errors import InputError
from gapfinder.render.difference.words import difference_verdict

HOSTILE = "<img src=x onerror=1> foo<float>"


def page_of(page, view, **query):
    return page.layout(view, Asked(Page.PROFILES, None, query), theme=Theme.LIGHT)


def callback_of(app, *, input_id):
    """The one callback that this input starts."""
    (output,) = [one for one, entry in app.callback_map.items() if entry["inputs"][0]["id"] == input_id]
    return output


# profiles


def test_an_empty_store_says_how_to_begin():
    told = texts(page_of(profiles, view_of()))
    assert "No profiles yet" in told
    assert "gapfinder run train.py" in told
    assert "gapfinder upload" in told


def test_the_list_shows_what_each_profile_is_and_what_becomes_of_it():
    view = view_of(
        sample("slow_rank"),
        opened(analyses.host_only(), name="host"),
        stored(HOSTILE, state=JobState.FAILED, message="rank<0>.nsys-rep is damaged"),
        stored("under way", state=JobState.RUNNING, stage="exporting rank0.nsys-rep", progress=0.4),
        stored("waits", state=JobState.QUEUED),
        stored("new", state=None),
    )
    shown = page_of(profiles, view)
    told = texts(shown).replace("\N{NO-BREAK SPACE}", " ")
    for words in (
        "8 ranks", "3 processes, no GPU work", "1.235 MB", "2025-06-15 15:06 UTC", HOSTILE, "rank<0>.nsys-rep is damaged",
        "Try again", "exporting rank0.nsys-rep, 40.0 %", "waits for its turn", "not prepared",
    ):  # fmt: skip
        assert words in told
    assert [one["value"] for one in nodes(shown, "Progress")] == ["0.4"]
    assert len([one for one in nodes(shown, "Link") if "/overview" in one["href"]]) == 2
    assert len(nodes(shown, className="upload-zone")) == len(nodes(shown, className="upload-list")) == 1


def poll(app, *, seen, trigger="profiles-poll.n_intervals", cancels=(), prepares=()):
    inputs = [
        ("profiles-poll", "n_intervals", 1),
        [{"id": {"type": "profile-cancel", "job": job}, "property": "n_clicks", "value": n} for job, n in cancels],
        [
            {"id": {"type": "profile-prepare", "profile": one}, "property": "n_clicks", "value": n}
            for one, n in prepares
        ],
    ]
    output = callback_of(app, input_id="profiles-poll")
    return post(app, output, inputs=inputs, changed=[trigger], state=[("profiles-seen", "data", seen)])


def test_what_became_of_a_profile_s_files_is_told_in_the_list_and_on_its_overview():
    profile = sample("healthy")
    view = view_of(profile)
    asked = Asked(Page.OVERVIEW, profile.stored.id)
    trouble = "/runs/healthy.sqlite is no longer there"

    def told():
        return texts(page_of(profiles, view)), texts(overview.layout(view, asked, theme=Theme.LIGHT))

    assert not any(trouble in one for one in told())
    view.store.by_id[profile.stored.id] = replace(profile.stored, trouble=trouble)
    assert all(trouble in one for one in told())


def test_polling_sends_the_list_only_when_it_changed():
    view = view_of(stored("a run", state=JobState.RUNNING, progress=0.1))
    app = create_app(view)
    first = poll(app, seen=None)
    seen = updates(first)["profiles-seen"]["data"]
    assert updates(poll(app, seen=seen)) == {}
    (profile,) = view.store.by_id
    view.store.by_id[profile] = stored("a run", state=JobState.RUNNING, progress=0.7)
    assert "70.0" in poll(app, seen=seen).get_data(as_text=True)


def test_buttons_cancel_and_prepare_again():
    broken = stored("broken", state=JobState.FAILED, message="bad")
    under_way = stored("under way", state=JobState.RUNNING)
    view = view_of(broken, under_way)
    app = create_app(view)
    job = under_way.job.id
    poll(app, seen=None, trigger=f'{{"job":"{job}","type":"profile-cancel"}}.n_clicks', cancels=[(job, 1)])
    again = f'{{"profile":"{broken.id}","type":"profile-prepare"}}.n_clicks'
    poll(app, seen=None, trigger=again, prepares=[(broken.id, 1)])
    poll(app, seen=None, trigger=again, prepares=[(broken.id, None)])  # a button that just appeared
    assert view.queue.asked == [("cancel", job), ("submit", broken.id)]


def edit(app, *, button, profile, name="x", labels="", clicks=1):
    inputs = [(one, "n_clicks", clicks if one == button else None) for one in ("profile-save", "profile-delete")]
    state = [("profile-edited", "data", profile), ("profile-name", "value", name), ("profile-labels", "value", labels)]
    return post(
        app, callback_of(app, input_id="profile-save"), inputs=inputs, changed=[f"{button}.n_clicks"], state=state
    )


def test_a_profile_is_renamed_and_labelled():
    view = view_of(sample("slow_rank"))
    (profile,) = view.store.by_id
    answer = edit(create_app(view), button="profile-save", profile=profile, name=f" {HOSTILE} ", labels="b, a,,b ")
    assert updates(answer) == {"location": {"href": "/profiles"}}
    assert (view.store.by_id[profile].name, view.store.by_id[profile].labels) == (HOSTILE, ("a", "b"))


def test_a_profile_without_a_name_keeps_its_own():
    view = view_of(sample("slow_rank"))
    (profile,) = view.store.by_id
    answer = edit(create_app(view), button="profile-save", profile=profile, name="  ")
    assert "needs a name" in answer.get_data(as_text=True)
    assert view.store.by_id[profile].name == "slow_rank"


def test_a_profile_is_deleted_only_by_its_button():
    view = view_of(sample("slow_rank"))
    (profile,) = view.store.by_id
    assert updates(edit(create_app(view), button="profile-delete", profile=profile, clicks=None)) == {}
    assert profile in view.store.by_id
    edit(create_app(view), button="profile-delete", profile=profile)
    assert view.store.by_id == {}


def test_the_editor_says_what_goes_with_a_profile():
    own = stored("own")
    sent = replace(stored("sent"), is_uploaded=True)
    view = view_of(own, sent)
    assert "stay where they are" in texts(page_of(profiles, view, edit=own.id))
    assert "are removed from this server" in texts(page_of(profiles, view, edit=sent.id))
    with pytest.raises(InputError, match="no profile"):
        page_of(profiles, view, edit="ff")


# comparisons


def test_two_profiles_are_needed_and_then_chosen():
    assert "Nothing to compare yet" in texts(page_of(compare, view_of(sample("slow_rank"))))
    both = view_of(sample("slow_rank"), sample("healthy"))
    assert "Choose two profiles" in texts(page_of(compare, both))


def compared(before, after, **query):
    return page_of(compare, view_of(before, after), before=before.stored.id, after=after.stored.id, **query)


def test_what_changed_is_said_in_the_words_of_diff():
    from gapfinder.compare.diff import diff

    before, after = sample("healthy"), sample("broken_overlap")
    shown = compared(before, after)
    difference = diff(*map(compare.snapshot_of, (before, after)), names=("healthy", "broken_overlap"))
    (paragraph,) = nodes(shown, "P", className="verdict")
    assert paragraph["children"].replace("\N{NO-BREAK SPACE}", " ") == difference_verdict(difference)
    assert len(nodes(shown, "Graph")) == 1
    assert "Gradients are synchronised only after backward" in texts(shown)


def test_metrics_stand_beside_each_other_with_what_became_of_them():
    table = metric_table(*map(compare.snapshot_of, (sample("healthy"), sample("broken_overlap"))))
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["Overlap ratio"] == ("95.0 %", "0.0 %", "Worse: -95.0 points.")
    assert rows["Share of idle time"][2] == "As before."
    assert rows["Mean step time"][2].startswith("Worse: +19.9 % (+7.6")
    assert rows["Communication per step"][2].startswith("Better: -3.1 % (-")


def test_a_metric_that_could_not_be_measured_says_why():
    table = metric_table(*map(compare.snapshot_of, (sample("healthy"), sample("cuda_graphs"))))
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["Overlap ratio"][1] == "unknown"
    assert rows["Overlap ratio"][2].startswith("Not measured after: ")


def test_jobs_of_other_sizes_are_refused_with_the_reason_and_a_way_on():
    small = opened(replace(analyses.healthy()), name="two ranks")
    shown = compared(sample("healthy"), small)
    told = texts(shown).replace("\N{NO-BREAK SPACE}", " ")
    assert "Not comparable" in told
    assert "the baseline has 8 lanes and this capture 2" in told
    (link,) = [one["href"] for one in nodes(shown, "Link") if "allow=" in one["href"]]
    assert link.endswith("allow=gpus")
    assert "Not comparable" not in texts(compared(sample("healthy"), small, allow="gpus"))


def test_a_profile_without_gpu_work_cannot_be_compared():
    before, after = sample("healthy"), opened(analyses.host_only(), name="host")
    app = create_app(view_of(before, after))
    search = f"?before={before.stored.id}&after={after.stored.id}"
    inputs = [("location", "pathname", "/compare"), ("location", "search", search), ("theme", "data", "light")]
    output = callback_of(app, input_id="location")
    answer = post(app, output, inputs=inputs, changed=["location.search"])
    assert "host has no GPU operation" in answer.get_data(as_text=True)


def test_choosing_leads_to_the_address_that_shows_it_once():
    app = create_app(view_of(sample("healthy"), sample("slow_rank")))

    def choose(search):
        inputs = [("compare-before", "value", "1f"), ("compare-after", "value", "2e")]
        state = [("location", "pathname", "/compare"), ("location", "search", search)]
        output = callback_of(app, input_id="compare-before")
        return post(app, output, inputs=inputs, changed=["compare-after.value"], state=state)

    assert updates(choose("")) == {"location": {"href": "/compare?before=1f&after=2e"}}
    assert updates(choose("?before=1f&after=2e")) == {}


# trends


@pytest.fixture
def recording(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    both = view_of(sample("healthy"), sample("slow_rank"), opened(analyses.host_only(), name="host"))
    return replace(both, history=tmp_path / "store" / "history.db")


def test_without_runs_the_page_says_where_they_come_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "No runs are stored yet" in texts(page_of(trends, view_of()))


def test_prepared_profiles_with_gpu_work_are_recorded_once(recording):
    assert record_prepared(recording) == record_prepared(recording) == []
    found = runs(recording.history, branch=BRANCH)
    names = [recording.store.profile(profile).name for profile in profile_ids(found).values()]
    assert sorted(names) == ["healthy", "slow_rank"]
    assert {run.source for run in found} == {"dashboard"}
    assert {run.created for run in found} == {"2025-06-15T15:06:40+00:00"}
    assert ADDED_S == 1_750_000_000


def test_the_trend_of_a_metric_is_shown_with_its_runs(recording):
    shown = page_of(trends, recording, metric="step_p50")
    told = texts(shown).replace("\N{NO-BREAK SPACE}", " ")
    assert "2 runs measured it, of the 8 that it takes to see its level change." in told
    assert "2025-06-15 15:06 UTC" in told
    assert "T15:06" not in told
    assert "Median step time" in told or "median step time" in told
    assert {"healthy", "slow_rank"} <= set(told.split())
    accept(recording.history, 1, accepted=True)
    _, accepted, others = nodes(page_of(trends, recording), "Graph")[0]["figure"]["data"]
    assert (accepted["x"], others["x"]) == ([0], [1])


def test_a_metric_that_there_is_not_is_told(recording):
    with pytest.raises(InputError, match="no metric '<b>'"):
        page_of(trends, recording, metric="<b>")


def test_a_profile_that_cannot_be_opened_is_named(recording):
    broken = stored("broken")
    recording.store.by_id[broken.id] = broken
    (note,) = record_prepared(recording)
    assert note == "broken is not in the history: broken is not ready"


def test_the_nearest_history_is_read_as_well(recording, tmp_path):
    nearest = tmp_path / ".gapfinder" / "history.db"
    record_prepared(replace(recording, history=nearest))
    shown = page_of(trends, recording, runs="1")
    current = nodes(shown, "Link", className="current")[0]["children"]
    assert current.endswith(str(nearest))


def test_a_name_that_is_no_text_is_not_recorded_and_told(recording):
    hostile = opened(analyses.hostile(), name="hostile")
    view = replace(view_of(hostile), history=recording.history)
    (note,) = record_prepared(view)
    assert note.startswith("hostile is not in the history: cannot write the history")
    assert "hostile is not in the history" in texts(page_of(trends, view))
    assert record_prepared(recording) == []
    assert len(runs(recording.history)) == 2


def test_a_run_tells_what_was_measured(recording):
    record_prepared(recording)
    run, snapshot = find_run(recording.history, 1)
    assert run.lanes == len(snapshot.lanes) == 8
