"""How long a person waits for the timeline, in headless Chromium: the first picture, and a repaint after a move.

Run it by hand: `python benchmarks/dashboard_browser.py [REPORT.sqlite ...] [--moves 20]`. It needs Chromium on PATH.
Times are those of the browser's own clock, from the key to the picture made of all the data that the new view asked
for; the pause of 60 ms, in which further keys are awaited before the server is asked, is a part of it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from table import row

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from dashboard_browser import chromium, prepared, served, tab, when_drawn  # noqa: E402 - found by the line above

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from dashboards.store.records import StoredProfile

FIRST_S, MOVE_MS = 3.0, 200.0
OPENINGS = 3

# resolves with ms from the key to the picture at once, and to the one with everything that was asked for
MOVED = """(key) => new Promise((resolve) => {
  const root = document.getElementById("timeline");
  const began = performance.now();
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const shown = performance.now() - began;
    const look = () => root.dataset.painted === "ready" && root.dataset.state === "ready"
      ? resolve([shown, performance.now() - began]) : requestAnimationFrame(look);
    look();
  }));
})"""


def main() -> None:
    """Measure each report and print one line for each thing that is waited for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="*", type=Path, default=[ROOT / "sample_profiles" / "slow_rank.sqlite"])
    parser.add_argument("--moves", type=int, default=20, help="at each of five zooms")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for report in options.reports:
            began = time.perf_counter()
            profile = prepared(report.stem, [report], Path(folder))
            row(f"browser, {report.stem}: prepared once", f"{time.perf_counter() - began:.1f} s")
            measure(profile, moves=options.moves)


def measure(profile: StoredProfile, *, moves: int) -> None:
    """Print medians for one prepared profile."""
    firsts = []
    with chromium() as browser:
        for _ in range(OPENINGS):
            with served({profile.name: profile}) as site:  # a new server has nothing open yet
                firsts.append(opened(browser, site.timeline(profile.name)))
        waited(profile.name, "first picture after opening", firsts, unit="s", wanted=FIRST_S)
        with served({profile.name: profile}) as site:
            page = tab(browser).new_page()
            page.goto(site.timeline(profile.name))
            when_drawn(page)
            for zoom in range(5):
                at_once, complete = moved(page, moves=moves)
                waited(
                    profile.name, f"move at zoom {zoom}: picture from what is there", at_once, unit="ms", wanted=MOVE_MS
                )
                waited(profile.name, f"move at zoom {zoom}: with new data", complete, unit="ms", wanted=MOVE_MS)
                for _ in range(6):
                    page.evaluate(MOVED, "w")


def opened(browser: Browser, address: str) -> float:
    """Return seconds from asking for the page to the picture of the whole capture."""
    context = tab(browser)
    page = context.new_page()
    began = time.perf_counter()
    page.goto(address, wait_until="commit")
    when_drawn(page)
    took = time.perf_counter() - began
    context.close()
    return took


def moved(page: Page, *, moves: int) -> tuple[list[float], list[float]]:
    """Return ms of moves to the right and back: until something is seen, and until it is complete."""
    keys = ["d" if place % 8 < 4 else "a" for place in range(moves)]  # noqa: PLR2004 - there and back again
    times = [page.evaluate(MOVED, key) for key in keys]
    return [shown for shown, _ in times], [complete for _, complete in times]


def waited(name: str, what: str, times: list[float], *, unit: str, wanted: float) -> None:
    """Print one line."""
    middle, longest = statistics.median(times), max(times)
    row(f"browser, {name}: {what}", f"{middle:.2f} {unit}, longest {longest:.2f} {unit} ({wanted:.0f} {unit} wanted)")


if __name__ == "__main__":
    main()
