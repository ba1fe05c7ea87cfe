"""Takes the pictures of README.md: `python docs/screenshots.py ADDRESS`, of a dashboard that shows the samples.

It needs playwright and a Chromium, which the tests' group of dependencies and the system have.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

_FOLDER = Path(__file__).parent / "images"
_PROFILE = "slow_rank"
_PREPARED_MS = 300_000  # a dashboard that has just been started prepares all samples first
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def main(address: str) -> None:
    """Write one picture of the timeline, with its longest hole chosen."""
    _FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, _BROWSERS)))
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 640}, reduced_motion="reduce")
        page.goto(f"{address.rstrip('/')}/profiles")
        page.get_by_role("link", name=_PROFILE, exact=True).first.click(timeout=_PREPARED_MS)
        page.get_by_role("link", name="Timeline", exact=True).click()
        page.wait_for_selector('#timeline[data-painted="ready"]')
        page.get_by_role("button", name="longest", exact=True).click()
        page.get_by_role("heading", name="cause").first.wait_for()
        page.locator("#timeline-words:not(:empty)").wait_for()  # the server's sentence, which comes when it comes
        page.screenshot(path=_FOLDER / "timeline.png")
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
