"""A real job of two ranks, split into two reports on clocks of their own, through the command: the same result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from split_reports import WrongClock, split_report

from gapfinder.cli.app import commands

REPORT = Path(__file__).parents[2] / ".." / "shared" / "profiles" / "job128_ranks_0_1.sqlite"
CLOCKS = {4000: WrongClock(), 4001: WrongClock(ahead_ns=123_456_789, drift_ppm=15)}
SAME = ("operation", "instances", "unmatched", "lanes", "late_lane")

pytestmark = pytest.mark.skipif(not REPORT.is_file(), reason="the real profiles are not here")


def analyzed(*reports: Path) -> dict:
    result = CliRunner().invoke(commands, ["analyze", *map(str, reports), "--format", "json", "--workers", "2"])
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def test_split_over_two_clocks_the_command_says_the_same_within_the_residual(tmp_path):
    together, apart = analyzed(REPORT), analyzed(*split_report(REPORT, tmp_path, clocks=CLOCKS))
    residual = max(clock["residual_ns"] for clock in apart["clocks"])
    assert residual > 0
    assert any(one["instances"] and not one["unmatched"] for one in together["collectives"])
    for one, other in zip(together["collectives"], apart["collectives"], strict=True):
        assert [one[name] for name in SAME] == [other[name] for name in SAME]
        for name in ("wait_ns", "transfer_ns"):
            assert (one[name] is None) == (other[name] is None)
            if one[name] is not None:
                assert abs(one[name] - other[name]) <= min(residual, 2_000) * one["instances"] * len(
                    one["lanes"]
                )  # 15 ppm of 110 ms
