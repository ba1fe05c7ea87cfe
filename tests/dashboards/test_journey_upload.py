"""Uploads in a real browser: progress, a connection that breaks, and what is no profile."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest
from dashboard_browser import picture, tab
from dashboard_uploading import Uploading, uploading
from playwright.sync_api import expect

from dashboards.store.work import Work

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
SLICE_BYTES = 4 << 20
PATIENCE_MS = 60_000
SEEN = """() => {
  window.seen = [];
  new MutationObserver(() => {
    const state = document.querySelector(".upload-state");
    if (state && window.seen.at(-1) !== state.textContent) window.seen.push(state.textContent);
  }).observe(document, { childList: true, subtree: true, characterData: true });
}"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Uploading]:
    with uploading(tmp_path / "store") as one:
        yield one


@pytest.fixture
def page(browser: Browser, site: Uploading) -> Iterator[Page]:
    """The page of profiles; unlike other pages it may complain, as it does of a server that is not there."""
    context = tab(browser)
    one = context.new_page()
    one.goto(site.address)
    one.evaluate(SEEN)
    yield one
    context.close()


def report(path: Path, size: int) -> Path:
    """What looks like a report by its first bytes, and is random from there on."""
    path.write_bytes(b"SQLite format 3\0" + os.urandom(size - 16))
    return path


def choose(page: Page, *files: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose files").click()
    chooser.value.set_files(files)


def percents(page: Page) -> list[int]:
    """The progress that was seen, each change once."""
    found = (re.fullmatch(r"Sending .*: (\d+) %", text) for text in page.evaluate("window.seen"))
    return [int(one[1]) for one in found if one]


def test_an_upload_shows_its_progress_and_becomes_a_profile(site, page, tmp_path):
    file = report(tmp_path / "large <b>rank 0.sqlite", 8 * SLICE_BYTES + 17)
    choose(page, file)
    expect(page.locator(".upload-state")).to_have_text("Uploaded", timeout=PATIENCE_MS)
    assert percents(page) == [
        100 * offset // file.stat().st_size for offset in range(0, file.stat().st_size, SLICE_BYTES)
    ]
    row = page.locator("table.profiles tbody tr")
    expect(row).to_contain_text("large <b>rank 0")
    expect(row).to_contain_text("waits for its turn")
    picture(page, "uploaded", folder=tmp_path)
    (profile,) = site.store.profiles()
    assert profile.files[0].read_bytes() == file.read_bytes()
    assert page.get_by_role("link", name="Open").get_attribute("href") == f"/p/{profile.id}/overview"


# waitress leaves half a body's file to be freed
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_upload_goes_on_where_its_connection_broke(site, page, tmp_path):
    file = report(tmp_path / "rank0.sqlite", 3 * SLICE_BYTES)
    begun: list[int] = []
    page.on("request", lambda one: begun.append(int(one.url.rpartition("=")[2])) if "?offset=" in one.url else None)
    site.wire.cut_after(SLICE_BYTES + SLICE_BYTES // 2)
    choose(page, file)
    state = page.locator(".upload-state")
    expect(state).to_have_text("Trying again, as the server does not answer", timeout=PATIENCE_MS)
    site.wire.mend()
    expect(state).to_have_text("Uploaded", timeout=PATIENCE_MS)
    assert sorted(set(begun)) == [place * SLICE_BYTES for place in range(3)]
    assert (begun, begun.count(0)) == (sorted(begun), 1)  # what was there before is not sent again
    assert site.store.profiles()[0].files[0].read_bytes() == file.read_bytes()


def test_a_file_that_is_no_profile_is_told_on_the_page(site, page, tmp_path):
    file = tmp_path / "<img src=x onerror=\"document.title='owned'\">.sqlite"
    file.write_text("hello")
    choose(page, file)
    expect(page.locator(".upload-failed .upload-state")).to_have_text(
        f"{file.name}: is a text file; expected an nsys report (.nsys-rep) or its SQLite export"
    )
    expect(page).not_to_have_title("owned")
    assert list(site.store.places.incoming.iterdir()) == []
    page.get_by_role("button", name="Dismiss").click()

    choose(page, report(tmp_path / "cut.sqlite", 5_000))
    cell = page.locator("table.profiles td.note")
    expect(cell).to_contain_text("waits for its turn")
    work = Work(site.store)
    claim = work.claim(most=1)
    work.fail(claim.job.id, message="cut.sqlite: is cut off: 5,000 bytes of 9,000; copy or export it again")
    claim.lock.close()
    expect(cell).to_contain_text("cut.sqlite: is cut off: 5,000 bytes of 9,000; copy or export it again")
    expect(page.get_by_role("button", name="Try again: cut")).to_be_visible()
    picture(page, "not_prepared", folder=tmp_path)
