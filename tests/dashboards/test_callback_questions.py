"""Questions to callbacks that no page asks are refused in one line, and none of them is a fault of the server."""

from __future__ import annotations

import json
import logging

import pytest
from dashboard_fakes import body_of, view_of

from dashboards.app import create_app
from dashboards.routes import answers, callbacks

SHOW = "..content.children...navigation.children...title.data...notice.children.."
GOOD = body_of(
    SHOW,
    inputs=[("location", "pathname", "/"), ("location", "search", None), ("theme", "data", "dark")],
    changed=["location.pathname"],
)
PREPARE = {"type": "profile-prepare", "profile": "x"}


@pytest.fixture(scope="module")
def app():
    app = create_app(view_of())
    answers.register(app.server)
    callbacks.register(app)
    return app


@pytest.fixture
def ask(app, caplog):
    """Ask in bytes or JSON; what is refused must be so in a line and without a word in the log."""

    def ask(body):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = app.server.test_client().post("/_dash-update-component", data=content, content_type="application/json")
        assert caplog.record_tuples == []
        if answer.status_code >= 400:
            assert len(answer.json["error"].splitlines()) == 1
        return answer.status_code

    caplog.set_level(logging.WARNING)
    return ask


def pressed(component, changed):
    inputs = [("profiles-poll", "n_intervals", 3), [], [{"id": component, "property": "n_clicks", "value": 1}]]
    return body_of(
        "..profiles-list.children...profiles-seen.data..",
        inputs=inputs,
        state=[("profiles-seen", "data", None)],
        changed=[changed],
    )


def test_what_a_page_asks_is_answered(ask):
    assert ask(GOOD) == 200
    assert ask({name: value for name, value in GOOD.items() if name not in ("state", "changedPropIds")}) == 200
    assert ask(pressed(PREPARE, '{"profile":"x","type":"profile-prepare"}.n_clicks')) == 200


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff", b"{}", b"[]", b"null", b"7", b"[" * 100_000, b'{"a":' * 100_000]
    + [{"output": output} for output in (None, 7, [], {}, "", "x", "x.y", "theme.data", SHOW)],
    ids=lambda body: str(body)[:24],
)
def test_what_asks_for_no_callback_is_refused(ask, body):
    assert ask(body) == 400


@pytest.mark.parametrize("part", ["outputs", "inputs", "state", "changedPropIds"])
@pytest.mark.parametrize(
    "value", [None, 7, "x", {}, [7], [[]], [{}], [None], {"id": 7}, [{"id": {"a": 7}, "property": "b", "value": 7}]]
)
def test_other_inputs_and_outputs_than_declared_are_refused(ask, part, value):
    assert ask({**GOOD, part: value}) == 400


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("value", [7, True, [], {}, "\ud800"])
def test_values_of_another_kind_are_refused(ask, place, value):
    inputs = [{**one, "value": value} if at == place else one for at, one in enumerate(GOOD["inputs"])]
    assert ask({**GOOD, "inputs": inputs}) == 400


@pytest.mark.parametrize(
    ("component", "changed"),
    [
        ({"type": "profile-prepare"}, "profiles-poll.n_intervals"),
        ({"type": "profile-prepare", "profile": 7}, "profiles-poll.n_intervals"),
        ({"type": "profile-cancel", "profile": "x"}, "profiles-poll.n_intervals"),
        (PREPARE, '{"type":"profile-prepare"}.n_clicks'),
        (PREPARE, "{.n_clicks"),
        (PREPARE, "look.n_intervals"),
    ],
)
def test_components_that_match_no_pattern_are_refused(ask, component, changed):
    assert ask(pressed(component, changed)) == 400


@pytest.mark.parametrize(
    "click",
    [{}, {"points": 7}, {"points": []}, {"points": [7]}, {"points": [{"customdata": ["/p/x"]}]}],
)
def test_a_click_on_nothing_leads_nowhere(app, ask, click):
    (output,) = [one for one, entry in app.callback_map.items() if entry["inputs"][0]["id"] == "steps-heat"]
    assert ask(body_of(output, inputs=[("steps-heat", "clickData", click)], changed=["steps-heat.clickData"])) == 200


@pytest.mark.parametrize("chosen", [{}, {"lane": [], "row": []}, {"profile": [], "hole": "x"}])
def test_a_choice_of_nothing_is_told(ask, chosen):
    inputs = [("timeline-selection", "data", chosen)]
    assert ask(body_of("timeline-panel.children", inputs=inputs, changed=["timeline-selection.data"])) == 200
