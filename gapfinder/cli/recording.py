"""Stores what was measured in the history: that it cannot be stored is told, and changes nothing else."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.cli.streams import say
from gapfinder.errors import GapfinderError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.cli.check_options import HistoryWanted
    from gapfinder.compare.history import Recorded
    from gapfinder.compare.snapshot import Snapshot
    from gapfinder.compare.verdict import Verdict
    from gapfinder.model import Analysis
    from gapfinder.settings import Settings


def record_check(candidate: Snapshot, verdict: Verdict, *, wanted: HistoryWanted, settings: Settings) -> None:
    """Store what was checked, accepted where it passed: where it was asked for, or where there is a history."""
    from gapfinder.compare.git import git_branch
    from gapfinder.compare.history import Source, record
    from gapfinder.compare.reference import history_file
    from gapfinder.compare.verdict import Outcome

    if wanted.no_record or not candidate.lanes:
        return
    with _failing_in_one_line():
        file = history_file(wanted.history, settings=settings)
        if wanted.names_a_history or file.exists():
            branch = git_branch(Path()) if wanted.record is None else wanted.record
            is_good = verdict.outcome is Outcome.PASS
            _say_where(record(file, candidate, branch=branch, source=Source.CHECK, accepted=is_good), file=file)


def record_analysis(analysis: Analysis, *, settings: Settings, label: str) -> None:
    """Store what was just captured; it is not accepted, for nothing has judged it yet."""
    from gapfinder.compare.git import git_branch, git_commit
    from gapfinder.compare.history import Source, record
    from gapfinder.compare.reference import history_file
    from gapfinder.compare.take import take_snapshot

    if not analysis.lanes:
        return
    with _failing_in_one_line():
        file = history_file(None, settings=settings)
        snapshot = take_snapshot(analysis, settings=settings, commit=git_commit(Path()), created=datetime.now(UTC))
        branch = git_branch(Path())
        _say_where(record(file, snapshot, branch=branch, source=Source.RUN, accepted=False, label=label), file=file)


def _say_where(stored: Recorded, *, file: Path) -> None:
    verb = "stored" if stored.is_new else "the same capture is in the history already:"
    accepted = "accepted" if stored.run.accepted else "not accepted"
    say(f"gapfinder: {verb} run {stored.run.id} of {stored.run.branch} in {file}, {accepted}")


@contextmanager
def _failing_in_one_line() -> Iterator[None]:
    try:
        yield
    except GapfinderError as error:
        say(f"gapfinder: not stored in the history: {' '.join(str(error).split())}")
