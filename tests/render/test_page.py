"""The HTML page, read back with a parser."""

from __future__ import annotations

from html.parser import HTMLParser

import analyses
import pytest
from analysis_values import MS

from gapfinder.render import render_html

VOID = {"meta"}
ADDRESSES = {"src", "href", "action", "data", "poster", "srcset", "background", "formaction", "xlink:href"}
EVERY = pytest.mark.parametrize("situation", analyses.SITUATIONS)


class Page(HTMLParser):
    """Checks that tags balance and keeps what the page holds."""

    def __init__(self, situation: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.style = ""
        self.feed(render_html(analyses.SITUATIONS[situation]()))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] == ["style"]:
            self.style += data
        else:
            self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@EVERY
def test_tags_balance(situation: str) -> None:
    assert Page(situation).open == []


@EVERY
def test_nothing_is_fetched_and_nothing_runs(situation: str) -> None:
    page = Page(situation)
    assert not {"script", "img", "link", "iframe", "object", "embed"} & {tag for tag, _ in page.tags}
    for _, attributes in page.tags:
        assert not ADDRESSES & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert "url(" not in page.style
    assert "@import" not in page.style
    assert "://" not in render_html(analyses.SITUATIONS[situation]())


@EVERY
def test_the_page_can_be_read_without_seeing_it(situation: str) -> None:
    page = Page(situation)
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("title")) == len(page.all("h1")) == len(page.all("main")) == 1
    assert len(page.all("caption")) == len(page.all("table"))
    assert all("scope" in attributes for attributes in page.all("th"))
    bars = [attributes for attributes in page.all("div") if attributes.get("class") == "bar"]
    assert all(("aria-label" in bar) != ("aria-hidden" in bar) for bar in bars)


def test_a_bar_is_said_in_words() -> None:
    labels = [attributes["aria-label"] for attributes in Page("healthy").all("div") if attributes.get("role") == "img"]
    assert labels[0] == "rank 0: compute only 60.0 %, hidden 20.0 %, exposed 10.0 %, copy only 2.0 %, idle 8.0 %"
    labels = [
        attributes["aria-label"] for attributes in Page("idle_unknown").all("div") if attributes.get("role") == "img"
    ]
    assert labels == ["lane 0: compute only 0.1 %, hidden 0.0 %, exposed 0.0 %, copy only 0.0 %, idle not measured"]


def test_a_bar_is_divided_like_the_window() -> None:
    page = Page("healthy")
    widths = [int((a["style"] or "").removeprefix("flex-grow:")) for a in page.all("span") if "style" in a]
    assert widths[:5] == [180 * MS, 60 * MS, 30 * MS, 6 * MS, 24 * MS]
    assert widths[5:10] == [180 * MS, 50 * MS, 50 * MS, 6 * MS, 24 * MS]


def test_step_bars_share_one_scale() -> None:
    page = Page("healthy")
    rest = [a["style"] for a in page.all("span") if a.get("class") == "rest"]
    in_holes, in_steps = rest[:1], rest[1:]
    assert in_holes == [f"flex-grow:{14_250_000}"]
    assert in_steps == [f"flex-grow:{10 * MS}"] * 2


def test_idle_time_that_was_not_measured_is_not_drawn_as_idle() -> None:
    classes = [attributes.get("class") for attributes in Page("idle_unknown").all("span") if "style" in attributes]
    assert "idle" not in classes
    assert classes.count("unknown") == 2


def test_a_hostile_name_shows_whole_as_text() -> None:
    text = Page("hostile").text
    assert text.count(analyses.HOSTILE_SHOWN) >= 2 * 2 + 2 + 1
    assert f"note about {analyses.HOSTILE_SHOWN}" in text


def test_only_the_worst_lanes_steps_are_unfolded() -> None:
    page = render_html(analyses.healthy())
    assert "<details open><summary>Steps of rank 1 (3)</summary>" in page
    assert "<details><summary>Steps of rank 0 (3)</summary>" in page


def test_many_lanes_and_steps_make_a_page_of_bounded_size() -> None:
    page = Page("many_lanes")
    bars = [attributes for attributes in page.all("div") if attributes.get("class") == "bar"]
    assert len(bars) == 64 + 16 * 50
