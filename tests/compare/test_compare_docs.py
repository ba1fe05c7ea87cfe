"""What documents say of checks and histories is what they do: verdicts, default limits, noise, spread, levels."""

from __future__ import annotations

import re
from math import sqrt

import numpy as np
import pytest
from documents import ROOT, telling, words
from snapshots import lane_of, snapshot_of, steps_of_ms

from gapfinder.analysis.kernel_totals import KERNELS_KEPT
from gapfinder.cli.app import commands
from gapfinder.compare import change, program, thresholds
from gapfinder.compare.history import change_points as points
from gapfinder.compare.history.change_points import change_points
from gapfinder.compare.history.results import SHORTEST_LEVEL
from gapfinder.compare.metrics import Scope, find_metric
from gapfinder.compare.noise import intervals
from gapfinder.compare.reference import DEFAULT_RUNS
from gapfinder.compare.samples import common_steps, sampled
from gapfinder.compare.verdict import EXIT_CODES, Outcome

FLOOR = 100 * thresholds.DEFAULT_FLOOR
LEAST = 100 * program.LEAST_COMMON
FACTOR = change._STUDENT[DEFAULT_RUNS - 3] * sqrt(1 + 1 / DEFAULT_RUNS)
CHANCE = {0.001: "one in a thousand"}
DEVIATIONS = {3: "three standard deviations"}
OF_NORMAL = 1.4826  # a standard deviation in median absolute deviations

TOLD = [
    *(("docs/check.md", f"| {outcome} | {EXIT_CODES[outcome]} |") for outcome in Outcome),
    ("README.md", f"The check ends with {EXIT_CODES[Outcome.PASS]} when nothing got worse than allowed"),
    ("README.md", f"{EXIT_CODES[Outcome.FAIL]} when something did, and {EXIT_CODES[Outcome.INCONCLUSIVE]} when that"),
    ("docs/check.md", "| int | {}, {} or {} |".format(*EXIT_CODES.values())),
    ("docs/ci.md", f"with exit code {EXIT_CODES[Outcome.INCONCLUSIVE]} when it cannot know"),
    ("docs/ci.md", f"look for exit code {EXIT_CODES[Outcome.FAIL]} or {EXIT_CODES[Outcome.INCONCLUSIVE]}."),
    (
        "docs/commands.md",
        (
            f"exit code is {EXIT_CODES[Outcome.PASS]} within the limits, {EXIT_CODES[Outcome.FAIL]} when something is "
            f"worse than allowed, and {EXIT_CODES[Outcome.INCONCLUSIVE]} when the question could not be answered"
        ),
    ),
    ("docs/check.md", f"counts only from {FLOOR:.0f} % of the baseline's step (of a ratio: {FLOOR:.0f} point) on"),
    ("docs/check.md", f"{DEFAULT_RUNS} of them unless `--history-runs` says otherwise"),
    ("docs/check.md", f"| 3 to {change.MOST_RUNS} | how much worse one more run would be"),
    ("docs/check.md", f"For {DEFAULT_RUNS} runs the factor is {FACTOR:.2f},"),
    ("docs/check.md", f"less than {LEAST:.0f} % of the time in compute kernels is in functions that both have"),
    ("docs/check.md", f"less than {LEAST:.0f} % of the collectives, in number as well as in time"),
    ("docs/commands.md", f"with at most N of them, 1 to {change.MOST_RUNS}; {DEFAULT_RUNS} when not given"),
    ("docs/history.md", f"at most {CHANCE[points._CHANCE]} shuffles of the same values"),
    ("docs/history.md", f"further than {DEVIATIONS[round(points._FURTHEST / OF_NORMAL, 9)]} from the median pulled in"),
    ("docs/history.md", f"a level has at least {SHORTEST_LEVEL} runs"),
    ("docs/diff.md", f"Each side keeps the {KERNELS_KEPT} kernels with most time"),
    ("docs/diff.md", f"may have been below the {KERNELS_KEPT} that are kept"),
]


