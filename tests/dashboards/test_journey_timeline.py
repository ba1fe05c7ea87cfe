from __future__ import annotations

import re
from pathlib import Path

import pytest
from dashboard_browser import picture, served, tab, when_drawn
from dashboard_hostile import MARKUP_SHOWN, SCRIPT
from playwright.sync_api import expect

from gapfinder.units import format_duration

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
STARTED = re.compile(r"start=(\d+)&end=(\d+)")


def in_view(page) -> tuple[int, int]:
    """What the address says is in view."""
    start, end = STARTED.search(page.url).groups()
    return int(start), int(end)


def settled(page) -> None:
    """Wait until the address and the sentence have followed the view."""
    page.wait_for_selector('#timeline[data-painted="ready"][data-rests="yes"]')


def test_a_hole_is_found_by_keyboard_and_its_cause_is_read(site, page, tmp_path):
    page.goto(site.timeline("slow_rank"))
    settled(page)
    picture(page, "slow_rank", folder=tmp_path)
    expect(page.locator("#timeline-words")).to_contain_text("all 8 lanes, 0.000000 s to 0.297203 s: 48 holes")
    whole = in_view(page)
    page.keyboard.press("l")
    panel = page.locator("#timeline-panel")
    expect(panel).to_contain_text("exposed communication wait")
    page.keyboard.press("Enter")
    settled(page)
    start, end = in_view(page)
    assert end - start < (whole[1] - whole[0]) / 5
    assert page.evaluate("document.activeElement.id") == "timeline-panel"
    picture(page, "slow_rank_hole", folder=tmp_path)
    page.keyboard.press("Escape")
    expect(panel).to_contain_text("Nothing is chosen")
    page.keyboard.press("f")
    settled(page)
    assert in_view(page) == whole


def test_a_click_on_a_hole_tells_why_it_is_there(site, page):
    page.goto(site.timeline("slow_rank"))
    settled(page)
    box = page.locator(".timeline-canvas").bounding_box()
    share = 41.5 / 297.2  # ms: a hole of rank 0 goes from 36 ms to 47 ms
    x, y = box["x"] + 168 + share * (box["width"] - 168), box["y"] + 26 + 14
    page.mouse.move(x, y)
    expect(page.locator(".timeline-tooltip")).to_contain_text("exposed communication wait")
    page.mouse.click(x, y)
    expect(page.locator("#timeline-panel")).to_contain_text("exposed communication wait")
    expect(page.locator("#timeline-panel")).to_contain_text("rank 0")
    settled(page)
    assert "lane=0&hole=0" in page.url


def test_the_address_leads_back_to_the_view(site, page, browser):
    page.goto(site.timeline("slow_rank"))
    settled(page)
    for key in ("n", "w", "w", "d"):
        page.keyboard.press(key)
    settled(page)
    assert "hole=" in page.url
    context = tab(browser)
    other = context.new_page()
    other.goto(page.url)
    settled(other)
    assert in_view(other) == in_view(page)
    told = page.locator("#timeline-panel").inner_text()
    expect(other.locator("#timeline-panel")).to_contain_text(told.splitlines()[0])
    expect(other.locator("#timeline-words")).to_have_text(page.locator("#timeline-words").inner_text())
    context.close()


def test_two_browsers_look_at_different_stretches(site, browser):
    contexts = [tab(browser), tab(browser)]
    pages = [context.new_page() for context in contexts]
    for one in pages:
        one.goto(site.timeline("slow_rank"))
        when_drawn(one)
    pages[0].keyboard.press("n")
    for _ in range(6):
        pages[1].keyboard.press("w")
    for one in pages:
        settled(one)
    assert in_view(pages[0]) != in_view(pages[1])
    expect(pages[0].locator("#timeline-panel")).to_contain_text("exposed communication wait")
    expect(pages[1].locator("#timeline-panel")).to_contain_text("Nothing is chosen")
    for context in contexts:
        context.close()


def test_names_with_markup_are_shown_as_text(site, page, tmp_path):
    page.goto(site.timeline("hostile"))
    settled(page)
    page.locator('[aria-label^="find operations"]').fill("img src")
    page.keyboard.press("Enter")
    expect(page.locator("#timeline-panel")).to_contain_text("<img src=x")
    box = page.locator(".timeline-canvas").bounding_box()
    page.mouse.move(box["x"] + 300, box["y"] + 26 + 35)
    expect(page.locator(".timeline-tooltip b")).to_have_text(MARKUP_SHOWN)
    page.keyboard.press("Escape")
    page.locator(".timeline-canvas").focus()
    page.keyboard.press("l")
    expect(page.locator("#timeline-panel")).to_contain_text(SCRIPT)
    picture(page, "hostile_names", folder=tmp_path)
    assert "owned" not in page.title()
    assert page.locator("#react-entry-point img, #react-entry-point script").count() == 0


def test_the_picture_is_saved(site, page, tmp_path):
    page.goto(site.timeline("slow_rank"))
    settled(page)
    with page.expect_download() as download:
        page.keyboard.press("x")
    saved = tmp_path / "saved.png"
    download.value.save_as(saved)
    assert download.value.suggested_filename == "slow_rank.png"
    data = saved.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    assert width > 1600
    assert height > 800


