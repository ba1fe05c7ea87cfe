"""The regression check: holds one snapshot against limits, and against a baseline where they are relative."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.absolute import hold_absolute
from gapfinder.compare.comparable import differences, version_notes
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
    baseline: Snapshot | None = None,
    *,
    limits: Sequence[Limit] = (),
    allowed: Collection[Aspect] = (),
) -> Verdict:
    """Return whether `candidate` keeps the limits; see docs/check.md.

    Args:
        candidate: what was measured now.
        baseline: what it is compared with; absolute limits need none.
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
            "gapfinder baseline save main, or give an absolute limit such as --fail-on 'overlap_ratio<0.7'"
        )
    if not candidate.lanes:
        return _verdict((), reasons=("no GPU operation that takes time was captured",), notes=())
    judgements = [one for limit in limits if isinstance(limit, Absolute) for one in hold_absolute(limit, candidate)]
    if baseline is None or not relative:
        return _verdict(tuple(judgements), reasons=(), notes=())
    found = differences(candidate, baseline)
    waived = tuple(f"allowed to differ: {one.sentence}" for one in found if one.aspect in allowed)
    reasons = tuple(_told(one.sentence, one.aspect) for one in found if one.aspect not in allowed)
    if not reasons:
        pair = Pair.of(baseline=baseline, candidate=candidate)
        judgements += [one for limit in relative for one in pair.hold(limit)]
    notes = (*_about(baseline), *version_notes(candidate, baseline), *waived)
    return _verdict(tuple(judgements), reasons=reasons, notes=notes)


def _about(baseline: Snapshot) -> tuple[str, ...]:
    """Return what a stored baseline is of; one that was measured just now has no commit."""
    if baseline.commit is None:
        return ()
    return (f"the baseline is of commit {baseline.commit}, measured on {baseline.created}",)


def _told(sentence: str, aspect: Aspect | None) -> str:
    return sentence if aspect is None else f"{sentence} (--allow-different {aspect} compares them anyway)"


def _verdict(judgements: tuple[Judgement, ...], *, reasons: tuple[str, ...], notes: tuple[str, ...]) -> Verdict:
    """Return the verdict: a breach is a fact, whatever else could not be answered."""
    results = {one.result for one in judgements}
    outcome = Outcome.PASS
    if Result.BREACHED in results:
        outcome = Outcome.FAIL
    elif reasons or Result.UNKNOWN in results:
        outcome = Outcome.INCONCLUSIVE
    return Verdict(outcome=outcome, judgements=judgements, reasons=reasons, notes=notes)
