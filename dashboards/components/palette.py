"""The colours of everything that is drawn, for light and dark; no two causes have the same colour and pattern.

A group of causes has one hue, of the set that M. Okabe and K. Ito chose for colour-blind eyes ("Color Universal
Design", 2008), made darker or lighter until it stands out from the page (contrast of 3:1 and more, WCAG 2.2, criterion
1.4.11). Inside a group the pattern tells causes apart, and lightness helps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gapfinder.explanations import Cause, Severity
from gapfinder.render.words import cause_words

if TYPE_CHECKING:
    from collections.abc import Mapping


class Theme(StrEnum):
    """Light or dark."""

    LIGHT = "light"
    DARK = "dark"


class Group(StrEnum):
    """What causes have in common; the text of a legend."""

    COMMUNICATION = "communication"
    HOST = "data and host"
    MEMORY = "memory and copies"
    DEVICE = "device"
    OTHER = "profiler and unknown"


class Pattern(StrEnum):
    """How a colour is filled; the values are those of Plotly's `marker.pattern.shape`."""

    SOLID = ""
    RISING = "/"
    FALLING = "\\"
    CROSSED = "x"
    HORIZONTAL = "-"
    VERTICAL = "|"
    GRID = "+"
    DOTS = "."


@dataclass(frozen=True, slots=True)
class Paint:
    """A colour for each theme, and a pattern."""

    light: str
    dark: str
    pattern: Pattern = Pattern.SOLID

    def color(self, theme: Theme) -> str:
        """Return its colour, as #rrggbb."""
        return self.light if theme is Theme.LIGHT else self.dark


PAGE = Paint("#ffffff", "#14171b")
INK = Paint("#1b1f24", "#e8ebee")
QUIET = Paint("#57606a", "#a3adb7")
LINE = Paint("#d5dae0", "#363d45")
BLANK = Paint("#eceff2", "#262c33")
MARK = Paint("#ffffff", "#14171b")
"""What a pattern is drawn with, over the colour."""

COMPUTE = Paint("#0072b2", "#4aa3df")
COMMUNICATION = Paint("#d55e00", "#f07b33", Pattern.VERTICAL)
COPIES = Paint("#9a6a00", "#f0b429", Pattern.DOTS)
GRAPHS = Paint("#a3498a", "#dd93bb", Pattern.HORIZONTAL)
HIDDEN = Paint("#007a5a", "#2fbf92", Pattern.RISING)

ROWS: Mapping[str, Paint] = {
    "compute": COMPUTE,
    "communication": COMMUNICATION,
    "copies": COPIES,
    "graphs": GRAPHS,
    "steps": Paint("#6b7280", "#9aa4af"),
    "ranges": Paint("#4b5563", "#b8c0c8"),
    "calls": Paint("#7f868f", "#7f8a96"),
}
"""By the name of the timeline's row."""

PARTS: Mapping[str, Paint] = {
    "compute": COMPUTE,
    "hidden": HIDDEN,
    "exposed": COMMUNICATION,
    "copy": COPIES,
    "graph": GRAPHS,
    "idle": BLANK,
}
"""By the key of `gapfinder.render.parts.Part`; idle is a blank with an outline."""

CAUSES: Mapping[Cause, tuple[Group, Paint]] = {
    Cause.EXPOSED_TRANSFER: (Group.COMMUNICATION, Paint("#d55e00", "#f07b33", Pattern.SOLID)),
    Cause.EXPOSED_WAIT: (Group.COMMUNICATION, Paint("#e0662b", "#ffb98a", Pattern.RISING)),
    Cause.EXPOSED_COMMUNICATION: (Group.COMMUNICATION, Paint("#b34700", "#ff9d5c", Pattern.VERTICAL)),
    Cause.PIPELINE_BUBBLE: (Group.COMMUNICATION, Paint("#8a3300", "#e05f1a", Pattern.DOTS)),
    Cause.DATA_LOADING: (Group.HOST, Paint("#0072b2", "#4aa3df", Pattern.SOLID)),
    Cause.SYNCHRONISATION: (Group.HOST, Paint("#3b8fc4", "#a5d3f5", Pattern.VERTICAL)),
    Cause.LAUNCH_BOUND: (Group.HOST, Paint("#005a8c", "#7cc0f0", Pattern.RISING)),
    Cause.HOST_CODE: (Group.HOST, Paint("#1f5f99", "#5b9bd5", Pattern.HORIZONTAL)),
    Cause.OS_CALL: (Group.HOST, Paint("#4a7ba6", "#8fb8de", Pattern.DOTS)),
    Cause.GARBAGE_COLLECTION: (Group.HOST, Paint("#2a6f97", "#6fb1c9", Pattern.CROSSED)),
    Cause.CHECKPOINT: (Group.HOST, Paint("#0b4f7d", "#3a8fd0", Pattern.GRID)),
    Cause.HOST_TO_DEVICE_COPY: (Group.MEMORY, Paint("#9a6a00", "#f0b429", Pattern.DOTS)),
    Cause.COPY: (Group.MEMORY, Paint("#b07d00", "#ffd166", Pattern.FALLING)),
    Cause.ALLOCATOR: (Group.MEMORY, Paint("#7a5200", "#d9a020", Pattern.CROSSED)),
    Cause.DEVICE_WAIT: (Group.DEVICE, Paint("#8e4a9e", "#c792ea", Pattern.RISING)),
    Cause.GRAPH_UNKNOWN: (Group.DEVICE, Paint("#a8558f", "#dd93bb", Pattern.HORIZONTAL)),
    Cause.PROFILER_OVERHEAD: (Group.OTHER, Paint("#4b5563", "#b8c0c8", Pattern.VERTICAL)),
    Cause.WARM_UP: (Group.OTHER, Paint("#6b7280", "#9aa4af", Pattern.DOTS)),
    Cause.UNKNOWN: (Group.OTHER, Paint("#7f868f", "#7f8a96", Pattern.SOLID)),
}
"""Every cause."""

SEVERITIES: Mapping[Severity, Paint] = {
    Severity.CRITICAL: Paint("#c0392b", "#ff8a7a"),
    Severity.WARNING: Paint("#8a6100", "#f0b429"),
    Severity.INFO: Paint("#57606a", "#a3adb7"),
}


def cause_paint(cause: Cause) -> Paint:
    """Return the colours and pattern of a cause."""
    return CAUSES[cause][1]


def palette_data() -> dict[str, object]:
    """Return the palette for JavaScript, JSON all through: each paint is {"light", "dark", "pattern"}.

    "causes" is in the order of `Cause`, whose places the timeline's answers hold; each has its "cause", "label" and
    "group" as well. "rows" is by the row's name.
    """
    causes = [
        {"cause": cause.value, "label": cause_words(cause), "group": CAUSES[cause][0].value, **_plain(CAUSES[cause][1])}
        for cause in Cause
    ]
    named = {"page": PAGE, "ink": INK, "quiet": QUIET, "line": LINE, "blank": BLANK, "mark": MARK}
    return {
        "causes": causes,
        "rows": {row: _plain(paint) for row, paint in ROWS.items()},
        **{name: _plain(paint) for name, paint in named.items()},
    }


def _plain(paint: Paint) -> dict[str, str]:
    return {"light": paint.light, "dark": paint.dark, "pattern": paint.pattern.value}
