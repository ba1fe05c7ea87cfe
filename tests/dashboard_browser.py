"""Headless Chromium against a served dashboard: profiles are prepared once, pages are opened and looked at."""

from __future__ import annotations

import os
import shutil
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard_fakes import FakeQueue, FakeStore, stored

from dashboards.app import create_app
from dashboards.data.opening import OpenProfiles, open_prepared
from dashboards.data.preparing import prepare_profile
from dashboards.routes.session import Access
from dashboards.server import guard
from dashboards.view import View
from gapfinder.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from playwright.sync_api import Browser, BrowserContext, Page
    from waitress.server import BaseWSGIServer

    from dashboards.store.records import StoredProfile

SAMPLES = Path(__file__).parents[1] / "sample_profiles"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
SIZE = {"width": 1280, "height": 800}
PATIENCE_MS = 15_000


@dataclass(frozen=True)
class Site:
    """A served dashboard: its address, its profiles by name, and a way to stop it."""

    address: str
    profiles: Mapping[str, StoredProfile]
    server: object

    def timeline(self, name: str, query: str = "") -> str:
        return f"{self.address}/p/{self.profiles[name].id}/timeline{query}"


def prepared(name: str, files: Sequence[Path], folder: Path) -> StoredProfile:
    """A profile that is ready to be opened."""
    profile = stored(name)
    target = folder / profile.id
    prepare_profile(files, folder=target, settings=Settings(), told=lambda *_: None)
    return replace(profile, folder=target)


def view_of(profiles: Mapping[str, StoredProfile]) -> View:
    """A view of prepared profiles."""
    store = FakeStore(*profiles.values())
    return View(
        store=store, profiles=OpenProfiles(lambda profile: open_prepared(store.profile(profile))), queue=FakeQueue()
    )


@contextmanager
def served(profiles: Mapping[str, StoredProfile], *, view: View | None = None) -> Iterator[Site]:
    """Serve profiles, or a view of more than these, on a free port, in a thread, as waitress does."""
    from waitress.server import create_server

    view = view or view_of(profiles)
    app = create_app(view)
    server = create_server(app.server, host="127.0.0.1", port=0, threads=8)
    guard(app, view, access=Access(hosts=frozenset({"127.0.0.1"}), port=server.effective_port, token=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield Site(f"http://127.0.0.1:{server.effective_port}", profiles, server)
    finally:
        server.task_dispatcher.shutdown()  # answers that are under way are finished first
        server.trigger.pull_trigger(lambda: _close(server))  # the loop's own thread does it, between two rounds
        thread.join(timeout=5)


def _close(server: BaseWSGIServer) -> None:
    """Close the connections that browsers keep, and the server; the loop ends with the last of them."""
    for channel in [*server.active_channels.values()]:
        channel.handle_close()
    server.close()


@contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium of this machine, without a window."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        try:
            yield browser
        finally:
            browser.close()


def tab(browser: Browser, **options: object) -> BrowserContext:
    """A context of its own, in which a wait does not last for ever."""
    context = browser.new_context(**({"viewport": SIZE, "reduced_motion": "reduce"} | options))
    context.set_default_timeout(PATIENCE_MS)
    return context


def when_drawn(page: Page) -> None:
    """Wait until the timeline shows all it asked for."""
    page.wait_for_selector('#timeline[data-painted="ready"]')


def picture(page: Page, name: str, *, folder: Path) -> Path:
    """Save what is seen, where CI keeps it where it says so."""
    kept = Path(os.environ.get("GAPFINDER_SHOTS") or folder)
    kept.mkdir(parents=True, exist_ok=True)
    path = kept / f"{name}.png"
    page.screenshot(path=path)
    return path
