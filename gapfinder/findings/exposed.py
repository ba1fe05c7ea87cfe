"""What exposed communication is charged to: each ns of it to one rule, the most specific one that applies.

Where communication was split into waiting and transfer, each is charged by itself; what could not be split counts as
transfer. Transfer is divided among operations by their exposed time, since causes say only that some was exposed.
"""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from gapfinder.explanations import GRADIENT_OPERATIONS, Cause
from gapfinder.findings.lost import exposed_in_short_blanks, lost_by_lane, lost_to
from gapfinder.findings.once import once
from gapfinder.findings.speeds import Speeds

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gapfinder.explanations import Buckets, CollectiveSummary
    from gapfinder.hosts import Host
    from gapfinder.model import Analysis, Lane
    from gapfinder.stragglers import Straggler

LATE_START = 0.5
SMALL_NS = 100_000
MANY_A_STEP, MANY_AT_ALL = 50, 500
INPUT_SPREAD = 0.05
_MOST_STEPS = 0.5
_FEWEST_STEPS = 4

GATHER, SCATTER = "AllGather", "ReduceScatter"


@once
def exposed_bill(analysis: Analysis) -> Mapping[str, int]:
    """Return the exposed communication of all lanes by the code of the rule it is charged to."""
    bill: Counter[str] = Counter()
    for code, ns in _transfers(analysis):
        bill[code] += ns
    bill["many-small-collectives"] += _small_in_short_blanks(analysis, charged=bill["many-small-collectives"])
    bill.update(wait_bill(analysis))
    return {code: ns for code, ns in bill.items() if ns > 0}


@once
def wait_bill(analysis: Analysis) -> Mapping[str, int]:
    """Return the part of `exposed_bill` that is waiting for other lanes, by code likewise."""
    return {code: ns for code, ns in _waits(analysis) if ns > 0}


def _transfers(analysis: Analysis) -> Iterator[tuple[str, int]]:
    """Charge transfer: of an operation what another link would win first, then what another order would."""
    lost = lost_by_lane(analysis, Cause.EXPOSED_TRANSFER, Cause.EXPOSED_COMMUNICATION)
    shared = {index: ns for index, ns in lost.items() if is_single_stream(analysis.lanes[index])}
    yield "single-stream", sum(shared.values())
    lost = {index: ns for index, ns in lost.items() if index not in shared}
    weights = [transfer_weight(one) for one in analysis.collectives]
    left, weight_left, of_gradients = sum(lost.values()), sum(weights), 0
    speeds, sharding = Speeds(analysis), sharding_operations(analysis)
    for one, weight in zip(analysis.collectives, weights, strict=True):
        part = left * weight // weight_left if weight_left else 0
        left, weight_left = left - part, weight_left - weight
        host = slow_nic_of(analysis, one)
        if host is not None:
            avoidable = round(part * (1 - 1 / (host.transfer_ratio or 1)))
            yield "slow-nic", avoidable
        else:
            slowness = speeds.slowness(one)
            avoidable = round(part * (1 - slowness.share)) if slowness else 0
            yield "slow-link", avoidable
        if is_small(one):
            yield "many-small-collectives", part - avoidable
        elif one.operation in sharding:
            yield "zero-overlap-off", part - avoidable
        elif one.operation in GRADIENT_OPERATIONS and analysis.buckets:
            of_gradients += part - avoidable
        else:
            yield "exposed-collective", part - avoidable
    yield "exposed-collective", left
    yield from _gradients(analysis, of_gradients, lost=lost)


