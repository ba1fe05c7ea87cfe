"""The profiles of a watch's captures: where each leads, or what becomes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboards.data.watches import report_of
from dashboards.ids import Page, address
from dashboards.pages.live_parts import shown_captures
from dashboards.store.records import JobState
from gapfinder.watch.model import CaptureState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dashboards.data.watches import Watched
    from dashboards.store.records import StoredProfile
    from dashboards.view import View
    from gapfinder.watch.model import WatchState


@dataclass(frozen=True, slots=True)
class Opened:
    """Captures as profiles, by their number.

    Attributes:
        links: to the timelines of those that are ready.
        told: what becomes of the others, in a few words.
    """

    links: Mapping[int, str]
    told: Mapping[int, str]


def take_captures(view: View, watched: Watched, state: WatchState | None) -> None:
    """Make profiles of the captures that are done, the newest first."""
    if view.watches is not None and state is not None:
        reports = _reports(watched, state)
        view.watches.take({report: f"{state.name}, capture {number}" for number, report in reports.items()})


def opened_captures(view: View, watched: Watched, state: WatchState | None) -> Opened:
    """Return what became of the captures that are done."""
    links: dict[int, str] = {}
    told: dict[int, str] = {}
    if view.watches is None or state is None:
        return Opened(links, told)
    profiles = {profile.id: profile for profile in view.store.profiles()}
    for number, report in _reports(watched, state).items():
        taken, trouble = view.watches.profile_of(report), view.watches.trouble_of(report)
        profile = profiles.get(taken or "")
        if profile is not None and profile.is_ready:
            links[number] = address(Page.TIMELINE, profile=profile.id)
        elif profile is not None:
            told[number] = _under_way(profile)
        elif taken is not None:
            told[number] = "its profile was deleted"
        elif trouble is not None:
            told[number] = f"cannot be opened: {trouble}"
    return Opened(links, told)


def _reports(watched: Watched, state: WatchState) -> dict[int, Path]:
    """Return the exports of the captures that are done and shown, by their number, the newest first."""
    done = [one for one in shown_captures(state.captures) if one.state is CaptureState.DONE]
    found = {one.number: report_of(watched, one) for one in done}
    return {number: report for number, report in found.items() if report is not None}


def _under_way(profile: StoredProfile) -> str:
    job = profile.job
    if job is None or job.state is JobState.CANCELLED:
        return "not prepared for the timeline; see Profiles"
    if job.state is JobState.FAILED:
        return f"no timeline: {job.message or 'its preparation failed'}"
    return "its timeline is prepared"
