"""Checks as JSON, and as plain text: by area, worst first, at most 100 columns wide, and one line that sums up."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

from gapfinder.doctor import Area, Status
from gapfinder.errors import visible
from gapfinder.units import format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from gapfinder.doctor import Check

_SCHEMA_VERSION = 1
_WIDTH = 100
_SHOWN = {Status.FAILURE: "FAILURE", Status.WARNING: "WARNING", Status.NOT_CHECKED: "not checked", Status.OK: "ok"}
_STATUS_WIDTH = max(map(len, _SHOWN.values())) + 2


def render_checks(checks: Sequence[Check]) -> str:
    """Return a report of all checks."""
    title_width = max(len(check.title) for check in checks) + 2
    return "".join(f"{line}\n" for line in _report(checks, title_width=title_width))


def checks_json(checks: Sequence[Check], **more: Any) -> str:  # noqa: ANN401 (whatever JSON can hold)
    """Return all checks as one object of JSON, with what else belongs to the report."""
    counts = {status: sum(check.status is status for check in checks) for status in Status}
    report = {
        "schema_version": _SCHEMA_VERSION,
        "checks": [asdict(check) for check in checks],
        "failures": counts[Status.FAILURE],
        "warnings": counts[Status.WARNING],
        "not_checked": counts[Status.NOT_CHECKED],
        **more,
    }
    return json.dumps(report, indent=2, ensure_ascii=False) + "\n"


def _report(checks: Sequence[Check], *, title_width: int) -> Iterator[str]:
    for area in Area:
        here = [check for check in checks if check.area is area]
        if not here:
            continue
        yield area.value
        for status in Status:
            alike: dict[str, list[Check]] = {}
            for check in here:
                if check.status is status:
                    alike.setdefault(check.seen, []).append(check)
            for together in alike.values():
                yield from _rows(together, title_width=title_width)
        yield ""
    yield _summary(checks)


def _rows(checks: Sequence[Check], *, title_width: int) -> Iterator[str]:
    """Yield one check, or several that could not be made for the same reason."""
    status, seen = checks[0].status, checks[0].seen
    margin = " " * (_STATUS_WIDTH + title_width)
    if status is Status.NOT_CHECKED and len(checks) > 1:
        titles = f"{format_count(len(checks), 'check')}: {', '.join(check.title for check in checks)}"
        yield from _wrapped(f"{seen} ({titles})", first=_SHOWN[status].ljust(len(margin)), rest=margin)
        return
    for check in checks:
        first = _SHOWN[status].ljust(_STATUS_WIDTH) + check.title.ljust(title_width)
        yield from _wrapped(check.seen, first=first, rest=margin)
        if check.advice:
            yield from _wrapped(f"Do: {check.advice} [{check.code}]", first=margin, rest=margin)


def _wrapped(text: str, *, first: str, rest: str) -> Iterable[str]:
    wrapper = textwrap.TextWrapper(
        width=_WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, break_long_words=True
    )
    return wrapper.wrap(visible(text))


def _summary(checks: Sequence[Check]) -> str:
    counts = {status: sum(check.status is status for check in checks) for status in Status}
    return (
        f"{format_count(counts[Status.FAILURE], 'failure')}, {format_count(counts[Status.WARNING], 'warning')}, "
        f"{counts[Status.OK]} ok, {counts[Status.NOT_CHECKED]} not checked."
    )
