"""The link is that of known products on one host, else it is not known and the reason is said."""

from __future__ import annotations

import pytest
from analysis_values import budget, lane

from gapfinder.analysis.link import find_link
from gapfinder.links import LinkSource

H100, A100 = "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"


def lanes(*names: str | None):
    return [lane(budget(compute=1), pid=number, gpu_name=name) for number, name in enumerate(names)]


@pytest.mark.parametrize(
    ("names", "machines", "reason"),
    [
        ((H100,), [(0, 1)], "one lane alone"),
        ((H100, H100), [(0, 1), (1, 1)], "the reports may be of several hosts"),
        ((H100, H100), [(0, 1), (0, 2)], "the reports may be of several hosts"),
        ((H100, None), [(0, 1), (0, 1)], "do not name the GPUs"),
        ((H100, "Voodoo 2"), [(0, 1), (0, 1)], "the name 'Voodoo 2' does not tell it"),
    ],
)
def test_what_is_not_certain_is_not_detected(names, machines, reason):
    link = find_link(None, lanes=lanes(*names), machines=machines)
    assert (link.bandwidth, link.source) == (None, LinkSource.UNKNOWN)
    assert reason in link.reason
    assert "--link-bandwidth" in link.reason


def test_lanes_on_one_gpu_have_no_link():
    both = [lane(budget(compute=1), pid=number, gpu_name=H100, shares_gpu_with=(1 - number,)) for number in range(2)]
    link = find_link(None, lanes=both, machines=[(0, 1), (0, 1)])
    assert (link.bandwidth, link.source) == (None, LinkSource.UNKNOWN)
    assert "share a GPU" in link.reason


def test_the_slowest_of_several_products_counts():
    link = find_link(None, lanes=lanes(H100, A100), machines=[(0, 1), (0, 1)])
    assert (link.bandwidth, link.source) == (300e9, LinkSource.DETECTED)
    assert "300.0 GB/s of NVLink 3" in link.reason
    assert "it was not measured" in link.reason


def test_what_is_given_counts_whatever_the_names():
    link = find_link(25e9, lanes=lanes(H100, H100), machines=[(0, 1), (1, 1)])
    assert (link.bandwidth, link.source) == (25e9, LinkSource.GIVEN)
