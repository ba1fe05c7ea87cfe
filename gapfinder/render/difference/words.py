"""What changed, in a few sentences: the length of a step first, then what moved in it and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.difference import Status, Unit
from gapfinder.explanations import Cause, Severity
from gapfinder.findings.words import listed
from gapfinder.render.difference.amounts import amount, change, count
from gapfinder.render.words import cause_words, short_name
from gapfinder.units import (
    format_duration,
    format_growth,
    format_points_change,
    format_share,
    format_times,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.compare.difference import Difference, FindingChange, Side

_AS_BEFORE = 0.01
_WORTH_NAMING = 0.05
_WORTH_OF_UNIT = 0.002
_EXPLAINS = 1 / 3
_SAME_WORK = 0.02
_MOST_KERNELS = 0.9
_NAMED = 3


def difference_verdict(difference: Difference) -> str:
    """Return the comparison in a few sentences."""
    sentences = (
        difference_summary(difference),
        _causes(difference),
        _overlap(difference),
        _work(difference),
        *_came_and_went(difference),
        *_collectives(difference),
        *_findings(difference, but=_main_finding(difference)),
    )
    return " ".join(filter(None, sentences))


def difference_summary(difference: Difference) -> str:
    """Return its first sentences: how long a step takes, the finding that explains it, and where the time went."""
    main = _main_finding(difference)
    why = _graphs(difference) if main is None else f"{_finding_words(difference, main)}."
    return " ".join(filter(None, (_headline(difference), why, _parts(difference))))


def title_words(difference: Difference) -> str:
    """Return which two are compared."""
    return f"{difference.names[0]} → {difference.names[1]}"


def cause_label(difference: Difference, cause: Cause | None) -> str:
    """Return a cause as words."""
    if cause is not None:
        return cause_words(cause)
    return f"blanks under {format_duration(difference.min_gap_ns)}" if difference.min_gap_ns else "blanks"


def _moved_ns(difference: Difference) -> int:
    """Return what got longer in a unit: the step, or all but compute where a unit is a second."""
    if difference.unit is Unit.STEP:
        return difference.after.budget.window_ns - difference.before.budget.window_ns
    return _computing(difference.before) - _computing(difference.after)


def _computing(side: Side) -> int:
    return side.budget.compute_ns + side.budget.graph_only_ns


def _is_as_before(difference: Difference) -> bool:
    return abs(_moved_ns(difference)) < _AS_BEFORE * difference.before.budget.window_ns


def _headline(difference: Difference) -> str:
    before, after = difference.before, difference.after
    if difference.unit is Unit.STEP:
        old, new = (side.budget.window_ns for side in (before, after))
        growth = format_growth(old, new)
        if _is_as_before(difference):
            return f"A step takes as long as before: {format_duration(new)}, was {format_duration(old)} ({growth})."
        return f"A step takes {format_duration(new)} instead of {format_duration(old)} ({growth})."
    old_share, new_share = (_computing(side) / side.budget.window_ns for side in (before, after))
    verb = "run compute or graphs" if before.budget.graph_only_ns or after.budget.graph_only_ns else "compute"
    told = f"{format_share(new_share)} of the time"
    points = format_points_change(new_share - old_share)
    if _is_as_before(difference):
        return f"The GPUs {verb} as much as before: {told}, was {format_share(old_share)} ({points})."
    return f"The GPUs {verb} {told} instead of {format_share(old_share)} ({points})."


def _graphs(difference: Difference) -> str:
    """Say that work went into graphs or came out of them: then nothing else explains what changed."""
    before, after = difference.before.budget, difference.after.budget
    moved = after.graph_only_ns - before.graph_only_ns
    if not _is_worth(difference, moved):
        return ""
    verb = "now run" if moved > 0 else "no longer run"
    return (
        f"{amount(difference, abs(moved))} {_of_unit(difference)} {verb} in CUDA graphs traced whole, "
        "so what computed and what communicated there cannot be compared."
    )


def _main_finding(difference: Difference) -> FindingChange | None:
    """Return the finding that moved most in the direction of the whole, where it explains a good part of that."""
    moved = _moved_ns(difference)
    if _is_as_before(difference) or _graphs(difference):
        return None
    sign = 1 if moved > 0 else -1
    driving = (one for one in difference.findings if sign * _cost_change(one) > _EXPLAINS * abs(moved))
    return next(driving, None)


def _finding_words(difference: Difference, one: FindingChange) -> str:
    name = f"{one.title} [{one.code}]"
    old, new = one.before_ns or 0, one.after_ns or 0
    if one.status is Status.APPEARED:
        return f"New: {name}, {amount(difference, new)} {_of_unit(difference)}"
    if one.status is Status.GONE:
        return f"Gone: {name}, was {amount(difference, old)} {_of_unit(difference)}"
    more = "More" if new > old else "Less"
    return f"{more} than before: {name}, {_pair(difference, old, new)} {_of_unit(difference)}"


def _cost_change(one: FindingChange) -> int:
    return (one.after_ns or 0) - (one.before_ns or 0)


def _parts(difference: Difference) -> str:
    """Say what the change is made of: all of these parts add up to it."""
    if not (difference.before.is_idle_known and difference.after.is_idle_known):
        return ""
    before, after = difference.before.budget, difference.after.budget
    is_step = difference.unit is Unit.STEP
    parts = {
        "compute": (before.compute_ns, after.compute_ns) if is_step else (0, 0),
        "exposed communication": (before.exposed_ns, after.exposed_ns),
        "copies alone": (before.copy_only_ns, after.copy_only_ns),
        "CUDA graphs": (before.graph_only_ns, after.graph_only_ns),
        "idle time": (before.idle_ns, after.idle_ns),
    }
    worth = {name: pair for name, pair in parts.items() if _is_worth(difference, pair[1] - pair[0])}
    ranked = sorted(worth.items(), key=lambda item: -abs(item[1][1] - item[1][0]))
    if not ranked:
        return ""
    if is_step and not _is_as_before(difference):
        told = [f"{change(difference, *pair)} of {name}" for name, pair in ranked]
        return f"The {change(difference, 0, _moved_ns(difference))} are {listed(told)}."
    told = [f"{name} {_pair(difference, old, new)}" for name, (old, new) in ranked]
    return f"{_capital(listed(told))} {_of_unit(difference)}."


def _causes(difference: Difference) -> str:
    """Name what moved most of the time without compute; a first step that warms up is no part of the mean step."""
    told = [
        f"{cause_label(difference, one.cause)} {_pair(difference, one.before_ns, one.after_ns)}"
        for one in difference.causes
        if _is_worth(difference, one.after_ns - one.before_ns)
        and not (one.cause is Cause.WARM_UP and difference.unit is Unit.STEP)
    ]
    return f"Without compute by cause: {listed(told[:_NAMED])} {_of_unit(difference)}." if told else ""


def _overlap(difference: Difference) -> str:
    before, after = difference.before, difference.after
    if before.overlap_ratio is None or after.overlap_ratio is None:
        reasons = {side.overlap_reason for side in (before, after) if side.overlap_ratio is None}
        if len(reasons) == 1 and before.overlap_ratio == after.overlap_ratio:
            return ""
        at = 0 if before.overlap_ratio is None else 1
        reason = (before, after)[at].overlap_reason
        return f"Overlap cannot be compared: in {difference.names[at]} {reason}."
    if abs(after.overlap_ratio - before.overlap_ratio) < _AS_BEFORE:
        return ""
    shown = f"{format_share(before.overlap_ratio)} → {format_share(after.overlap_ratio)}"
    why = after.overlap_reason if after.overlap_ratio < before.overlap_ratio else None
    return f"Overlap {shown}{f': {why}' if why else ''}."


def _work(difference: Difference) -> str:
    """Tell more work from slower work, by the kernels that both sides have."""
    pace = difference.pace
    if pace is None or min(pace.share_before, pace.share_after) < _MOST_KERNELS:
        return ""
    is_same_work, is_same_speed = (abs(ratio - 1) < _SAME_WORK for ratio in (pace.work, pace.duration))
    speed = "run as long as before" if is_same_speed else f"take {format_times(pace.duration)} as long"
    if is_same_work:
        work = "The compute kernels are as many as before and"
    else:
        per = "A step" if difference.unit is Unit.STEP else "A second"
        work = f"{per} holds {_times(pace.work)} of the same compute kernels, which"
    statuses = {one.status for one in difference.kernels}
    is_same_set = not statuses & {Status.APPEARED, Status.GONE}
    return f"{work} {speed}{'; none is new and none is gone' if is_same_set else ''}."


def _times(ratio: float) -> str:
    return f"{100 * abs(ratio - 1):.1f} % {'more' if ratio > 1 else 'less'}"


def _came_and_went(difference: Difference) -> Iterator[str]:
    """Yield what is new and what is gone of kernels and synchronising calls."""
    if difference.before.budget.graph_only_ns or difference.after.budget.graph_only_ns:
        return
    for status, words in ((Status.APPEARED, "New"), (Status.GONE, "Gone")):
        kernels = [
            f"{short_name(one.name)} ({amount(difference, found.total_ns)} {_of_unit(difference)})"
            for one in difference.kernels
            if one.status is status
            and not one.is_communication
            and (found := one.after or one.before) is not None
            and _is_worth(difference, found.total_ns)
        ]
        if kernels:
            yield f"{words} {'kernel' if len(kernels) == 1 else 'kernels'}: {listed(kernels)}."
    for status, words in ((Status.APPEARED, "New"), (Status.GONE, "Gone")):
        calls = [
            f"{one.name} ({count(found.count, difference=difference)})"
            for one in difference.calls
            if one.status is status
            and (found := one.after if status is Status.APPEARED else one.before)
            and _is_worth(difference, found.total_ns)
        ]
        if calls:
            yield f"{words} synchronising {'call' if len(calls) == 1 else 'calls'}: {listed(calls)}."


def _collectives(difference: Difference) -> Iterator[str]:
    """Yield the collectives that moved; what went into graphs is not among them."""
    if _graphs(difference):
        return
    for one in difference.collectives:
        old, new = one.before, one.after
        if old is None or new is None:
            found = new or old
            if found is not None and _is_worth(difference, found.exposed_ns):
                word = "New" if old is None else "Gone"
                often = count(found.count, difference=difference)
                exposed = amount(difference, found.exposed_ns)
                yield f"{word} collective: {one.operation}, {often}, {exposed} {_of_unit(difference)} exposed."
        elif _is_worth(difference, new.total_ns - old.total_ns):
            parts = (("waiting", old.wait_ns, new.wait_ns), ("transfer", old.transfer_ns, new.transfer_ns))
            told = [f"{name} {_pair(difference, a, b)}" for name, a, b in parts if a is not None and b is not None]
            whole = [_pair(difference, old.total_ns, new.total_ns)]
            yield f"{one.operation}: {listed(told or whole)} {_of_unit(difference)}."


def _findings(difference: Difference, *, but: FindingChange | None) -> Iterator[str]:
    """Yield the other findings to act on that came or went."""
    for status, words in ((Status.APPEARED, "Also new"), (Status.GONE, "Also gone")):
        told = [
            f"{one.title} [{one.code}]"
            for one in difference.findings
            if one.status is status and one is not but and one.severity is not Severity.INFO
        ]
        if told:
            yield f"{words}: {listed(told)}."


def _is_worth(difference: Difference, moved_ns: int) -> bool:
    """Say whether a change is worth a word: against the whole change, and against the unit."""
    unit_ns = difference.before.budget.window_ns
    return abs(moved_ns) >= max(_WORTH_NAMING * abs(_moved_ns(difference)), _WORTH_OF_UNIT * unit_ns)


def _pair(difference: Difference, old: int, new: int) -> str:
    return f"{amount(difference, old)} → {amount(difference, new)}"


def _of_unit(difference: Difference) -> str:
    return "a step" if difference.unit is Unit.STEP else "of the time"


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
