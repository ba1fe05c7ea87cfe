"""What a link should carry, as the user says it: a bandwidth, or the GPU whose datasheet tells."""

from __future__ import annotations

from dataclasses import dataclass

from gapfinder.errors import InputError
from gapfinder.links import product_link
from gapfinder.units import format_bandwidth, parse_bandwidth


@dataclass(frozen=True, kw_only=True, slots=True)
class GivenLink:
    """What a link should carry in one direction, bytes per second, and what it is called."""

    bandwidth: float
    name: str


def find_link(text: str) -> GivenLink:
    """Return the link that `text` means: "100Gb/s", "40 GB/s", or a GPU as its driver names it ("NVIDIA H200")."""
    product = product_link(text)
    if product is not None:
        return GivenLink(bandwidth=product.bandwidth, name=f"{product.kind} of {text.strip()}")
    try:
        bandwidth = parse_bandwidth(text)
    except InputError as error:
        raise InputError(f"{error}; or the name of a GPU whose links are known, such as H200") from error
    return GivenLink(bandwidth=bandwidth, name=format_bandwidth(bandwidth))
