"""What a terminal shows: text as wide and colourful as it can, and on stderr what is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.status import Status

_WIDTH, _NARROWEST = 100, 60


class TextLayout(TypedDict):
    """The keyword arguments of a text renderer."""

    width: int
    color: bool


def text_layout(*, is_terminal: bool) -> TextLayout:
    """Return a terminal's width and whether it takes colours; anything else gets plain text of a fixed width."""
    import os
    import shutil

    if not is_terminal:
        return TextLayout(width=_WIDTH, color=False)
    return TextLayout(
        width=max(shutil.get_terminal_size((_WIDTH, 0)).columns, _NARROWEST),
        color=not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb",
    )


def progress_console() -> Console:
    """Return standard error for what is under way; it says nothing where that is no terminal."""
    import sys

    from rich.console import Console

    return Console(stderr=True, quiet=sys.stderr is None or not sys.stderr.isatty())


def progress_line(text: str = "") -> Status:
    """Return a context in which a terminal shows what is under way, in one line that can be updated."""
    return progress_console().status(text)


def text_height(*, is_terminal: bool) -> int | None:
    """Return how many lines a terminal shows at once; None of anything else, and where the terminal does not say."""
    import shutil

    return shutil.get_terminal_size((0, 0)).lines or None if is_terminal else None
