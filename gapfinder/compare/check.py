"""The regression check: holds one snapshot against limits, and against a baseline where they are relative."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.absolute import hold_absolute
from gapfinder.compare.accepted import Accepted, comparable_runs
from gapfinder.compare.relative import Pair
from gapfinder.compare.thresholds import DEFAULT_LIMITS, Absolute, Relative
from gapfinder.compare.verdict import Judgement, Outcome, Result, Verdict
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gapfinder.compare.comparable import Aspect
    from gapfinder.compare.snapshot import Snapshot
    from gapfinder.compare.thresholds import Limit


def check(
    candidate: Snapshot,
    baseline: Snapshot | Accepted | None = None,
    *,
    limits: Sequence[Limit] = (),
    allowed: Collection[Aspect] = (),
) -> Verdict:
    """Return whether `candidate` keeps the limits; see docs/check.md.

    Args:
        candidate: what was measured now.
        baseline: what it is compared with, also several runs as one; absolute limits need none.
        limits: DEFAULT_LIMITS where there are none.
        allowed: differences between the captures that shall not matter.

    Raises:
        InputError: a limit is relative and there is no baseline.
    """
    limits = limits or DEFAULT_LIMITS
    relative = [limit for limit in limits if isinstance(limit, Relative)]
    if relative and baseline is None:
        raise InputError(
            f"nothing to compare with: {relative[0].text} needs a baseline; name one with --baseline, save one with "
            "gapfinder baseline save main, or give --against-history or an absolute limit such as "
            "--fail-on 'overlap_ratio<0.7'"
        )
    if not candidate.lanes:
        return _verdict((), candidate, reasons=("no GPU operation that takes time was captured",))
    judgements = [one for limit in limits if isinstance(limit, Absolute) for one in hold_absolute(limit, candidate)]
    if baseline is None or not relative:
        return _verdict(judgements, candidate)
    comparable = comparable_runs(candidate, baseline, allowed=allowed)
    if comparable.runs:
        pair = Pair.of(baselines=comparable.runs, candidate=candidate)
        judgements += [one for limit in relative for one in pair.hold(limit)]
    return _verdict(judgements, candidate, reasons=comparable.reasons, notes=comparable.notes)


def _verdict(
    judgements: Sequence[Judgement], candidate: Snapshot, *, reasons: tuple[str, ...] = (), notes: tuple[str, ...] = ()
) -> Verdict:
    """Return the verdict: a breach is a fact, whatever else could not be answered."""
    results = {one.result for one in judgements}
    outcome = Outcome.PASS
    if Result.BREACHED in results:
        outcome = Outcome.FAIL
    elif reasons or Result.UNKNOWN in results:
        outcome = Outcome.INCONCLUSIVE
    return Verdict(
        outcome=outcome, created=candidate.created, judgements=tuple(judgements), reasons=reasons, notes=notes
    )