@telling(TOLD)
def test_documents_tell_the_numbers_of_checks_and_histories(name, sentence):
    assert sentence in words(name)


def test_the_default_limits_are_those_that_are_shown():
    text = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"Without `--fail-on`, these are the limits:\n\n```\n(.*?)```", text, re.DOTALL)
    assert sorted(shown.split()) == sorted(limit.text for limit in thresholds.DEFAULT_LIMITS)
    points_told, percent = re.findall(
        r"allow overlap to fall by ([0-9]+) points and exposed and idle time to rise by ([0-9]+) %", words("docs/ci.md")
    )[0]
    changes = {limit.metric.name: limit.text.partition(":")[2] for limit in thresholds.DEFAULT_LIMITS}
    assert changes == {
        "overlap_ratio": f"-{points_told}pp",
        "exposed_ms_per_step": f"+{percent}%",
        "idle_ms_per_step": f"+{percent}%",
    }


def test_the_most_runs_are_those_that_the_option_takes():
    (option,) = (one for one in commands.commands["check"].params if one.name == "history_runs")
    assert (option.type.max, option.default) == (change.MOST_RUNS, DEFAULT_RUNS)


def test_what_the_spread_of_runs_lets_be_told():
    sentence = r"runs that vary by ([0-9]+) % let a change of ([0-9]+) % be told and one of ([0-9]+) % not"
    ((varying, told, hidden),) = re.findall(sentence, words("docs/check.md"))
    assert int(hidden) <= FACTOR * int(varying) < int(told)


def varying(seed: int, *, steps: int, percent: int, mean_ms: float):
    """Steps whose lengths have this standard deviation, and nothing else in them."""
    lengths = np.random.default_rng(seed).normal(mean_ms, mean_ms * percent / 100, steps)
    return snapshot_of(lane_of(steps_of_ms(*({"compute": length} for length in lengths.tolist()))))


def test_so_many_steps_see_such_a_change():
    sentence = r"([0-9]+) see a change of ([0-9]+) % where steps vary by ([0-9]+) %"
    ((steps, changed, percent),) = [map(int, found) for found in re.findall(sentence, words("docs/ci.md"))]
    metric = find_metric("step_p50")
    seen = 0
    for seed in range(20):
        sides = (
            varying(seed, steps=steps, percent=percent, mean_ms=100.0),
            varying(seed + 1000, steps=steps, percent=percent, mean_ms=100.0 + changed),
        )
        old, new = (sampled(metric, common_steps(side.lanes)) for side in sides)
        (interval,) = intervals(old, new, metric=metric, scope=Scope.TOTAL)
        seen += interval.low > 0
    assert seen >= 19


def test_about_so_many_runs_are_needed_before_a_change_can_be_told():
    (needed,) = re.findall(r"about ([0-9]+) runs are needed before any change", words("docs/history.md"))

    def is_told(runs: int) -> bool:
        values = [(10.0 if place < runs // 2 else 20.0) + place % 3 * 0.1 for place in range(runs)]
        return bool(change_points(values))

    assert [is_told(int(needed) + more) for more in (-2, 0, 1)] == [False, True, True]


@pytest.mark.parametrize("name", ["docs/check.md", "docs/json.md", "docs/diff.md", "docs/doctor.md"])
def test_each_json_tells_its_version(name):
    from gapfinder.cli.doctor_text import _SCHEMA_VERSION as DOCTOR
    from gapfinder.model import SCHEMA_VERSION
    from gapfinder.render.check.json_format import CHECK_SCHEMA_VERSION
    from gapfinder.render.difference.json_format import DIFFERENCE_VERSION

    versions = {"check": CHECK_SCHEMA_VERSION, "json": SCHEMA_VERSION, "diff": DIFFERENCE_VERSION, "doctor": DOCTOR}
    version = versions[name.removeprefix("docs/").removesuffix(".md")]
    assert re.findall(r"\| `schema_version` \| int \| ([0-9]+);", words(name)) == [str(version)]