def _gradients(analysis: Analysis, ns: int, *, lost: Mapping[int, int]) -> Iterator[tuple[str, int]]:
    """Charge the exposed transfer of all gradients: what is repeated first, then what comes too late.

    Args:
        analysis: the job.
        ns: what is charged.
        lost: exposed transfer of all operations, by lane.
    """
    repeated = round(ns * (1 - 1 / micro_steps(analysis))) if synchronises_every_micro_step(analysis) else 0
    yield "accumulation-not-skipping-sync", repeated
    ns -= repeated
    if starts_after_backward(analysis):
        yield "overlap-broken", ns
        return
    late = min(ns, sum(_late_at_most(analysis, one, lost.get(one.lane, 0)) for one in late_buckets(analysis)))
    yield "late-buckets", late
    yield "exposed-collective", ns - late


def _late_at_most(analysis: Analysis, one: Buckets, lost: int) -> int:
    """Return how much of what a lane lost can be late: all if it starts late, else what runs after backward."""
    if one.start_into_backward > LATE_START:
        return lost
    steps = analysis.lanes[one.lane].steps
    return min(lost, one.after_backward_ns * steps.count) if steps else 0


def _waits(analysis: Analysis) -> Iterator[tuple[str, int]]:
    left = lost_to(analysis, Cause.EXPOSED_WAIT)
    for_nodes = min(left, sum(host.caused_wait_ns for host in analysis.hosts if host.is_slow))
    yield "slow-node", for_nodes
    left -= for_nodes
    for_stragglers = min(left, sum(straggler.lost_ns for straggler in lone_stragglers(analysis)))
    yield "straggler", for_stragglers
    if left > for_stragglers:
        yield "unbalanced-input" if has_unbalanced_input(analysis) else "exposed-collective", left - for_stragglers


def _small_in_short_blanks(analysis: Analysis, *, charged: int) -> int:
    """Return how long small collectives can be exposed in blanks too short for a hole; `charged` is theirs in holes."""
    exposed = sum(exposed_in_short_blanks(lane) for lane in analysis.measured_lanes().values())
    small = sum(one.exposed_ns for one in analysis.collectives if is_small(one))
    return max(0, min(exposed, small - charged))


def lone_stragglers(analysis: Analysis) -> list[Straggler]:
    """Return the stragglers that are slow by themselves, not because their whole host is."""
    explained = {lane for host in analysis.hosts if host.is_slow for lane in host.lanes}
    return [straggler for straggler in analysis.stragglers if straggler.lane not in explained]


def slow_nic_of(analysis: Analysis, one: CollectiveSummary) -> Host | None:
    """Return the host whose slow network an operation between some of the hosts went over; None without one.

    Of several it is the slowest.
    """
    lanes = set(one.lanes)
    met = [host for host in analysis.hosts if not lanes.isdisjoint(host.lanes)]
    slow = [host for host in met if host.has_slow_nic]
    is_between_some = 1 < len(met) < len(analysis.hosts)
    return max(slow, key=lambda host: host.transfer_ratio or 1, default=None) if is_between_some else None


def transfer_weight(one: CollectiveSummary) -> int:
    """Return the operation's exposed time without the part in which it waited, as far as a split is known."""
    if one.wait_ns is None or one.transfer_ns is None or not one.wait_ns + one.transfer_ns:
        return one.exposed_ns
    return one.exposed_ns * one.transfer_ns // (one.wait_ns + one.transfer_ns)


def is_single_stream(lane: Lane) -> bool:
    """Say whether compute and communication shared one stream; only then has a ratio of 0 a reason."""
    return lane.overlap_ratio == 0 and lane.overlap_reason is not None


def is_small(one: CollectiveSummary) -> bool:
    """Say whether it runs so often and so shortly that latency is what it costs."""
    is_many = one.instances >= MANY_AT_ALL if one.per_step is None else one.per_step >= MANY_A_STEP
    return is_many and one.usual_ns < SMALL_NS


def sharding_operations(analysis: Analysis) -> frozenset[str]:
    """Return the operations that gather parameters, and scatter gradients in a job that gathers parameters."""
    gathers = any(one.operation == GATHER for one in analysis.collectives)
    return frozenset({GATHER, SCATTER}) if gathers else frozenset()


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
