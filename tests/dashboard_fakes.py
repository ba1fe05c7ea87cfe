"""What pages are tested with: a store and a queue in memory, and profiles made of analyses, without any file."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from measured import with_collectives

from dashboards.data.opening import OpenProfile, OpenProfiles
from dashboards.data.trace import Busy, Clock, Events, Holes, Kind, LaneTrace, Operations, ProcessTrace, Steps, Trace
from dashboards.store.records import Job, JobState, StoredProfile
from dashboards.view import View
from gapfinder.errors import InputError
from gapfinder.explanations import Cause
from gapfinder.findings import explained
from gapfinder.load import load_profile
from gapfinder.tables import COLLECTIVES

if TYPE_CHECKING:
    import pandas as pd
    from dash import Dash
    from werkzeug.test import TestResponse

    from gapfinder.model import Analysis, Lane

SAMPLES = Path(__file__).parents[1] / "sample_profiles"
ADDED_S = 1_750_000_000.0
Columns = TypeVar("Columns")


@cache
def measured(path: Path) -> tuple[Analysis, pd.DataFrame]:
    """The findings and collectives of a report, measured once."""
    analysis, collectives = with_collectives([load_profile(path)])
    return explained(analysis), collectives


def sample(name: str) -> OpenProfile:
    """A bundled sample, opened."""
    analysis, collectives = measured(SAMPLES / f"{name}.sqlite")
    return opened(analysis, name=name, collectives=collectives)


def opened(analysis: Analysis, *, name: str = "a run", collectives: pd.DataFrame | None = None) -> OpenProfile:
    """A profile of an analysis; its trace holds the holes and steps that the analysis has in full."""
    spans = [(lane.window.start_ns, lane.window.end_ns) for lane in analysis.lanes]
    origin = min((start for start, _ in spans), default=0)
    trace = Trace(
        origin_ns=origin,
        end_ns=max((end for _, end in spans), default=origin) - origin,
        names=("step",),
        domains=(),
        lanes=tuple(map(_lane, analysis.lanes)),
        processes=(
            ProcessTrace(ranges=columns(Events), calls=columns(Events), launching_thread=None, called=columns(Busy)),
        ),
        collectives=COLLECTIVES.empty() if collectives is None else collectives,
    )
    return OpenProfile(stored=stored(name), analysis=analysis, trace=trace)


def stored(name: str, *, state: JobState | None = JobState.DONE, **job: object) -> StoredProfile:
    """A profile as the store knows it; its id is made of its name."""
    profile = "".join(f"{byte:02x}" for byte in name.encode("utf-8", "surrogatepass"))[:16]
    facts = {"stage": "measuring", "progress": None, "message": None, "started_s": ADDED_S, "changed_s": ADDED_S}
    made = None if state is None else Job(id=f"j{profile}", profile=profile, state=state, attempts=1, **facts | job)
    return StoredProfile(
        id=profile,
        name=name,
        labels=(),
        files=(Path(f"/runs/{name}.sqlite"),),
        is_uploaded=False,
        size_bytes=1_234_567,
        added_s=ADDED_S,
        job=made,
        folder=Path("/store") / profile,
    )


def _lane(lane: Lane) -> LaneTrace:
    holes = sorted(lane.holes.top, key=lambda hole: hole.start_ns)
    causes = list(Cause)
    steps = lane.steps.items if lane.steps else ()
    return LaneTrace(
        operations=dict.fromkeys(Kind, columns(Operations)),
        busy=dict.fromkeys(Kind, columns(Busy)),
        any_busy=columns(Busy),
        holes=columns(
            Holes,
            starts=[hole.start_ns for hole in holes],
            ends=[hole.end_ns for hole in holes],
            idle=[hole.idle_ns for hole in holes],
            exposed=[hole.exposed_ns for hole in holes],
            copy_only=[hole.copy_only_ns for hole in holes],
            causes=[causes.index(hole.cause) for hole in holes],
            shares=[[hole.evidence.shares.get(cause, 0) for cause in causes] for hole in holes],
        ),
        steps=columns(
            Steps,
            numbers=[step.number for step in steps],
            starts=[step.window.start_ns for step in steps],
            ends=[step.window.end_ns for step in steps],
        ),
        clock=Clock(),
        process=0,
    )


def columns(kind: type[Columns], **known: list[object]) -> Columns:
    """Columns of a trace; those that are not known are all 0."""
    count = len(next(iter(known.values()), []))
    given = {name: np.array(values, np.int64) for name, values in known.items()}
    return kind(**{field.name: np.zeros(count, np.int64) for field in fields(kind)} | given)


class FakeStore:
    """A store in memory."""

    def __init__(self, *profiles: StoredProfile) -> None:
        self.by_id = {profile.id: profile for profile in profiles}

    def profiles(self) -> list[StoredProfile]:
        return list(self.by_id.values())

    def profile(self, profile: str) -> StoredProfile:
        if profile not in self.by_id:
            raise InputError(f"no profile {profile!r} in the store")
        return self.by_id[profile]

    def rename(self, profile: str, *, name: str) -> None:
        self.by_id[profile] = replace(self.profile(profile), name=name)

    def label(self, profile: str, *, labels: list[str]) -> None:
        self.by_id[profile] = replace(self.profile(profile), labels=tuple(sorted(labels)))

    def remove(self, profile: str) -> None:
        del self.by_id[self.profile(profile).id]

    def jobs(self) -> list[Job]:
        return [profile.job for profile in self.by_id.values() if profile.job is not None]


class FakeQueue:
    """A queue that only remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def submit(self, profile: str) -> None:
        self.asked.append(("submit", profile))

    def cancel(self, job: str) -> None:
        self.asked.append(("cancel", job))


