"""What rules.md, meaning.md and design.md say of thresholds of causes and rules is what the code holds."""

from __future__ import annotations

import numpy as np
from documents import SPELLED, telling, words

from gapfinder.analysis import clock_lines, collectives, compare_hosts, host_time, kernel_totals, slow_ranks, stragglers
from gapfinder.analysis import totals as analysis_totals
from gapfinder.findings import copied, exposed, lost, speeds
from gapfinder.findings.rules import step_time_drift

HALF = {0.5: "half"}
QUARTER = {0.25: "a quarter"}
TWICE = {2.0: "twice"}
TENTH = {0.9: "the fastest tenth"}
MOST = {0.5: "more than half"}
OVER = f"{100 * stragglers._OVER_MEDIAN - 100:.0f} %"
SHARE_OF_STEP = f"{100 * slow_ranks._SHARE_OF_STEP:.0f} %"
CLOCK = f"{100 - 100 * stragglers._LOWER_CLOCK:.0f} %"
CLOSE_US = host_time.CLOSE_CALLS_NS // 1000

TOLD = [
    ("docs/rules.md", f"a process takes {100 * slow_ranks._OVER_OTHERS - 100:.0f} % longer than the others of its job"),
    ("docs/meaning.md", f"explains at least {HALF[stragglers._MOST]} of the longer compute"),
    ("docs/meaning.md", f"Every name above {100 * analysis_totals._NOTEWORTHY_SHARE:.0f} % of kernel time"),
    ("docs/meaning.md", f"is {100 * slow_ranks._OVER_OTHERS - 100:.0f} % over that of the other processes of its job"),
    ("docs/meaning.md", f"and over it by {SHARE_OF_STEP} of the step"),
    ("docs/meaning.md", f"take {TWICE[compare_hosts.SLOW_TRANSFER]} as long with it as between hosts without it"),
    ("docs/meaning.md", f"with {SPELLED[compare_hosts._FEWEST_PEERS]} different groups of other hosts at least"),
    ("docs/meaning.md", f"is a host whose lanes, {SPELLED[compare_hosts._FEWEST_LANES]} or more,"),
    ("docs/rules.md", f"take {TWICE[compare_hosts.SLOW_TRANSFER]} as long as the same transfers"),
    ("docs/rules.md", f"Needs {SPELLED[compare_hosts._FEWEST_PEERS]} groups of other hosts or more"),
    ("docs/rules.md", f"Needs {SPELLED[compare_hosts._FEWEST_LANES]} lanes or more on the host"),
    ("docs/rules.md", f"Needs {SPELLED[stragglers._FEWEST_LANES]} lanes or more. Where all lanes"),
    ("docs/rules.md", f"more than {TWICE[1 / speeds.SLOW_SHARE]} its ideal time"),
    ("docs/rules.md", f"less than {HALF[speeds.SLOW_SHARE]} of what the same operation reaches"),
    ("docs/rules.md", f"mostly less than {HALF[speeds.SLOW_SHARE]} of its own best"),
    ("docs/rules.md", f"of that {QUARTER[speeds.PROMISED_SHARE]} is enough"),
    (
        "docs/rules.md",
        f"Its own best is {TENTH[collectives._FASTEST]} of {collectives._FEWEST_ALIKE} or more instances",
    ),
    ("docs/rules.md", f"if its clock is {CLOCK} or more under the median and explains {HALF[stragglers._MOST]} of it"),
    ("docs/rules.md", f"Over {SPELLED[exposed._FEWEST_STEPS]} or more common steps the slowest lane"),
    ("docs/rules.md", f"no lane is the slowest in {MOST[exposed._MOST_STEPS]} of them"),
    ("docs/rules.md", f"start in its later {HALF[exposed.LATE_START]} or run on after it"),
    (
        "docs/rules.md",
        f"runs {exposed.MANY_A_STEP} times a step or more ({exposed.MANY_AT_ALL} times where no steps are known)",
    ),
    ("docs/rules.md", f"With {SPELLED[step_time_drift._FEWEST_STEPS]} or more complete steps: the median step"),
    ("docs/rules.md", f"Under {100 * lost.MENTIONED_SHARE:.1f} % a rule is silent"),
    ("docs/rules.md", f"where the calls take {100 * lost.MENTIONED_SHARE:.1f} % of the time without leaving holes"),
    (
        "docs/rules.md",
        f"copies that are not pageable host-to-device ones, on lanes that copy {copied.OFFLOAD_BYTES >> 20}",
    ),
    ("docs/rules.md", f"made no CUDA call for more than {CLOSE_US} µs at a time"),
    ("docs/rules.md", f"between two calls less than {CLOSE_US} µs apart, and in nothing else"),
    ("docs/json.md", f"the {kernel_totals.KERNELS_KEPT} kernel names with most time, most first"),
    (
        "docs/json.md",
        (
            f"{TENTH[collectives._FASTEST]}, of instances alike in size; null with fewer than "
            f"{collectives._FEWEST_ALIKE} |"
        ),
    ),
    ("docs/json.md", f"lanes that are {OVER} over the median in most steps"),
    ("docs/design.md", f"the time between two of them at most {CLOSE_US} µs apart, are"),
    ("docs/design.md", f"count as one busy thread ({CLOSE_US} µs)"),
    ("docs/design.md", f"with the median lane's, {OVER} over it"),
    ("docs/design.md", f"it must be {SHARE_OF_STEP} of the step as well"),
]


@telling(TOLD)
def test_documents_tell_the_thresholds_of_the_rules(name, sentence):
    assert sentence in words(name)


def test_the_residual_is_of_as_many_collectives_as_is_told():
    distances = range(101)
    usual = clock_lines.usual_distance(np.array(distances))
    within = sum(distance < usual for distance in distances)
    assert f"**residual** of a host: {within} % of its collectives end no further" in words("docs/meaning.md")
    assert f"| int or null | {within} % of the common collectives end no further apart" in words("docs/json.md")
