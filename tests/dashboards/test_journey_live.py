"""A training that is watched, in real Chromium: the page grows with its record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from dashboard_browser import picture, served, when_drawn
from dashboard_fakes import FakeQueue, FakeStore
from dashboard_watches import MS, capture, row, state, write_watch
from test_journey_pages import FAULTS

from dashboards.data.opening import OpenProfiles, open_prepared
from dashboards.jobs.captures import Watches
from dashboards.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dashboard_browser import Site
    from playwright.sync_api import Page as Tab

    from dashboards.store.records import StoredProfile

pytestmark = pytest.mark.browser

POINTS = "() => document.getElementById('live-course').querySelector('.js-plotly-plot').data[0].x.length"
RANGE = (
    "() => document.getElementById('live-course').querySelector('.js-plotly-plot')._fullLayout.xaxis.range.map(String)"
)


class CaptureStore(FakeStore):
    """A store for which whatever is added is one profile that was prepared before."""

    def __init__(self, prepared: StoredProfile) -> None:
        super().__init__()
        self._prepared = prepared

    def add(self, files: Sequence[Path], *, name: str) -> StoredProfile:
        self.by_id[self._prepared.id] = replace(self._prepared, name=name, files=tuple(files))
        return self.by_id[self._prepared.id]


def test_new_steps_and_a_new_capture_appear_and_its_link_opens_its_timeline(
    page: Tab, site: Site, tmp_path: Path
) -> None:
    times = [row(5 * place, rank=rank) for place in range(1, 40) for rank in (0, 1)]
    folder = write_watch(tmp_path / "gapfinder-runs" / "train", state(usual_ns=100 * MS), times=times)
    store = CaptureStore(site.profiles["slow_rank"])
    watches = Watches((tmp_path / "gapfinder-runs",), store=store, queue=FakeQueue())
    opened = OpenProfiles(lambda profile: open_prepared(store.profile(profile)))
    with served({}, view=View(store, opened, FakeQueue(), watches=watches)) as live:
        page.goto(f"{live.address}/live")
        page.wait_for_selector("#live-course .main-svg")
        assert page.evaluate(POINTS) == 39
        assert page.evaluate(FAULTS) == []
        box = page.locator("#live-course .nsewdrag").first.bounding_box()
        middle = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.3, middle)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.6, middle, steps=4)
        page.mouse.up()
        zoomed = page.evaluate(RANGE)
        page.evaluate("document.getElementById('live-course').dataset.same = 'yes'")

        write_watch(folder, state(usual_ns=100 * MS, captures=(capture(at=190),)), times=[row(200), row(200, rank=1)])
        page.wait_for_function(f"() => ({POINTS})() === 40")
        assert page.evaluate(RANGE) == zoomed
        assert page.evaluate("document.getElementById('live-course').dataset.same") == "yes"
        link = page.get_by_role("region", name="Captures").get_by_role("link", name="1")
        link.wait_for()
        picture(page, "page-live", folder=tmp_path)
        link.focus()
        page.keyboard.press("Enter")
        when_drawn(page)
        assert page.locator("main h1").inner_text() == "Timeline train, capture 1"
        page.goto("about:blank")  # it asks no more when the server ends
