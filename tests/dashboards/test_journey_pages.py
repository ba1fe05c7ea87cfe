"""Every page once in real Chromium, guarded as it is served: nothing is fetched from elsewhere, all can be read aloud."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from dashboard_browser import picture, when_drawn

from dashboards.ids import Page, address

if TYPE_CHECKING:
    from pathlib import Path

    from dashboard_browser import Site
    from playwright.sync_api import Page as Tab

pytestmark = pytest.mark.browser

# what a reader of the page's outline would stumble over
FAULTS = """() => {
  const faults = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  if (all("h1").length !== 1) faults.push(`${all("h1").length} first headings`);
  for (const one of ["header", "nav", "main"]) if (all(one).length !== 1) faults.push(`no single ${one}`);
  let last = 0;
  for (const heading of all("main :is(h1, h2, h3, h4)")) {
    const level = Number(heading.tagName[1]);
    if (level > last + 1) faults.push(`${heading.tagName} after H${last}: ${heading.textContent}`);
    last = level;
  }
  for (const field of all("input, select, textarea"))
    if (!field.labels?.length && !field.getAttribute("aria-label")) faults.push(`no label: ${field.outerHTML}`);
  for (const button of all("button, summary, a[href]"))
    if (!button.textContent.trim() && !button.getAttribute("aria-label")) faults.push(`no name: ${button.outerHTML}`);
  for (const head of all("th")) if (!head.scope) faults.push(`no scope: ${head.outerHTML}`);
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`${document.documentElement.scrollWidth} wide`);
  return faults;
}"""


def shown(tab: Tab, site: Site, page: Page, name: str, **query: str) -> None:
    of_one = page in {Page.OVERVIEW, Page.TIMELINE, Page.STEPS, Page.COLLECTIVES, Page.FINDINGS}
    tab.goto(site.address + address(page, profile=site.profiles[name].id if of_one else None, **query))
    tab.wait_for_selector("main h1")
    tab.wait_for_function(
        "() => [...document.querySelectorAll('.graph')].every((one) => one.querySelector('.main-svg'))"
    )


def test_every_page_is_whole_and_fetches_nothing_from_elsewhere(page: Tab, site: Site, tmp_path: Path) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    both = {"before": site.profiles["slow_rank"].id, "after": site.profiles["hostile"].id, "allow": "ranks,lanes"}
    for one in Page:
        shown(page, site, one, "slow_rank", **(both if one is Page.COMPARE else {}))
        if one is Page.TIMELINE:
            when_drawn(page)
        assert page.evaluate(FAULTS) == [], one
        picture(page, f"page-{one}", folder=tmp_path)
    elsewhere = [url for url in asked if not url.startswith((f"{site.address}/", "data:", "blob:"))]
    assert len(asked) > len(Page)
    assert elsewhere == []
    page.goto(f"{site.address}/nowhere")
    page.wait_for_selector("main h1")
    assert page.evaluate(FAULTS) == []


def test_tables_are_sorted_by_mouse_and_keyboard_and_stay_so(page: Tab, site: Site) -> None:
    def column(place: int) -> list[str]:
        return page.evaluate(
            "(place) => [...document.querySelectorAll('section:last-of-type tbody tr')]"
            ".map((row) => row.cells[place].textContent)",
            place,
        )

    def milliseconds(cells: list[str]) -> list[float]:
        return [float(cell.split()[0]) * {"ms": 1, "µs": 0.001, "ns": 0.000001}[cell.split()[1]] for cell in cells]

    shown(page, site, Page.COLLECTIVES, "slow_rank")
    head = page.locator("section:last-of-type th", has_text="hidden")
    as_it_came, hidden = column(0), 6
    assert milliseconds(column(hidden)) != sorted(milliseconds(column(hidden)), reverse=True)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert milliseconds(column(hidden)) == sorted(milliseconds(column(hidden)), reverse=True)
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert milliseconds(column(hidden)) == sorted(milliseconds(column(hidden)))
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") is None
    assert column(0) == as_it_came

    shown(page, site, Page.PROFILES, "slow_rank")
    page.get_by_role("button", name="profile", exact=True).click()
    names = "() => [...document.querySelectorAll('.profiles tbody th')].map((one) => one.textContent)"
    assert page.evaluate(names) == ["hostile", "no_gpu", "slow_rank"]
    page.get_by_role("button", name="profile", exact=True).click()
    page.get_by_role("link", name="Trends").click()
    page.wait_for_selector("h1:text('Trends')")
    page.get_by_role("link", name="Profiles").click()  # the table is another one, of the same name
    page.wait_for_function(f"() => ({names})().join() === 'slow_rank,no_gpu,hostile'")


def test_the_theme_button_says_what_is_shown_and_is_remembered(page: Tab, site: Site) -> None:
    shown(page, site, Page.PROFILES, "slow_rank")
    button = page.locator("#theme-button")
    assert button.inner_text() == "Light"
    button.click()
    page.wait_for_function("() => document.getElementById('theme-button').textContent === 'Dark'")
    page.reload()
    page.wait_for_function("() => document.getElementById('theme-button')?.textContent === 'Dark'")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
