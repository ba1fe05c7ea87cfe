"""Profiles that are prepared once, and one Chromium, for all journeys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from dashboard_browser import SAMPLES, Site, chromium, prepared, served, tab
from dashboard_hostile import hostile_database, no_gpu

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Page


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A served dashboard with the sample of a slow rank, a profile of hostile names, and one without GPU work."""
    folder = tmp_path_factory.mktemp("site")
    files = {
        "slow_rank": SAMPLES / "slow_rank.sqlite",
        "hostile": hostile_database(folder / "hostile.sqlite"),
        "no_gpu": no_gpu(folder / "no_gpu.sqlite"),
    }
    profiles = {name: prepared(name, [file], folder) for name, file in files.items()}
    with served(profiles) as one:
        yield one


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """What the pages of all tests share: scripts that were loaded once."""
    one = tab(browser)
    yield one
    one.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """An empty page; what its scripts throw or complain about fails the test."""
    wrong: list[str] = []
    one = context.new_page()
    one.on("pageerror", lambda error: wrong.append(str(error)))
    one.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    yield one
    one.close()
    assert wrong == []
