"""What all figures have in common: names are no markup, and axes have round durations."""

from __future__ import annotations

import pytest

from dashboards.components.palette import BLANK, COPIES, Theme
from dashboards.figures.style import duration_ticks, escaped, figure, marker, share_ticks


def test_names_are_shown_whole_and_are_no_markup():
    assert escaped("foo<float>") == "foo&lt;float&gt;"
    assert escaped("<img src=x onerror=1> & \x1b") == "&lt;img src=x onerror=1&gt; &amp; \\x1b"


@pytest.mark.parametrize(
    ("least", "most", "texts"),
    [
        (0, 10_000_000, ["0 ns", "2.000 ms", "4.000 ms", "6.000 ms", "8.000 ms", "10.00 ms"]),
        (0, 1_140_000_000, ["0 ns", "500.0 ms", "1.000 s"]),
        (49_300_000, 49_800_000, ["49.30 ms", "49.40 ms", "49.50 ms", "49.60 ms", "49.70 ms", "49.80 ms"]),
        (7, 7, ["7 ns"]),
        (0, 3, ["0 ns", "1 ns", "2 ns", "3 ns"]),
    ],
)
def test_ticks_are_round_durations(least, most, texts):
    ticks = duration_ticks(most, least_ns=least)
    assert ticks["ticktext"] == texts
    assert all(least <= place <= most for place in ticks["tickvals"])


@pytest.mark.parametrize(
    ("least", "most", "texts"),
    [
        (0.0, 1.0, ["0.0 %", "20.0 %", "40.0 %", "60.0 %", "80.0 %", "100.0 %"]),
        (-0.01, 0.03, ["0.0 %", "1.0 %", "2.0 %", "3.0 %"]),
        (0.566, 0.584, ["57.0 %", "57.5 %", "58.0 %"]),
        (0.985, 1.015, ["98.5 %", "99.0 %", "99.5 %", "100.0 %"]),
    ],
)
def test_ticks_are_round_shares(least, most, texts):
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in share_ticks(least, most)["ticktext"]] == texts


@pytest.mark.parametrize("theme", Theme)
def test_a_figure_has_no_background_and_the_theme_s_ink(theme):
    layout = figure(theme=theme, height=200).layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert layout.font.color == {"light": "#1b1f24", "dark": "#e8ebee"}[theme]


def test_bars_have_patterns_and_a_blank_has_an_outline():
    assert marker(COPIES, theme=Theme.LIGHT)["pattern"]["shape"] == "."
    assert marker(BLANK, theme=Theme.LIGHT)["line"]["color"] == "#d5dae0"
    assert marker(COPIES, theme=Theme.LIGHT)["line"]["color"] == "#ffffff"
