"""Says what the link between the lanes carries: as given, else as detected where all of them are on one host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.links import Link, LinkSource, product_link
from gapfinder.units import format_bandwidth

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gapfinder.model import Lane


def find_link(given: float | None, *, lanes: Sequence[Lane], machines: Collection[tuple[int, int]]) -> Link:
    """Return the link of all lanes, with where its bandwidth comes from.

    Args:
        given: what the user says, bytes per second.
        lanes: all lanes.
        machines: (report, machine) of each lane.
    """
    if given is not None:
        return Link(bandwidth=given, source=LinkSource.GIVEN, reason="given by --link-bandwidth")
    names = sorted({lane.gpu_name or "" for lane in lanes})
    found = [product_link(name) for name in names]
    reason = _not_told(lanes, names=names, machines=machines)
    known = [(one.bandwidth, one.kind, name) for one, name in zip(found, names, strict=True) if one is not None]
    if reason is not None or len(known) < len(names):
        unknown = [name for one, name in zip(found, names, strict=True) if one is None]
        return _unknown(
            reason or f"the name {unknown[0]!r} does not tell it for certain; tell it with --link-bandwidth"
        )
    bandwidth, kind, name = min(known)
    return Link(
        bandwidth=bandwidth,
        source=LinkSource.DETECTED,
        reason=f"{format_bandwidth(bandwidth)} of {kind} in one direction is what the datasheet of {name} promises "
        "inside one host; it was not measured",
    )


def _not_told(lanes: Sequence[Lane], *, names: Sequence[str], machines: Collection[tuple[int, int]]) -> str | None:
    """Return why the lanes tell nothing about their link; None where they may."""
    if len(lanes) <= 1:
        return "one lane alone does not tell where its partners are; tell the link with --link-bandwidth"
    if len(set(machines)) > 1:
        return "the reports may be of several hosts; tell their link with --link-bandwidth"
    if any(lane.shares_gpu_with for lane in lanes):
        return "lanes share a GPU, which no link joins to itself; tell what does with --link-bandwidth"
    return None if all(names) else "the reports do not name the GPUs; tell their link with --link-bandwidth"


def _unknown(reason: str) -> Link:
    return Link(bandwidth=None, source=LinkSource.UNKNOWN, reason=reason)
