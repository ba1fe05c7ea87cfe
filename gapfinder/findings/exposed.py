"""What exposed communication is charged to: each ns of it to one rule, the most specific one that applies.

Where communication was split into waiting and transfer, each is charged by itself; what could not be split counts as
transfer. Transfer is divided among operations by their exposed time, since causes say only that some was exposed.
"""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.lost import lost_by_lane, lost_to, measured_lanes, short_blanks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gapfinder.explanations import Buckets, CollectiveSummary
    from gapfinder.model import Analysis, Lane

SLOW_SHARE = 0.5
LATE_START = 0.5
SMALL_NS = 100_000
MANY_A_STEP, MANY_AT_ALL = 50, 500
INPUT_SPREAD = 0.05
_MOST_STEPS = 0.5
_FEWEST_STEPS = 4

GRADIENTS = frozenset({"allreduce", "reducescatter", "reduce"})
GATHERS = frozenset({"allgather"})
_GRADIENTS_TOGETHER = "gradients"
"""No rule's code: what is charged only when the gradients of all operations are summed."""


def exposed_bill(analysis: Analysis) -> dict[str, int]:
    """Return the exposed communication of all lanes by the code of the rule it is charged to."""
    bill: dict[str, int] = {}
    for code, ns in (*_transfers(analysis), *_waits(analysis), *_short(analysis)):
        bill[code] = bill.get(code, 0) + ns
    return {code: ns for code, ns in bill.items() if ns > 0}


def _transfers(analysis: Analysis) -> Iterator[tuple[str, int]]:
    lost = lost_by_lane(analysis, Cause.EXPOSED_TRANSFER, Cause.EXPOSED_COMMUNICATION)
    alone = sum(ns for index, ns in lost.items() if is_single_stream(analysis.lanes[index]))
    yield "single-stream", alone
    rest = sum(lost.values()) - alone
    weights = [transfer_weight(one) for one in analysis.collectives]
    left, weight_left, of_gradients = rest, sum(weights), 0
    for one, weight in zip(analysis.collectives, weights, strict=True):
        part = left * weight // weight_left if weight_left else 0
        left, weight_left = left - part, weight_left - weight
        for code, ns in _transfer_of(analysis, one, part):
            if code == _GRADIENTS_TOGETHER:
                of_gradients += ns
            else:
                yield code, ns
    yield "exposed-collective", left
    yield from _gradients(analysis, of_gradients)


def _transfer_of(analysis: Analysis, one: CollectiveSummary, ns: int) -> Iterator[tuple[str, int]]:
    """Charge one operation's exposed transfer: what another link would win first, then what another order would."""
    avoidable = round(ns * (1 - share_of_possible(one, analysis))) if is_slow(one, analysis) else 0
    yield "slow-link", avoidable
    ns -= avoidable
    if is_small(one):
        yield "many-small-collectives", ns
    elif is_sharding(one, analysis):
        yield "zero-overlap-off", ns
    elif hint(one) in GRADIENTS and analysis.buckets:
        yield _GRADIENTS_TOGETHER, ns
    else:
        yield "exposed-collective", ns


def _gradients(analysis: Analysis, ns: int) -> Iterator[tuple[str, int]]:
    """Charge the exposed transfer of all gradients: what is repeated first, then what comes too late."""
    repeated = round(ns * (1 - 1 / micro_steps(analysis))) if synchronises_every_micro_step(analysis) else 0
    yield "accumulation-not-skipping-sync", repeated
    ns -= repeated
    if starts_after_backward(analysis):
        yield "overlap-broken", ns
        return
    late = min(ns, sum(_late_at_most(analysis, one) for one in late_buckets(analysis)))
    yield "late-buckets", late
    yield "exposed-collective", ns - late


def _late_at_most(analysis: Analysis, one: Buckets) -> int:
    """Return what a lane's late synchronisation can cost: all if it starts late, else what runs after backward."""
    lane = analysis.lanes[one.lane]
    transfer = lane.causes.get(Cause.EXPOSED_TRANSFER, 0) + lane.causes.get(Cause.EXPOSED_COMMUNICATION, 0)
    if one.start_into_backward > LATE_START:
        return transfer
    return min(transfer, one.after_backward_ns * (lane.steps.count if lane.steps else 0))


def _waits(analysis: Analysis) -> Iterator[tuple[str, int]]:
    left = lost_to(analysis, Cause.EXPOSED_WAIT)
    for_stragglers = min(left, sum(straggler.lost_ns for straggler in analysis.stragglers))
    yield "straggler", for_stragglers
    if left > for_stragglers:
        yield "unbalanced-input" if has_unbalanced_input(analysis) else "exposed-collective", left - for_stragglers


def _short(analysis: Analysis) -> Iterator[tuple[str, int]]:
    """Charge small collectives exposed in blanks too short to be holes."""
    blanks = sum(short_blanks(lane) for _, lane in measured_lanes(analysis))
    small = sum(one.exposed_ns for one in analysis.collectives if is_small(one))
    yield "many-small-collectives", min(blanks, small)


def hint(one: CollectiveSummary) -> str:
    """Return an operation in lower-case letters alone ("AllReduce" and "all_reduce" are one)."""
    return "".join(filter(str.isalpha, one.operation.lower()))


