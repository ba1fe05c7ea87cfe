"""Pitfalls of telling: what must always be said, and what must not be claimed."""

from __future__ import annotations

import pytest
from profiles import NCCL, K, profile

from gapfinder.analysis import analyze
from gapfinder.render import render_html, render_markdown, render_text


@pytest.mark.parametrize("render", [render_text, render_markdown, render_html])
def test_p47_p48_exposed_communication_is_always_told_and_never_called_blocking(render) -> None:
    """Half hidden is neither bad nor good enough for other tools to say anything."""
    analysis = analyze([profile(K(0, 1_000_000), K(500_000, 1_500_000, NCCL, stream=9), K(1_500_000, 2_000_000))])
    report = " ".join(render(analysis).split())
    assert "25.0 % was exposed communication" in report
    assert "50.0 % of the communication was hidden" in report
    assert "blocking" not in report.lower()
