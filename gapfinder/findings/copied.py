"""What hole time in copies is charged to: pageable copies first, then offloading, then what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.once import once

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gapfinder.model import Analysis, Lane

OFFLOAD_BYTES = 64 * 2**20
"""A step's copies to the host that are offloading: BF16 gradients of 32 million parameters, no metrics or token ids."""


@once
def copy_bill(analysis: Analysis) -> Mapping[str, Mapping[int, int]]:
    """Return the hole time in copies by the code of the rule it is charged to, and by lane."""
    bill: dict[str, dict[int, int]] = {}
    for index, lane in analysis.measured_lanes().items():
        for code, ns in _charges(lane):
            if ns:
                bill.setdefault(code, {})[index] = ns
    return bill


def _charges(lane: Lane) -> Iterator[tuple[str, int]]:
    to_device = lane.causes.get(Cause.HOST_TO_DEVICE_COPY, 0)
    pageable = min(to_device, lane.host.pageable_ns)
    yield "pageable-copies", pageable
    rest = to_device - pageable + lane.causes.get(Cause.COPY, 0)
    yield "offload-copies" if _offloads(lane) else "exposed-copies", rest


def _offloads(lane: Lane) -> bool:
    """Say whether steps copy that much to the host; without steps it may be a result, copied once."""
    return lane.steps is not None and lane.host.offload_bytes >= OFFLOAD_BYTES * lane.steps.count
