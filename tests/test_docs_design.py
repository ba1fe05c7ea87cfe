"""Numbers of docs/design.md that no other test holds: constants of the code, what libraries do, small sums."""

from __future__ import annotations

import inspect
import re
import time

import numpy as np
import pytest
import zstandard
from documents import ROOT, SPELLED, telling, words
from hostile_columns import _EVERY
from hostile_worker import LONGEST_S
from waitress.adjustments import Adjustments
from waitress.task import ThreadedTaskDispatcher

from dashboards.app import _YEAR_S
from gapfinder.analysis import slow_ranks, tracks
from gapfinder.analysis.host_time import CLOSE_CALLS_NS
from gapfinder.cli import run_report
from gapfinder.compare.history import change_points
from gapfinder.compare.reference import DEFAULT_RUNS
from gapfinder.explanations import Cause
from gapfinder.findings import speeds
from gapfinder.load.limits import DEFAULT_LIMITS
from gapfinder.render.difference import words as difference_words
from gapfinder.upload import client
from gapfinder.watch.rank_levels import _GATHER_NS, _ONE_IN

SKIPPED, FIVE = SPELLED[run_report._SKIPPED_STEPS], SPELLED[DEFAULT_RUNS]
SHARES = {1 / 3: "a third", 1 / 4: "a quarter", 1 / 2: "half", 3 / 4: "three quarters"}
MINUTES = {120: "two minutes"}
AGAIN = {1.5: "half as long again"}
OF_NORMAL = 1.4826  # a standard deviation in median absolute deviations
CLUSTER = (ROOT / "benchmarks" / "cluster.py").read_text(encoding="utf-8")
(ENOUGH,) = re.findall(r"^ENOUGH = ([0-9.]+)$", CLUSTER, re.MULTILINE)


def over_both(ratio: float) -> float:
    """How many times the other of two processes one takes that is so far over the mean of both."""
    return round(ratio / (2 - ratio), 9)


def first_of_two(faster: float) -> float:
    """What share of the time may be in the first of two processes where both together are so much faster than one."""
    return round(2 / faster - 1, 9)


TOLD = [
    ("docs/design.md", f"A window that skips the first {SKIPPED} steps would"),
    ("docs/design.md", f"{SKIPPED.capitalize()} more captured steps cost less"),
    ("docs/design.md", f"Ranges may have {SPELLED[DEFAULT_LIMITS.max_texts >> 20]} million texts of their own"),
    ("docs/design.md", f"every {({13: 'thirteenth'})[_EVERY]} of those that differ only in column and value"),
    ("docs/design.md", f"limits of processor time ({LONGEST_S} s for a command) and memory"),
    ("docs/design.md", f"prepares an operation in far less than {CLOSE_CALLS_NS // 1000} µs"),
    ("docs/design.md", f"where less than {SHARES[tracks._MOST]} agree nothing is matched"),
    ("docs/design.md", f"asks for {SHARES[speeds.SLOW_SHARE]} of a link that was given, but for"),
    ("docs/design.md", f"but for {SHARES[speeds.PROMISED_SHARE]} of one that was promised"),
    (
        "docs/design.md",
        (
            f"which no process is {100 * slow_ranks._OVER_OTHERS - 100:.0f} % over unless it takes "
            f"{AGAIN[over_both(slow_ranks._OVER_OTHERS)]} as the other"
        ),
    ),
    ("docs/design.md", f"A finding leads where it explains {SHARES[difference_words._EXPLAINS]} of the change"),
    ("docs/design.md", f"A baseline of {FIVE} runs is a better estimate than one"),
    ("docs/design.md", f"but {FIVE} values hold too little for a bootstrap"),
    (
        "docs/design.md",
        f"pulled in to {SPELLED[round(change_points._FURTHEST / OF_NORMAL)]} standard deviations",
    ),
    ("docs/design.md", f"{({0.001: 'One in a thousand'})[change_points._CHANCE]} is strict on purpose"),
    ("docs/design.md", f"on two CPUs it must stay below {SHARES[first_of_two(float(ENOUGH))]} of the time"),
    ("docs/design.md", f"connection within {SPELLED[client._CONNECTED_WITHIN_S]} seconds, the address is wrong"),
    (
        "docs/design.md",
        f"waits {inspect.signature(ThreadedTaskDispatcher.shutdown).parameters['timeout'].default} s for every thread",
    ),
    (
        "docs/design.md",
        (
            f"{({100: 'a hundred'})[Adjustments.connection_limit]} connections that never finish what they ask keep "
            f"everybody else out for {MINUTES[Adjustments.channel_timeout]}"
        ),
    ),
    ("docs/design.md", f"{({19: 'Nineteen'})[len(Cause)]} causes have more colours than"),
    ("docs/design.md", f"as colours alone would not tell {({19: 'nineteen'})[len(Cause)]}."),
    ("docs/design.md", f"are kept for {({365 * 86_400: 'a year'})[_YEAR_S]}."),
]


@telling(TOLD)
def test_the_design_tells_the_numbers_of_the_code(name, sentence):
    assert sentence in words(name)


def test_a_float_cannot_hold_the_time_of_day():
    (apart,) = re.findall(r"cannot tell wall-clock times ([0-9]+) ns apart", words("docs/design.md"))
    ((whole, told),) = re.findall(r"utcEpochNs has ([0-9]+) digits and a float64 ([0-9]+)\.", words("docs/design.md"))
    now = time.time_ns()
    assert np.spacing(float(now)) > int(apart)
    assert (len(str(now)), len(str(2 ** np.finfo(np.float64).nmant))) == (int(whole), int(told))


def test_drift_within_a_collective():
    ((ppm, ms, us),) = re.findall(
        r"([0-9]+) ppm of a collective of ([0-9]+) ms are ([0-9.]+) µs", words("docs/design.md")
    )
    assert int(ppm) * int(ms) / 1000 == float(us)


def test_how_much_smaller_archives_are():
    ((least, most, zeros_gb, zeros_mb),) = re.findall(
        r"exports unpack to ([0-9]+) to ([0-9]+) times their size, and ([0-9]+) GB of zeros fit into ([0-9.]+) MB",
        words("docs/design.md"),
    )
    compressor = zstandard.ZstdCompressor()
    part = bytes(10**8)
    assert f"{len(compressor.compress(part)) * (int(zeros_gb) * 10**9 / len(part)) / 10**6:.1f}" == zeros_mb
    for path in (*ROOT.glob("sample_profiles/*.sqlite"), *ROOT.glob("../shared/profiles/*.sqlite")):
        content = path.read_bytes()
        assert int(least) <= round(len(content) / len(compressor.compress(content))) <= int(most), path.name


def test_the_noise_of_medians_of_evenly_spread_times():
    assert f"**Means without the longest {({10: 'tenth'})[_ONE_IN]}**" in words("docs/design.md")
    assert "over half a second the noise of a median of evenly spread times is half as much again" in words(
        "docs/design.md"
    )
    steps = _GATHER_NS // 25_000_000  # steps of 25 ms in half a second
    lengths = np.sort(np.random.default_rng(1).random((20_000, steps)), axis=1)
    means = lengths[:, : steps - steps // _ONE_IN].mean(axis=1)
    assert np.median(lengths, axis=1).std() / means.std() == pytest.approx(1.5, abs=0.05)
