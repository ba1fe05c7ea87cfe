"""The palette: it stands out, and no two causes look the same to any eye."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path

import pytest

import dashboards
from dashboards.components.palette import (
    CAUSES,
    INK,
    PAGE,
    PARTS,
    ROWS,
    SEVERITIES,
    Group,
    Paint,
    Pattern,
    Theme,
    palette_data,
)
from dashboards.data.windows import Row
from gapfinder.explanations import Cause, Severity

ASSETS = Path(dashboards.__file__).parent / "assets"


def luminance(color: str) -> float:
    """Relative luminance by WCAG 2.2."""
    channels = (int(color[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_black_and_white_is_21():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("theme", Theme)
def test_everything_drawn_stands_out_from_the_page(theme):
    paints = [paint for _, paint in CAUSES.values()] + [*ROWS.values(), *SEVERITIES.values()]
    paints += [paint for key, paint in PARTS.items() if key != "idle"]
    assert min(contrast(paint.color(theme), PAGE.color(theme)) for paint in paints) >= 3


@pytest.mark.parametrize("theme", Theme)
def test_text_is_read_with_ease_on_every_ground(theme):
    rules = (ASSETS / "shell.css").read_text(encoding="utf-8")
    opening = {Theme.LIGHT: ":root {", Theme.DARK: ':root[data-theme="dark"] {'}[theme]
    block = rules.split(opening, 1)[1].split("}", 1)[0]
    colors = {name: long_color(value) for name, value in re.findall(r"--([a-z]+): (#[0-9a-f]{3,6});", block)}
    assert (colors["page"], colors["ink"]) == (PAGE.color(theme), INK.color(theme))
    grounds = {name: colors[name] for name in ("page", "panel")}
    texts = {name: colors[name] for name in ("ink", "quiet", "link", "bad", "warning")}
    texts |= {severity: paint.color(theme) for severity, paint in SEVERITIES.items()}
    pairs = {(text, ground): contrast(texts[text], grounds[ground]) for text in texts for ground in grounds}
    assert {pair: ratio for pair, ratio in pairs.items() if ratio < 4.5} == {}


def long_color(color: str) -> str:
    """#rrggbb of #rgb."""
    return color if len(color) == 7 else "#" + "".join(2 * digit for digit in color[1:])


def test_every_cause_and_severity_and_row_has_a_colour():
    assert set(CAUSES) == set(Cause)
    assert set(SEVERITIES) == set(Severity)
    assert set(ROWS) == set(Row) - {Row.HOLES}


def test_inside_a_group_every_cause_has_a_pattern_of_its_own():
    patterns = [(group, paint.pattern) for group, paint in CAUSES.values()]
    assert len(set(patterns)) == len(Cause)
    assert {group for group, _ in patterns} == set(Group)


def seen_without_green(color: str) -> tuple[float, float, float]:
    """A colour as deuteranopes see it: G. M. Machado et al., IEEE TVCG 15 (2009), severity 1.0, in linear light."""
    r, g, b = ((int(color[place : place + 2], 16) / 255) ** 2.2 for place in (1, 3, 5))
    return (
        0.367322 * r + 0.860646 * g - 0.227968 * b,
        0.280085 * r + 0.672501 * g + 0.047413 * b,
        -0.011820 * r + 0.042940 * g + 0.968881 * b,
    )


@pytest.mark.parametrize("theme", Theme)
def test_groups_of_the_same_pattern_differ_without_green(theme):
    for (group, one), (other_group, other) in combinations(CAUSES.values(), 2):
        if group is not other_group and one.pattern is other.pattern:
            pair = seen_without_green(one.color(theme)), seen_without_green(other.color(theme))
            assert max(abs(a - b) for a, b in zip(*pair, strict=True)) > 0.03, (one, other)


def test_javascript_gets_causes_in_the_order_of_their_codes():
    data = json.loads(json.dumps(palette_data()))
    assert [one["cause"] for one in data["causes"]] == [cause.value for cause in Cause]
    assert data["causes"][0] == {
        "cause": "exposed_communication_transfer",
        "label": "exposed communication transfer",
        "group": "communication",
        "light": "#d55e00",
        "dark": "#f07b33",
        "pattern": "",
    }
    assert data["rows"]["compute"] == {"light": "#0072b2", "dark": "#4aa3df", "pattern": ""}


def test_a_paint_is_of_its_theme():
    paint = Paint("#111111", "#eeeeee", Pattern.DOTS)
    assert [paint.color(theme) for theme in Theme] == ["#111111", "#eeeeee"]
