"""What links GPUs to each other: as given, else as the datasheets of known products say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_GB = 1e9


class LinkSource(StrEnum):
    """Where a link's bandwidth comes from; nothing here is a measurement."""

    GIVEN = "given"
    DETECTED = "detected"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """What each GPU's link to the others carries in one direction.

    Attributes:
        bandwidth: bytes per second; None where it is not known.
        reason: where the number comes from, or why there is none; a sentence's end.
    """

    bandwidth: float | None
    source: LinkSource
    reason: str

    @property
    def is_detected(self) -> bool:
        """Whether it is what a datasheet promises, inside one host."""
        return self.source is LinkSource.DETECTED


@dataclass(frozen=True, slots=True)
class ProductLink:
    """What the datasheet of a product says.

    Attributes:
        kind: of the link, such as "NVLink 4".
        bandwidth: of all links of one GPU in one direction, bytes per second; datasheets mostly print both directions
            together.
    """

    kind: str
    bandwidth: float


# NVIDIA's datasheets (https://www.nvidia.com/en-us/data-center/) in GB/s, both directions together: NVLink of V100 300,
# A100 SXM 600, H100 and H200 SXM 900, H100 NVL 600, H200 NVL 900, H20 900, A800 and H800 SXM 400, B200 1,800; cards
# with 16 lanes of PCIe 3.0 32, of 4.0 64, of 5.0 128. Names are those that the driver reports. The first pattern that
# matches counts.
_PRODUCTS = tuple(
    (re.compile(pattern, re.IGNORECASE), ProductLink(kind, gigabytes * _GB))
    for pattern, kind, gigabytes in (
        (r"\bV100[ -]SXM[23]", "NVLink 2", 150),
        (r"\bV100S?[ -]PCIE", "PCIe 3.0 x16", 16),
        (r"\bT4\b", "PCIe 3.0 x16", 16),
        (r"\bA800[ -]SXM4", "NVLink 3", 200),
        (r"\bA100[ -]SXM4", "NVLink 3", 300),
        (r"\bA(?:100|800)\b.*PCIE", "PCIe 4.0 x16", 32),
        (r"\b(?:A10|A30|L4|L40|L40S)\b", "PCIe 4.0 x16", 32),
        (r"\bH100 NVL\b", "NVLink 4 bridge", 300),
        (r"\bH200 NVL\b", "NVLink 4 bridge", 450),
        (r"\bH(?:100|800) PCIE", "PCIe 5.0 x16", 64),
        (r"\bH800\b", "NVLink 4", 200),
        (r"\bH(?:100 80GB HBM3|100[ -]SXM|200|20)\b", "NVLink 4", 450),
        (r"\bB200\b", "NVLink 5", 900),
    )
)


def product_link(name: str) -> ProductLink | None:
    """Return the link of the GPU that the driver calls `name`; None where the product is not known."""
    return next((link for pattern, link in _PRODUCTS if pattern.search(name)), None)
