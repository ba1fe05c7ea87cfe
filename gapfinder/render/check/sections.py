"""What every report of a check says, in the order in which it matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.verdict import Outcome, Result
from gapfinder.units import format_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gapfinder.compare.verdict import Judgement, Verdict


def headline(verdict: Verdict) -> str:
    """Return the verdict in one sentence."""
    number = format_count(len(verdict.judgements), "value")
    if verdict.outcome is Outcome.FAIL:
        return f"FAIL: {format_count(len(verdict.breaches))} of {number} worse than allowed"
    if verdict.outcome is Outcome.INCONCLUSIVE:
        return "INCONCLUSIVE, which is not a pass: the question could not be answered"
    better = f", {format_count(len(verdict.improvements))} of them better" if verdict.improvements else ""
    return f"PASS: {number} within the limits{better}"


def sections(verdict: Verdict) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (title, sentences) of everything there is to say, worst first."""
    told = {
        "Worse than allowed": tuple(_explained_once(verdict.breaches)),
        "Could not be answered": verdict.unknown,
        "Better": tuple(one.sentence for one in verdict.improvements),
        "Within the limits": tuple(one.sentence for one in verdict.of(Result.KEPT)),
        "Worth knowing": verdict.notes,
    }
    return ((title, sentences) for title, sentences in told.items() if sentences)


def _explained_once(breaches: Sequence[Judgement]) -> Iterator[str]:
    """Yield the sentence of each breach; an explanation that was given before is only named."""
    given: set[str] = set()
    for one in breaches:
        if one.explanation and one.explanation in given:
            name = one.finding or (one.cause or "").replace("_", " ")
            yield f"{one.sentence.removesuffix(one.explanation)}: {name}, as above"
        else:
            yield one.sentence
        given.add(one.explanation)
