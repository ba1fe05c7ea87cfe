"""The grammar of limits: what each means, and that a limit the wrong way round is refused."""

from __future__ import annotations

import pytest
from analysis_values import MS

from gapfinder.compare.metrics import METRICS, Scope, Unit
from gapfinder.compare.thresholds import DEFAULT_LIMITS, Absolute, Relative, parse_limit
from gapfinder.errors import InputError
from gapfinder.findings.registry import PAGES


@pytest.mark.parametrize(
    ("text", "metric", "scope", "sign", "value"),
    [
        ("overlap_ratio<0.7", "overlap_ratio", Scope.TOTAL, "<", 0.7),
        (" overlap_ratio@worst <= 70 % ", "overlap_ratio", Scope.WORST, "<=", 0.7),
        ("idle_share>10%", "idle_share", Scope.TOTAL, ">", 0.1),
        ("step_p99@every>=1.5s", "step_p99", Scope.EVERY, ">=", 1_500 * MS),
    ],
)
def test_absolute_limits(text, metric, scope, sign, value):
    limit = parse_limit(text)
    assert isinstance(limit, Absolute)
    assert (limit.metric.name, limit.scope, limit.sign, limit.value) == (metric, scope, sign, value)


def test_an_absolute_limit_is_breached_when_it_is_true():
    assert [parse_limit("idle_share>10%").is_breached_by(value) for value in (0.09, 0.1, 0.11)] == [False, False, True]
    assert [parse_limit("idle_share>=10%").is_breached_by(value) for value in (0.09, 0.1, 0.11)] == [False, True, True]
    assert [parse_limit("busy_share<0.5").is_breached_by(value) for value in (0.4, 0.5, 0.6)] == [True, False, False]


@pytest.mark.parametrize(
    ("text", "old", "allowed"),
    [
        ("overlap_ratio:-5pp", 0.8, 0.05),
        ("overlap_ratio:-5%", 0.8, 0.04),
        ("overlap_ratio:-1%", 0.5, 0.01),  # the floor: 1 point
        ("overlap_ratio:-1%,0pp", 0.5, 0.005),
        ("exposed_ms_per_step:+10%", 20 * MS, 2 * MS),
        ("exposed_ms_per_step:+10%", 5 * MS, 1 * MS),  # the floor: 1 % of a step of 100 ms
        ("exposed_ms_per_step:+10%,+3ms", 20 * MS, 3 * MS),
        ("exposed_ms_per_step:+10%,0ms", 5 * MS, 0.5 * MS),
        ("exposed_ms_per_step:+10%", 0, 1 * MS),  # P101: a zero baseline
        ("exposed_ms_per_step:+2ms", 5 * MS, 2 * MS),
        ("step_p50:+0.5%", 100 * MS, 0.5 * MS),  # a step is no part of a step
        ("idle_share:+2pp", 0.0, 0.02),
    ],
)
def test_what_a_relative_limit_allows(text, old, allowed):
    limit = parse_limit(text)
    assert isinstance(limit, Relative)
    assert limit.allowed(old, step_ns=100 * MS) == pytest.approx(allowed)


WRONG = {
    "": "not a limit",
    "overlap_ratio": "not a limit",
    "overlap_ratio=0.7": "not a limit",
    "overlap_ratoi<0.7": "no metric 'overlap_ratoi'; there are overlap_ratio, exposed_share",
    "overlap_ratio@best<0.7": "no scope 'best'; there are total, worst, every",
    "overlap_ratio>0.7": "higher is better; write overlap_ratio<",
    "idle_share<10%": "lower is better; write idle_share>",
    "overlap_ratio:+5pp": "higher is better, so only the other direction can be limited; write -5pp",
    "exposed_ms_per_step:-10%": "lower is better, so only the other direction can be limited; write +10%",
    "overlap_ratio<70": "not a ratio",
    "overlap_ratio<5ms": "not a ratio",
    "step_p50>100": "not a duration",
    "step_p50:+5pp": "not a duration",
    "overlap_ratio:-0.05": "write points, such as 5pp",
    "overlap_ratio:-200pp": "not a ratio",
    "step_p50:+x%": "not a percentage",
    "step_p50:+1e3%": "not a percentage",
    "overlap_ratio:-5pp,1pp": "belongs to a change in %",
    "step_p50:+5%,1": "not a duration",
    "step_p50:++5%": "not a percentage",
    "overlap_ratio:5pp": "not a limit",
}


@pytest.mark.parametrize(("text", "told"), WRONG.items(), ids=WRONG)
def test_what_is_no_limit_is_refused_with_what_to_write(text, told):
    with pytest.raises(InputError, match="limit") as raised:
        parse_limit(text)
    assert told in str(raised.value)


def test_p103_every_metric_knows_its_direction():
    better_when_higher = {name for name, metric in METRICS.items() if metric.higher_is_better}
    assert better_when_higher == {"overlap_ratio", "busy_share"}


def test_the_default_limits_are_those_of_the_issue():
    texts = [limit.text for limit in DEFAULT_LIMITS if limit.scope is Scope.TOTAL]
    assert texts == ["overlap_ratio:-5pp", "exposed_ms_per_step:+10%", "idle_ms_per_step:+10%"]
    assert {limit.scope for limit in DEFAULT_LIMITS} == {Scope.TOTAL, Scope.WORST}


def test_findings_that_explain_a_metric_exist():
    codes = set().union(*(metric.explained_by or () for metric in METRICS.values()))
    assert codes
    assert codes - PAGES.keys() == set()
    assert {metric.unit for metric in METRICS.values()} == set(Unit)
