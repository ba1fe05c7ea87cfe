"""Ids of components and addresses of pages: everything that two modules, or Python and JavaScript, must agree on."""

from __future__ import annotations

from enum import StrEnum
from urllib.parse import quote, urlencode


class Page(StrEnum):
    """The pages; the value is the last part of the address, and the name on the navigation is its title-case."""

    PROFILES = "profiles"
    OVERVIEW = "overview"
    TIMELINE = "timeline"
    STEPS = "steps"
    COLLECTIVES = "collectives"
    FINDINGS = "findings"
    COMPARE = "compare"
    TRENDS = "trends"


OF_ONE_PROFILE = (Page.OVERVIEW, Page.TIMELINE, Page.STEPS, Page.COLLECTIVES, Page.FINDINGS)
"""Pages about one profile; their address is /p/PROFILE/PAGE, that of the others /PAGE."""

# the shell around every page
LOCATION = "location"
CONTENT = "content"
NAVIGATION = "navigation"
THEME = "theme"
"""dcc.Store with "light" or "dark"; absent until chosen, the browser's preference holds."""
THEME_BUTTON = "theme-button"
NOTICE = "notice"

# the timeline, which JavaScript draws
TIMELINE = "timeline"
TIMELINE_VIEW = "timeline-view"
"""dcc.Store that JavaScript keeps: {"start": ns, "end": ns} since the profile's origin, of what is in view."""
TIMELINE_SELECTION = "timeline-selection"
"""dcc.Store that JavaScript sets on a click: {"lane": int, "hole": int} or {"lane": int, "row": str, "op": int}."""
TIMELINE_PANEL = "timeline-panel"


def address(page: Page, *, profile: str | None = None, **query: str | int) -> str:
    """Return where a page is; `query` is what it shows there, such as a timeline's start and end in ns."""
    path = f"/{page}" if profile is None else f"/p/{quote(profile, safe='')}/{page}"
    return f"{path}?{urlencode(query)}" if query else path


def timeline_address(profile: str, *, start: int, end: int, lane: int | None = None, hole: int | None = None) -> str:
    """Return the link to a stretch of the timeline, in ns since the profile's origin, with a hole of a lane chosen."""
    query: dict[str, str | int] = {"start": start, "end": end}
    query |= {} if lane is None else {"lane": lane}
    query |= {} if hole is None else {"hole": hole}
    return address(Page.TIMELINE, profile=profile, **query)
