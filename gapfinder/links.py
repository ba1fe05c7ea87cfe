"""What links GPUs to each other: as given, else as the datasheets of known products say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from gapfinder.units import BYTES_PER_GB


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
# A100 SXM 600, H100, H200 and H20 SXM 900, A800 and H800 SXM 400, B200 1,800; cards with 16 lanes of PCIe 3.0 32, of
# 4.0 64. The whole name must match, as the driver reports it: a slice (MIG) or a virtual GPU has another link than its
# card. Cards that NVLink bridges may join or not (A30, A100, A800, H100 and H800 PCIe, H100 and H200 NVL) are left out.
_PRODUCTS = tuple(
    (
        re.compile(rf"(?:NVIDIA |Tesla )?(?:{pattern})", re.IGNORECASE),
        ProductLink(kind, float(gigabytes * BYTES_PER_GB)),
    )
    for pattern, kind, gigabytes in (
        (r"V100-SXM[23]-\d+GB", "NVLink 2", 150),
        (r"V100S?-PCIE-\d+GB", "PCIe 3.0 x16", 16),
        (r"T4", "PCIe 3.0 x16", 16),
        (r"A800-SXM4-\d+GB", "NVLink 3", 200),
        (r"A100-SXM4-\d+GB", "NVLink 3", 300),
        (r"A10|L4|L40|L40S", "PCIe 4.0 x16", 32),
        (r"H800", "NVLink 4", 200),
        (r"H100 80GB HBM3|H200|H20", "NVLink 4", 450),
        (r"B200", "NVLink 5", 900),
    )
)


def product_link(name: str) -> ProductLink | None:
    """Return the link of the GPU that the driver calls `name`; None where it is not certainly known."""
    return next((link for pattern, link in _PRODUCTS if pattern.fullmatch(name.strip())), None)