def test_filters_leave_out_causes_lanes_and_short_holes(site, page):
    page.goto(site.timeline("slow_rank"))
    settled(page)
    words = page.locator("#timeline-words")
    page.locator('[data-cause="exposed_communication_wait"]').click()
    expect(words).to_contain_text("6 holes")
    page.locator('[data-cause="exposed_communication_transfer"]').click()
    expect(words).to_have_text("nothing passes the filters")
    page.locator('[data-cause="exposed_communication_wait"]').click()
    expect(words).to_contain_text("42 holes")
    page.locator("select").select_option(label="holes from 100 ms")
    expect(words).to_contain_text("no holes")
    page.locator("select").select_option(label="holes from 10 ms")
    page.locator(".timeline-choice summary").click()
    page.get_by_label("rank 1").uncheck()
    expect(words).not_to_contain_text("all 8 lanes")


def test_holes_are_reached_in_a_table_by_keyboard(site, page):
    page.goto(site.timeline("slow_rank"))
    settled(page)
    page.locator(".timeline-holes summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#timeline-panel")).to_contain_text("exposed communication wait")


def test_a_profile_without_gpu_work_says_why(site, page, tmp_path):
    page.goto(site.timeline("no_gpu"))
    expect(page.locator("main")).to_contain_text("No GPU work was captured")
    picture(page, "no_gpu", folder=tmp_path)


def test_durations_read_as_in_python(site, page):
    page.goto(site.timeline("slow_rank"))
    when_drawn(page)
    lengths = [
        0,
        1,
        999,
        1_000,
        1_234,
        9_999,
        9_999_500,
        10_125,
        10_135,
        99_995,
        999_950,
        1_000_000,
        12_345_678,
        999_999_999,
    ]
    lengths += [1_000_000_000, 59_999_999_999, 999_950_000_000, 1_234_567_890_123, 12_345_678_901_234_567]
    told = page.evaluate("(all) => all.map(gapfinder.units.duration)", lengths)
    assert told == [format_duration(ns) for ns in lengths]


def test_the_documented_keys_are_those_of_the_timeline(site, page):
    page.goto(site.timeline("slow_rank"))
    when_drawn(page)
    listed = page.evaluate("() => gapfinder.keys.list.map(({ keys, does }) => [keys, does])")
    section = (
        (ROOT / "docs" / "dashboard.md").read_text(encoding="utf-8").partition("## Timeline\n")[2].partition("\n## ")[0]
    )
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    assert [[re.findall(r"`([^`]+)`", keys), does] for keys, does in rows] == listed


def test_a_question_that_fails_is_told_with_a_way_to_ask_again(site, browser, tmp_path):
    context = tab(browser)
    page = context.new_page()
    page.goto(site.timeline("slow_rank"))
    settled(page)
    page.route("**/window?*", lambda route: route.fulfill(status=400, json={"error": "the disk is full"}))
    for _ in range(4):
        page.keyboard.press("w")
    banner = page.locator(".timeline-stage .timeline-banner")
    expect(banner).to_contain_text("the disk is full")
    settled(page)
    picture(page, "failed", folder=tmp_path)
    page.unroute("**/window?*")
    banner.get_by_role("button").click()
    expect(banner).to_be_hidden()
    context.close()


def test_a_server_that_is_gone_is_told_and_the_picture_stays(site, context):
    with served(site.profiles) as other:
        page = context.new_page()
        page.goto(other.timeline("slow_rank"))
        settled(page)
    for _ in range(6):
        page.keyboard.press("w")
    banner = page.locator(".timeline-stage .timeline-banner")
    expect(banner).to_contain_text("the server does not answer; it may have been stopped")
    colors = page.evaluate("""() => {
      const canvas = document.querySelector(".timeline-canvas");
      const { data } = canvas.getContext("2d").getImageData(canvas.width / 2, 0, 1, canvas.height);
      return new Set(new Uint32Array(data.buffer)).size;
    }""")
    assert colors > 3  # what had come is still drawn
    page.close()


def test_an_operation_is_chosen_by_its_address(site, page):
    page.goto(site.timeline("slow_rank"))
    settled(page)
    page.keyboard.press("l")
    panel = page.locator("#timeline-panel")
    expect(panel).to_contain_text("First after")
    link = panel.locator("a").last
    name = link.inner_text()
    link.click()
    expect(panel.locator("h2")).to_have_text(name)
    settled(page)
    assert re.search(r"lane=\d+&row=compute&op=\d+", page.url)
    page.goto(page.url)
    settled(page)
    expect(panel.locator("h2")).to_have_text(name)


def test_on_a_phone_the_lanes_have_most_of_the_width(site, browser, tmp_path):
    context = tab(browser, viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(site.timeline("slow_rank"))
    settled(page)
    width, gutter = page.evaluate("() => [gapfinder.current().size.width, gapfinder.current().size.gutter]")
    assert gutter < width / 4
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    picture(page, "slow_rank_phone", folder=tmp_path)
    context.close()
