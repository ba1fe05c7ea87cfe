"""A check's report as annotations: the commands that a GitHub runner reads from standard output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.errors import visible
from gapfinder.render.check.sections import headline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.compare.verdict import Verdict

# https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions: what a command's data and values
# of its properties may not hold as they are
_DATA: dict[str, str | int | None] = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_VALUE: dict[str, str | int | None] = {**_DATA, ":": "%3A", ",": "%2C"}


def render_check_github(verdict: Verdict) -> str:
    """Return the annotations: errors for breaches and for what could not be answered, notices for the rest."""
    return "".join(f"{line}\n" for line in _lines(verdict))


def _lines(verdict: Verdict) -> Iterator[str]:
    for one in verdict.breaches:
        yield _command("error", title=f"gapfinder: {one.limit}", message=one.sentence)
    for sentence in verdict.unknown:
        yield _command("error", title="gapfinder: inconclusive", message=sentence)
    for one in verdict.improvements:
        yield _command("notice", title="gapfinder: better", message=one.sentence)
    yield _command("notice", title="gapfinder", message=headline(verdict))


def _command(kind: str, *, title: str, message: str) -> str:
    return f"::{kind} title={_escape(title, _VALUE)}::{_escape(visible(message), _DATA)}"


def _escape(text: str, table: dict[str, str | int | None]) -> str:
    return text.translate(str.maketrans(table))
