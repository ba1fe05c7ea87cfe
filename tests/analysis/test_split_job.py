"""A real job of two ranks gives the same collectives split over two wrong clocks as it does in one report."""

from __future__ import annotations

import pytest
from profiles import PROFILES
from split_reports import WrongClock, split_report

from gapfinder.analysis import analyze_collectives
from gapfinder.errors import InconclusiveError
from gapfinder.load import load_profile

JOB = "job128_ranks_0_1.sqlite"