def transfer_weight(one: CollectiveSummary) -> int:
    """Return the operation's exposed time without the part in which it waited, as far as a split is known."""
    if one.wait_ns is None or one.transfer_ns is None or not one.wait_ns + one.transfer_ns:
        return one.exposed_ns
    return one.exposed_ns * one.transfer_ns // (one.wait_ns + one.transfer_ns)


def is_single_stream(lane: Lane) -> bool:
    """Say whether compute and communication shared one stream; only then has a ratio of 0 a reason."""
    return lane.overlap_ratio == 0 and lane.overlap_reason is not None


def share_of_ideal(one: CollectiveSummary) -> float:
    """Return ideal time / transfer time; 1 where either is unknown."""
    transfer = one.transfer_ns if one.transfer_ns is not None else one.total_ns
    return min(1.0, one.ideal_ns / transfer) if one.ideal_ns and transfer else 1.0


def share_of_possible(one: CollectiveSummary, analysis: Analysis) -> float:
    """Return its speed as a share of the ideal, or of the same operation between as many lanes elsewhere if less."""
    best = best_elsewhere(one, analysis.collectives)
    elsewhere = one.bus_bandwidth / best if one.bus_bandwidth and best else 1.0
    return min(share_of_ideal(one), elsewhere)


def is_slow(one: CollectiveSummary, analysis: Analysis) -> bool:
    """Say whether it moves its bytes at less than half the speed that is possible."""
    return share_of_possible(one, analysis) < SLOW_SHARE


def best_elsewhere(one: CollectiveSummary, all_of_them: Sequence[CollectiveSummary]) -> float | None:
    """Return the best bus bandwidth of the same operation between as many lanes on another communicator."""
    alike = [
        other.bus_bandwidth
        for other in all_of_them
        if other is not one and hint(other) == hint(one) and len(other.lanes) == len(one.lanes)
        if other.bus_bandwidth
    ]
    return max(alike, default=None)


def is_small(one: CollectiveSummary) -> bool:
    """Say whether it runs so often and so shortly that latency is what it costs."""
    is_many = one.instances >= MANY_AT_ALL if one.per_step is None else one.per_step >= MANY_A_STEP
    own = one.transfer_ns if one.transfer_ns is not None else one.total_ns
    return is_many and own < SMALL_NS * one.instances * max(len(one.lanes), 1)


def is_sharding(one: CollectiveSummary, analysis: Analysis) -> bool:
    """Say whether it gathers parameters, or scatters gradients in a job that gathers parameters."""
    gathers = any(hint(other) in GATHERS for other in analysis.collectives)
    return hint(one) in GATHERS or (hint(one) == "reducescatter" and gathers)


def starts_after_backward(analysis: Analysis) -> bool:
    """Say whether the first gradient synchronisation of the median lane starts when backward is over."""
    return bool(analysis.buckets) and median(one.start_into_backward for one in analysis.buckets) >= 1


def late_buckets(analysis: Analysis) -> list[Buckets]:
    """Return where synchronisation would fit into backward, but starts in its later half or ends after it.

    Nowhere, unless it fits on half of the lanes.
    """
    fits = [one for one in analysis.buckets if one.per_step * one.median_ns < one.backward_ns]
    if len(fits) < len(analysis.buckets) / 2:
        return []
    return [one for one in fits if one.start_into_backward > LATE_START or one.after_backward_ns]


def micro_steps(analysis: Analysis) -> int:
    """Return the forward/backward passes of a step on the median lane; 1 where nothing tells."""
    return max(1, round(median(one.micro_steps for one in analysis.buckets))) if analysis.buckets else 1


def synchronises_every_micro_step(analysis: Analysis) -> bool:
    """Say whether gradients are synchronised before the last of several micro-steps."""
    passes = micro_steps(analysis)
    return passes > 1 and all(
        one.per_step >= passes and one.start_into_backward < 1 - 1 / passes for one in analysis.buckets
    )


def has_unbalanced_input(analysis: Analysis) -> bool:
    """Say whether compute differs between lanes and another lane is the slowest from step to step."""
    spreads = list(compute_spreads(analysis).values())
    if len(spreads) < _FEWEST_STEPS or median(spreads) < INPUT_SPREAD:
        return False
    slowest = Counter(slowest_lanes(analysis).values())
    return max(slowest.values()) <= _MOST_STEPS * len(spreads)


def compute_spreads(analysis: Analysis) -> dict[int, float]:
    """Return for each step that all lanes have, by number, how much longer the slowest lane computed than the median.

    Steps without compute are left out.
    """
    return {
        step.number: step.slowest_compute_ns / step.median_compute_ns - 1
        for step in analysis.step_spreads
        if step.lanes == len(analysis.lanes) and step.median_compute_ns
    }


def slowest_lanes(analysis: Analysis) -> dict[int, int]:
    """Return for each step that all lanes have, by number, the lane that computed longest; of several the first."""
    longest = {step.number: step.slowest_compute_ns for step in analysis.step_spreads}
    found = dict.fromkeys(compute_spreads(analysis), 0)
    for index in reversed(range(len(analysis.lanes))):
        steps = analysis.lanes[index].steps
        for step in steps.items if steps else ():
            if step.number in found and step.budget.compute_ns == longest[step.number]:
                found[step.number] = index
    return found
