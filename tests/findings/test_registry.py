"""Rules of plug-ins: found by entry point, sorted with the others, and never able to break a report."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints

import pytest
from analysis_values import MS
from findings_values import find, lost

from gapfinder.explanations import Cause, Finding, Severity
from gapfinder.findings import explained, registry
from gapfinder.findings.explain import explain
from gapfinder.findings.registry import PAGES


def my_rule(analysis):
    """Tell the number of lanes."""
    return Finding(
        code="my-rule",
        severity=Severity.CRITICAL,
        title="Mine",
        detail=f"{len(analysis.lanes)} lanes",
        advice="Change it.",
        lost_ns=900 * MS,
        share=0.45,
    )


def two_findings(analysis):
    return [my_rule(analysis), my_rule(analysis)]


def breaks(analysis):
    raise KeyError("no such thing")


def answers_nonsense(analysis):
    return ["not a finding"]


@pytest.fixture
def plugged_in(monkeypatch):
    def plug(**values):
        points = [EntryPoint(name, value, "gapfinder.rules") for name, value in values.items()]
        monkeypatch.setattr(registry, "entry_points", lambda *, group: EntryPoints(points).select(group=group))

    return plug


def test_a_plug_ins_findings_are_sorted_with_the_others(plugged_in):
    plugged_in(mine="test_registry:my_rule", more="test_registry:two_findings")
    findings = find(lost(Cause.DATA_LOADING))
    assert [finding.code for finding in findings] == ["my-rule"] * 3 + ["data-starved"]
    assert findings[0].detail == "2 lanes"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("test_registry:breaks", "KeyError: 'no such thing'"),
        ("test_registry:answers_nonsense", "TypeError: returned str, not Finding"),
        ("test_registry:is_not_there", "AttributeError"),
        ("no_such_package:rule", "ModuleNotFoundError"),
    ],
)
def test_a_broken_plug_in_is_a_note(plugged_in, value, words):
    plugged_in(broken=value, mine="test_registry:my_rule")
    analysis = lost(Cause.DATA_LOADING)
    told = explained(analysis)
    assert [finding.code for finding in told.findings] == ["my-rule", "data-starved"]
    (note,) = told.coverage.notes
    assert note.startswith(f"the rule broken ({value}) failed: ")
    assert words in note
    assert analysis.findings == ()


def test_without_plug_ins_nothing_but_the_findings_changes():
    analysis = lost(Cause.DATA_LOADING)
    told = explained(analysis)
    assert told.coverage == analysis.coverage
    assert [finding.code for finding in told.findings] == ["data-starved"]
    assert replace(told, findings=()) == analysis


def test_a_plug_in_explains_itself(plugged_in):
    plugged_in(mine="test_registry:my_rule")
    assert explain(["mine"]) == "## mine\n\nTell the number of lanes.\n"


def test_each_rule_is_in_a_file_of_its_name():
    names = {module.__name__.rpartition(".")[2] for module in registry._OWN}
    assert names == {code.replace("-", "_") for code in PAGES}
