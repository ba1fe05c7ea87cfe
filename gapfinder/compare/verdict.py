"""What a check decided: values that renderers, the pytest plug-in and programs read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gapfinder.compare.metrics import Scope, Unit


class Outcome(StrEnum):
    """The verdict of a check."""

    PASS = "pass"  # noqa: S105 (no password)
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"


EXIT_CODES = {Outcome.PASS: 0, Outcome.FAIL: 1, Outcome.INCONCLUSIVE: 3}
"""The exit code of each verdict."""


class Result(StrEnum):
    """What was found about one limit on one lane."""

    KEPT = "kept"
    BREACHED = "breached"
    IMPROVED = "improved"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """One limit held against one value.

    Attributes:
        limit: as it was written.
        unit: of `old`, `new`, `allowed`, `noise_low` and `noise_high`.
        lane: what the lane is called; None for all lanes together.
        old, new: in the baseline and now; None where not measured, `old` as well for an absolute limit.
        allowed: by how much it may get worse, or the limit itself where that is absolute.
        noise_low, noise_high: where the change new - old lies with 95 % confidence.
        spread: how far runs of the same code may be apart, by the accepted ones; None where those are fewer than two.
        old_runs: how many runs `old` is of; 0 for an absolute limit.
        old_steps, new_steps: how many steps the values stand on; 0 for a whole capture.
        finding: code of the finding that explains why it got worse; None where none does.
        cause: of blank time, where no finding explains it.
        explanation: how `sentence` ends where a finding or a cause explains it; empty elsewhere.
        sentence: all of it in one sentence; why not, where it is unknown.
    """

    limit: str
    metric: str
    unit: Unit
    scope: Scope
    lane: str | None
    result: Result
    old: float | None
    new: float | None
    allowed: float | None
    noise_low: float | None
    noise_high: float | None
    spread: float | None
    old_runs: int
    old_steps: int
    new_steps: int
    finding: str | None
    cause: str | None
    explanation: str
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a check decided.

    Attributes:
        created: when the candidate was measured, as in `Snapshot`.
        reasons: why the pair or the capture cannot answer, in sentences; empty where it can.
        notes: what a reader should know beside, in sentences.
    """

    outcome: Outcome
    created: str
    judgements: tuple[Judgement, ...]
    reasons: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """Exit code of the command line: 0, 1 or 3."""
        return EXIT_CODES[self.outcome]

    @property
    def breaches(self) -> tuple[Judgement, ...]:
        """What got worse than is allowed."""
        return self.of(Result.BREACHED)

    @property
    def improvements(self) -> tuple[Judgement, ...]:
        """What got better by more than it might have got worse."""
        return self.of(Result.IMPROVED)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Everything that could not be answered, in sentences."""
        return self.reasons + tuple(one.sentence for one in self.of(Result.UNKNOWN))

    def of(self, result: Result) -> tuple[Judgement, ...]:
        """Return the judgements with this result."""
        return tuple(one for one in self.judgements if one.result is result)
