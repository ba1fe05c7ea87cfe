"""A real job of two ranks gives the same collectives split over two wrong clocks as it does in one report."""

from __future__ import annotations

from pathlib import Path

import pytest
from measured import with_collectives
from split_reports import WrongClock, split_report

from gapfinder.errors import InconclusiveError
from gapfinder.load import load_profile

REPORT = Path(__file__).parents[2] / ".." / "shared" / "profiles" / "job128_ranks_0_1.sqlite"
RIGHT, WRONG = WrongClock(), WrongClock(ahead_ns=123_456_789, drift_ppm=15)

pytestmark = pytest.mark.skipif(not REPORT.is_file(), reason="the real profiles are not here")


def taken_apart(folder: Path, *, clock: WrongClock, utc: bool = True):
    paths = split_report(REPORT, folder, clocks={4000: RIGHT, 4001: clock}, utc=utc)
    return with_collectives([load_profile(path) for path in paths])


def rows(frame):
    return frame.sort_values(["lane", "start", "stream"]).reset_index(drop=True)


@pytest.mark.parametrize("utc", [True, False])
def test_split_over_two_clocks_it_has_the_same_collectives(tmp_path, utc):
    _, together = with_collectives([load_profile(REPORT)])
    analysis, apart = taken_apart(tmp_path, clock=WRONG, utc=utc)
    together, apart = rows(together), rows(apart)
    assert together["is_matched"].sum() == 10
    assert apart["is_matched"].tolist() == together["is_matched"].tolist()
    assert apart["late_lane"].tolist() == together["late_lane"].tolist()
    _, residual = (clock.residual_ns for clock in analysis.clocks)
    for column in ("wait", "transfer"):
        assert (apart[column] - together[column]).abs().max() <= min(residual, 2_000)  # 15 ppm of 110 ms
    by_instance = apart[apart["is_matched"]].groupby("instance")["lane"].apply(sorted)
    assert by_instance.tolist() == [[0, 1]] * 5


@pytest.mark.parametrize("utc", [True, False])
def test_the_offset_is_found_within_the_residual(tmp_path, utc):
    analysis, frame = taken_apart(tmp_path, clock=WRONG, utc=utc)
    first, second = analysis.clocks
    assert (first.reference, second.reference) == ("process_4000.sqlite", "process_4000.sqlite")
    assert second.is_utc is utc
    shown = frame.loc[frame["is_matched"] & (frame["lane"] == 1), "end"]
    drifted = WRONG.ahead_ns + int(shown.median()) * WRONG.drift_ppm // 1_000_000
    assert abs(second.offset_ns - drifted) <= second.residual_ns


def test_reports_that_are_hours_apart_by_their_clocks_are_no_picture(tmp_path):
    with pytest.raises(InconclusiveError, match="are these reports of one run"):
        taken_apart(tmp_path, clock=WrongClock(ahead_ns=700_000_000))
