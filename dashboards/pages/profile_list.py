"""The list of profiles: what each is, and what became of its preparation."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from dash import dcc, html

from dashboards.components.notices import empty, text
from dashboards.components.spoken import labelled
from dashboards.components.tables import heading, placed
from dashboards.ids import Page, address
from dashboards.store.records import JobState
from gapfinder.errors import GapfinderError
from gapfinder.findings.words import listed
from gapfinder.render.table import Kind
from gapfinder.units import format_bytes, format_count, format_moment, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dash.development.base_component import Component

    from dashboards.store.records import Job, StoredProfile
    from dashboards.view import View

CANCEL, PREPARE = "profile-cancel", "profile-prepare"
"""Types of the buttons' ids; the rest of the id is the job's, or the profile's."""

_HEADS = (
    ("profile", Kind.LABEL),
    ("what it is", Kind.WORD),
    ("files", Kind.LABEL),
    ("size", Kind.NUMBER),
    ("added", Kind.WORD),
    ("state", Kind.NOTE),
)
_REMEMBERED = 1_024


def profile_list(view: View) -> Component:
    """Return every profile, newest first; where there is none, how to get one."""
    profiles = view.store.profiles()
    if not profiles:
        return _first_steps()
    is_sorted = len(profiles) > 1
    heads = [heading(words, kind=kind, is_sorted=is_sorted) for words, kind in _HEADS]
    heads.append(html.Td(className="edit"))
    body = html.Tbody([_row(view, profile, place=place) for place, profile in enumerate(profiles)])
    grid = html.Table([html.Thead(html.Tr(heads)), body], className="profiles")
    return labelled(html.Div(grid, className="scroll", role="region", tabIndex="0"), "Profiles")


def signature(profiles: Sequence[StoredProfile]) -> str:
    """Return what the list shows as one text: while it stays the same, the list need not be sent again."""
    return "\n".join(
        f"{one.id} {one.name!r} {one.labels} {one.trouble} "
        f"{one.job and (one.job.state, one.job.stage, one.job.progress)}"
        for one in profiles
    )


def _first_steps() -> Component:
    return empty(
        "No profiles yet",
        "Profile a training, and open the run's folder here:",
        html.Pre("gapfinder run train.py\ngapfinder dashboard"),
        "Or bring reports of nsys: drop .nsys-rep, .sqlite, .gz or .zst files on the field below, or send them from "
        "another machine with gapfinder upload. Several files that are dropped together are the ranks of one run.",
    )


def _row(view: View, profile: StoredProfile, *, place: int) -> Component:
    name = text(profile.name)
    title = dcc.Link(name, href=address(Page.OVERVIEW, profile=profile.id)) if profile.is_ready else name
    labels = [html.Span(text(label), className="tag") for label in profile.labels]
    files = listed([file.name for file in profile.files])
    added = format_moment(profile.added_s)
    edit = dcc.Link("Edit", href=address(Page.PROFILES, edit=profile.id))
    row = html.Tr(
        [
            html.Th([title, *labels], scope="row", className="label"),
            html.Td(text(_contents(view, profile))),
            html.Td(text(files), className="label"),
            html.Td(format_bytes(profile.size_bytes), className="number"),
            html.Td(added),
            html.Td([*_state(profile), *_trouble(profile)], className="note"),
            html.Td(labelled(edit, f"Edit {profile.name}")),
        ],
        key=profile.id,
    )
    return placed(row, place)


def _contents(view: View, profile: StoredProfile) -> str:
    if not profile.is_ready or profile.job is None:
        return "-"
    return _lanes(view, profile.id, profile.job.id)


@lru_cache(maxsize=_REMEMBERED)
def _lanes(view: View, profile: str, job: str) -> str:
    try:
        analysis = view.profiles.get(profile).analysis
    except GapfinderError as error:
        return f"cannot be opened: {error}"
    if analysis.lanes:
        ranks = all(lane.rank is not None for lane in analysis.lanes)
        return format_count(len(analysis.lanes), "rank" if ranks else "lane")
    processes = format_count(len(analysis.processes), "process")
    return f"{processes}, no GPU work" if analysis.processes else "no GPU work"


def _state(profile: StoredProfile) -> Iterator[str | Component]:
    job = profile.job
    if job is None:
        yield "not prepared "
        yield _prepare("Prepare", profile)
        return
    match job.state:
        case JobState.DONE:
            yield "ready"
        case JobState.QUEUED | JobState.RUNNING:
            yield from _under_way(job, profile)
        case JobState.FAILED:
            yield html.Span(text(job.message or "It failed without a message."), className="failure")
            yield _prepare("Try again", profile)
        case JobState.CANCELLED:
            yield "cancelled "
            yield _prepare("Prepare", profile)


def _trouble(profile: StoredProfile) -> Iterator[Component]:
    if profile.trouble is not None:
        yield html.P(text(profile.trouble), className="trouble")


def _under_way(job: Job, profile: StoredProfile) -> Iterator[str | Component]:
    doing = "waits for its turn" if job.state is JobState.QUEUED else job.stage
    share = "" if job.progress is None or job.state is JobState.QUEUED else f", {format_share(job.progress)}"
    yield html.Span(text(f"{doing}{share}"))
    if job.state is JobState.RUNNING:
        bar = html.Progress(max="1") if job.progress is None else html.Progress(value=str(job.progress), max="1")
        yield labelled(bar, f"Progress of {profile.name}")
    button = html.Button("Cancel", id={"type": CANCEL, "job": job.id}, type="button")
    yield labelled(button, f"Cancel the preparation of {profile.name}")


def _prepare(words: str, profile: StoredProfile) -> Component:
    button = html.Button(words, id={"type": PREPARE, "profile": profile.id}, type="button")
    return labelled(button, f"{words}: {profile.name}")
