"""What a check is: a question about the machine, and what was seen."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar

from gapfinder.units import runs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Asked = TypeVar("Asked")


class Status(StrEnum):
    """How a check came out, worst first; `NOT_CHECKED` is neither good nor bad."""

    FAILURE = "failure"
    WARNING = "warning"
    NOT_CHECKED = "not checked"
    OK = "ok"


class Area(StrEnum):
    """What a check is about, in the order of a report."""

    NSYS = "nsys"
    GPUS = "GPUs"
    LINKS = "GPU links"
    NETWORK = "Network"
    VERSIONS = "Versions"
    VARIABLES = "Environment variables"
    HOSTS = "Host names"
    SPACE = "Space"
    LIMITS = "Limits, CPUs and clock"
    DEEPSPEED = "DeepSpeed"
    COMMUNICATION = "Communication"


class NotCheckedError(Exception):
    """Raised inside a check that cannot be made; its text is the reason. `examine` turns it into a result."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What one question brought to light.

    Attributes:
        seen: what was found; the reason where nothing could be checked.
        advice: what to do; empty where all is well.
    """

    status: Status
    seen: str
    advice: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question(Generic[Asked]):
    """A check that can be made.

    Attributes:
        code: its name in JSON and in docs/doctor.md.
        title: its name in text.
        ask: answers it; may raise NotCheckedError.
    """

    code: str
    area: Area
    title: str
    ask: Callable[[Asked], Verdict]

    def answered(self, asked: Asked) -> Check:
        """Return the answer; "not checked" with the reason where there is none."""
        try:
            verdict = self.ask(asked)
        except NotCheckedError as error:
            verdict = not_checked(str(error))
        return Check(
            code=self.code,
            area=self.area,
            title=self.title,
            status=verdict.status,
            seen=verdict.seen,
            advice=verdict.advice,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """A question and what it brought to light; see `Question` and `Verdict`."""

    code: str
    area: Area
    title: str
    status: Status
    seen: str
    advice: str


def ok(seen: str) -> Verdict:
    """Return that all is well."""
    return Verdict(status=Status.OK, seen=seen)


def warning(seen: str, *, advice: str) -> Verdict:
    """Return that something costs time or memory, or may end a training."""
    return Verdict(status=Status.WARNING, seen=seen, advice=advice)


def failure(seen: str, *, advice: str) -> Verdict:
    """Return that no long training should start on this."""
    return Verdict(status=Status.FAILURE, seen=seen, advice=advice)


def not_checked(reason: str) -> Verdict:
    """Return that this could not be looked at."""
    return Verdict(status=Status.NOT_CHECKED, seen=reason)


def summed_up(verdicts: Iterable[Verdict], *, otherwise: str) -> Verdict:
    """Return all that is not well as one verdict, worst first; ok with `otherwise` where all is."""
    order = list(Status)
    found = sorted((v for v in verdicts if v.status is not Status.OK), key=lambda verdict: order.index(verdict.status))
    if not found:
        return ok(otherwise)
    return Verdict(
        status=found[0].status,
        seen="; ".join(dict.fromkeys(verdict.seen for verdict in found)),
        advice=" ".join(dict.fromkeys(verdict.advice for verdict in found if verdict.advice)),
    )


def numbered(noun: str, told: Iterable[tuple[int, str]]) -> str:
    """Return what is told of numbered things, alike ones together ("GPUs 0-3, 7: 16 lanes; GPU 4: 8 lanes")."""
    together: dict[str, list[int]] = {}
    for number, text in told:
        together.setdefault(text, []).append(number)
    return "; ".join(
        f"{noun}{'s' if len(numbers) > 1 else ''} {ranges(numbers)}: {text}" for text, numbers in together.items()
    )


def ranges(numbers: Sequence[int]) -> str:
    """Return numbers as a list of ranges ("0-3, 7"), as the kernel lists CPUs."""
    runs = runs_of(sorted(set(numbers)))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
