"""Ids of components and addresses of pages: everything that two modules, or Python and JavaScript, must agree on."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import parse_qsl, quote, unquote, urlencode


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
    LIVE = "live"


OF_ONE_PROFILE = (Page.OVERVIEW, Page.TIMELINE, Page.STEPS, Page.COLLECTIVES, Page.FINDINGS)
"""Pages about one profile; their address is /p/PROFILE/PAGE, that of the others /PAGE."""

# the shell around every page
LOCATION = "location"
CONTENT = "content"
NAVIGATION = "navigation"
THEME = "theme"
"""dcc.Store with "light" or "dark", which JavaScript sets before the first page: as chosen, else as preferred."""
THEME_BUTTON = "theme-button"
TITLE = "title"
"""dcc.Store with the page's title."""
NOTICE = "notice"

LOOK = "look"
"""dcc.Interval that looks for profiles that were added, renamed or removed meanwhile."""
KNOWN = "known"
"""dcc.Store with the profiles to choose from, as one text."""

LIVE_SHOWN = "live-shown"
"""dcc.Store with the query of the live page."""

# the timeline, which JavaScript draws
TIMELINE = "timeline"
TIMELINE_SELECTION = "timeline-selection"
"""dcc.Store that JavaScript sets when something is chosen: {"profile": id, "lane": int, "hole": int}, or "row" and "op"
in place of "hole"; null for nothing. What is in view is in the address alone."""
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


@dataclass(frozen=True, slots=True)
class Asked:
    """What an address asks for.

    Attributes:
        profile: id of the profile that the page is about; None for a page about no single one.
        query: what it is to show there, by name; anything may stand in an address, so nothing of it is sure.
    """

    page: Page
    profile: str | None = None
    query: dict[str, str] = field(default_factory=dict)

    def address(self, **query: str | int) -> str:
        """Return the address of the same page with another query."""
        return address(self.page, profile=self.profile, **query)

    def number(self, name: str) -> int | None:
        """Return a whole number of the query; None where there is none."""
        text = self.query.get(name, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


_MOST_DIGITS = 18


def asked_for(pathname: str | None, search: str | None = None) -> Asked | None:
    """Return what an address asks for, the inverse of `address`; None where there is no such page."""
    parts = [unquote(part) for part in (pathname or "").split("/") if part]
    query = dict(parse_qsl((search or "").removeprefix("?")))
    match parts:
        case []:
            return Asked(Page.PROFILES, None, query)
        case ["p", profile]:
            return Asked(Page.OVERVIEW, profile, query)
        case ["p", profile, name] if name in OF_ONE_PROFILE:
            return Asked(Page(name), profile, query)
        case [name] if name in set(Page) - set(OF_ONE_PROFILE):
            return Asked(Page(name), None, query)
        case _:
            return None