def view_of(*profiles: OpenProfile | StoredProfile) -> View:
    """A view of these profiles; what is only stored cannot be opened."""
    ready = {one.stored.id: one for one in profiles if isinstance(one, OpenProfile)}
    store = FakeStore(*(one.stored if isinstance(one, OpenProfile) else one for one in profiles))

    def open_profile(profile: str) -> OpenProfile:
        if profile not in ready:
            raise InputError(f"{store.profile(profile).name} is not ready")
        return ready[profile]

    return View(store, OpenProfiles(open_profile), FakeQueue())


def plain(component: object) -> object:
    """What the browser gets for a component, as plain JSON."""
    from plotly.utils import PlotlyJSONEncoder

    return json.loads(json.dumps(component, cls=PlotlyJSONEncoder))


def texts(component: object) -> str:
    """All text of a component tree, as a reader sees it: pieces in order, with a space between."""
    return " ".join(_texts(plain(component)))


def _texts(node: object) -> list[str]:
    if isinstance(node, str):
        return [node]
    if isinstance(node, list):
        return [piece for item in node for piece in _texts(item)]
    if isinstance(node, dict) and "props" in node:
        return _texts(node["props"].get("children"))
    return [] if node is None or isinstance(node, dict) else [str(node)]


def nodes(component: object, kind: str | None = None, **props: object) -> list[dict[str, object]]:
    """The props of every component of this type with these props, in order."""
    found = []

    def visit(node: object) -> None:
        if isinstance(node, list):
            for item in node:
                visit(item)
        elif isinstance(node, dict) and "props" in node:
            mine = node["props"]
            if kind in (None, node["type"]) and all(mine.get(name) == value for name, value in props.items()):
                found.append(mine)
            visit(mine.get("children"))

    visit(plain(component))
    return found


def post(app: Dash, output: str, *, inputs: list[object], changed: list[str], state: list[object] = ()) -> TestResponse:
    """The answer of a callback to the browser's own request."""
    assert output in app.callback_map, f"no callback {output}; there are {list(app.callback_map)}"
    body = body_of(output, inputs=inputs, changed=changed, state=state)
    return app.server.test_client().post("/_dash-update-component", json=body)


def body_of(output: str, *, inputs: list[object], changed: list[str], state: list[object] = ()) -> dict[str, object]:
    """What the browser asks a callback; `inputs` and `state` are (id, property, value), or a list of what a pattern of
    ids matches."""
    return {
        "output": output,
        "outputs": _outputs(output),
        "inputs": [
            {"id": one[0], "property": one[1], "value": one[2]} if isinstance(one, tuple) else one for one in inputs
        ],
        "state": [{"id": i, "property": p, "value": v} for i, p, v in state],
        "changedPropIds": changed,
    }


def updates(answer: TestResponse) -> dict[str, dict[str, object]]:
    """What a callback changed, by the component's id; nothing where it had nothing to say."""
    assert answer.status_code in (200, 204)
    return {} if answer.status_code == 204 else answer.get_json()["response"]


def _outputs(output: str) -> object:
    def one(text: str) -> dict[str, object]:
        name, _, prop = text.rpartition(".")
        return {"id": json.loads(name) if name.startswith("{") else name, "property": prop}

    if output.startswith(".."):
        return [one(part) for part in output.strip(".").split("...")]
    return one(output)
