"""Which holes a finding is about: the causes that its rule charges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.components.links import hole_address, longest_hole
from gapfinder.explanations import Cause

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboards.data.opening import OpenProfile
    from gapfinder.explanations import Finding

_EXPOSED = (Cause.EXPOSED_TRANSFER, Cause.EXPOSED_COMMUNICATION)
_WAITS = (Cause.EXPOSED_WAIT,)
_COPIES = (Cause.HOST_TO_DEVICE_COPY, Cause.COPY)
CAUSES_OF: Mapping[str, tuple[Cause, ...]] = {
    "accumulation-not-skipping-sync": _EXPOSED,
    "allocator-churn": (Cause.ALLOCATOR,),
    "blocking-call": (Cause.OS_CALL,),
    "checkpoint-pause": (Cause.CHECKPOINT,),
    "data-starved": (Cause.DATA_LOADING,),
    "device-wait": (Cause.DEVICE_WAIT,),
    "exposed-collective": (*_EXPOSED, *_WAITS),
    "exposed-copies": _COPIES,
    "gc-pause": (Cause.GARBAGE_COLLECTION,),
    "graph-opaque": (Cause.GRAPH_UNKNOWN,),
    "host-code": (Cause.HOST_CODE,),
    "late-buckets": _EXPOSED,
    "launch-bound": (Cause.LAUNCH_BOUND,),
    "many-small-collectives": _EXPOSED,
    "offload-copies": _COPIES,
    "overlap-broken": _EXPOSED,
    "pageable-copies": _COPIES,
    "pipeline-bubble": (Cause.PIPELINE_BUBBLE,),
    "single-stream": _EXPOSED,
    "slow-link": _EXPOSED,
    "slow-nic": _EXPOSED,
    "slow-node": _WAITS,
    "straggler": _WAITS,
    "sync-stall": (Cause.SYNCHRONISATION,),
    "unbalanced-input": _WAITS,
    "zero-overlap-off": _EXPOSED,
}
"""By the rule's code, as docs/rules.md says; a rule that charges no cause is not here."""

_SEEN_ON_OTHERS = {"slow-node", "straggler"}
"""Rules whose lane is not where the time is lost: the others wait for it."""


def finding_link(profile: OpenProfile, finding: Finding) -> str | None:
    """Return where the longest hole that the finding is about is on the timeline; None where there is none."""
    causes = CAUSES_OF.get(finding.code, ())
    lane = None if finding.code in _SEEN_ON_OTHERS else finding.lane
    found = longest_hole(profile, *causes, lane=lane) if causes else None
    if found is None:
        return None
    index, hole = found
    return hole_address(profile, lane=index, hole=hole)
