"""Products are known by the names that drivers report, and what is not certainly known is not known."""

from __future__ import annotations

import pytest

from gapfinder.links import product_link

GB = 1e9


@pytest.mark.parametrize(
    ("name", "kind", "bandwidth"),
    [
        ("Tesla V100-SXM2-16GB", "NVLink 2", 150),
        ("Tesla V100-SXM3-32GB", "NVLink 2", 150),
        ("Tesla V100-PCIE-32GB", "PCIe 3.0 x16", 16),
        ("Tesla T4", "PCIe 3.0 x16", 16),
        ("NVIDIA A100-SXM4-80GB", "NVLink 3", 300),
        ("A100-SXM4-40GB", "NVLink 3", 300),
        ("NVIDIA A800-SXM4-80GB", "NVLink 3", 200),
        ("NVIDIA L40S", "PCIe 4.0 x16", 32),
        ("NVIDIA H100 80GB HBM3", "NVLink 4", 450),
        ("NVIDIA H200", "NVLink 4", 450),
        ("NVIDIA H20", "NVLink 4", 450),
        ("NVIDIA H800", "NVLink 4", 200),
        ("NVIDIA L4", "PCIe 4.0 x16", 32),
        ("Tesla V100S-PCIE-32GB", "PCIe 3.0 x16", 16),
        ("NVIDIA B200", "NVLink 5", 900),
    ],
)
def test_known_products(name, kind, bandwidth):
    link = product_link(name)
    assert (link.kind, link.bandwidth) == (kind, bandwidth * GB)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "GPU",
        "NVIDIA GeForce RTX 4090",
        "NVIDIA A100X",
        "NVIDIA T400",
        "NVIDIA GB200",
        "NVIDIA GH200 480GB",
        "NVIDIA H100 NVL72",
        "AMD MI300X",
        "NVIDIA A10G",
        "NVIDIA A800 40GB Active",
    ],
)
def test_others_are_not_known(name):
    assert product_link(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA A30",
        "NVIDIA A100-PCIE-40GB",
        "NVIDIA A100 80GB PCIe",
        "NVIDIA A800 80GB PCIe",
        "NVIDIA H100 PCIe",
        "NVIDIA H100 NVL",
        "NVIDIA H200 NVL",
        "NVIDIA H800 PCIe",
        "NVIDIA H800 NVL",
    ],
)
def test_a_bridge_may_join_these_or_not(name):
    assert product_link(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb",
        "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
        "MIG 1g.10gb",
        "GRID T4-16Q",
        "NVIDIA L40S-48C",
        "NVIDIA A10-24Q",
    ],
)
def test_a_part_of_a_gpu_has_another_link_than_the_gpu(name):
    assert product_link(name) is None
