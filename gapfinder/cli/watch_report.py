"""What `gapfinder watch` says at the end: the step times, and every capture with what was found in it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from gapfinder.cli.streams import say
from gapfinder.errors import visible
from gapfinder.units import format_count, format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.watch.model import CaptureRecord
    from gapfinder.watch.supervise import Watched


def report(watched: Watched) -> None:
    """Print the summary on standard output, and the folder on standard error."""
    import click

    # a reader that stops early (`| head`) must not cost the training's exit code
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    click.echo(visible_lines(summary(watched)))
    say(f"Wrote {watched.folder}")


def summary(watched: Watched) -> Iterator[str]:
    """Yield the lines of the summary."""
    yield ""
    yield _steps(watched)
    state = watched.state
    if state.usual_ns is not None:
        yield f"Usual at the end: {format_duration(state.usual_ns)} a step"
    if not state.captures:
        yield "No captures. Steps that are slow from the first on are usual to a watch: gapfinder run measures those"
    for capture in state.captures:
        yield from _capture(capture)


def visible_lines(lines: Iterator[str]) -> str:
    """Return the lines as one text in which no name can do anything to a terminal."""
    return "\n".join(map(visible, lines))


def _steps(watched: Watched) -> str:
    totals = watched.totals
    mean, p50, p99 = totals.mean_ns, totals.percentile_ns(50), totals.percentile_ns(99)
    if mean is None or p50 is None or p99 is None:
        return "No steps were seen: no process took two, or Python there does not load gapfinder's hook"
    return (
        f"{format_count(totals.steps, 'step')} of all ranks: mean {format_duration(mean)}, "
        f"p50 {format_duration(p50)}, p99 {format_duration(p99)}"
    )


def _capture(capture: CaptureRecord) -> Iterator[str]:
    held = ""
    if capture.first_step is not None and capture.end_step is not None:
        held = f", steps {capture.first_step} to {capture.end_step - 1}"
    yield f"Capture {capture.number} ({capture.trigger.kind}{held}): {capture.trigger.sentence}"
    told = (("found", capture.headline), ("changed", capture.change), ("trouble", capture.trouble))
    for name, text in told:
        if text:
            yield f"  {name}: {text}"
