"""Every report of a check says the verdict, and no name in it can be markup, a command or a second element."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from snapshots import USUAL, finding_total, lane_of, simulated, snapshot_of, steps_of_ms

from gapfinder.compare.check import check
from gapfinder.compare.metrics import METRICS
from gapfinder.compare.thresholds import DEFAULT_LIMITS, parse_limits
from gapfinder.compare.verdict import EXIT_CODES, Judgement, Outcome
from gapfinder.render.check import CHECK_RENDERERS

HOSTILE = "\x1b[31m<b>&\"'\n::error::x%0A\u202e\ud800|`_]]>"
DOCUMENT = Path(__file__).parents[2] / "docs" / "check.md"


def passing():
    return check(simulated(seed=1), simulated(seed=2))


def failing():
    broken = replace(
        simulated(seed=1, hidden=2, exposed=40, idle=1),
        findings=(finding_total("overlap-broken", lost_ms=90, share=0.3),),
    )
    return check(broken, simulated(seed=2), limits=(*DEFAULT_LIMITS, *parse_limits(["idle_ms_per_step@every:+10%"])))


def inconclusive():
    return check(replace(simulated(seed=1), step_range=(1, 9)), simulated(seed=2))


def unknown():
    return check(simulated(seed=1, steps=3), simulated(seed=2, steps=3))


def hostile():
    step = {**USUAL, "exposed": 60}
    lane = replace(lane_of(steps_of_ms(*[step] * 6)), label=HOSTILE)
    bad = replace(finding_total("overlap-broken", lost_ms=9), title=HOSTILE)
    old = replace(snapshot_of(lane_of(steps_of_ms(*[USUAL] * 6))), commit=HOSTILE, nsys_version=HOSTILE)
    return check(
        snapshot_of(lane, digest="new", findings=(bad,)), old, limits=parse_limits(["exposed_ms_per_step@every:+10%"])
    )


VERDICTS = {made.__name__: made for made in (passing, failing, inconclusive, unknown, hostile)}


@pytest.mark.parametrize("form", CHECK_RENDERERS)
@pytest.mark.parametrize("name", VERDICTS)
def test_every_report_is_the_same_each_time_and_holds_no_control_character(form, name):
    text = CHECK_RENDERERS[form](VERDICTS[name]())
    assert text == CHECK_RENDERERS[form](VERDICTS[name]())
    assert text.endswith("\n")
    assert all(character.isprintable() or character == "\n" for character in text)


def one_line(verdict, form):
    return " ".join(CHECK_RENDERERS[form](verdict).replace("\\", "").split())


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_reports_for_people_say_every_sentence(form):
    for made, word in ((passing, "PASS"), (failing, "FAIL"), (inconclusive, "INCONCLUSIVE"), (unknown, "INCONCLUSIVE")):
        verdict = made()
        report = one_line(verdict, form)
        assert word in report
        sentences = [one.sentence.removesuffix(one.explanation) for one in verdict.judgements]
        sentences += [*verdict.reasons, *verdict.notes]
        assert sentences
        assert [sentence for sentence in sentences if " ".join(sentence.split()) not in report] == []


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_what_explains_several_breaches_is_said_once(form):
    verdict = failing()
    breaches = [one for one in verdict.breaches if one.finding == "overlap-broken"]
    (explanation,) = {one.explanation for one in breaches}
    assert explanation == ": overlap-broken (About overlap-broken; 30.0 % of all time, new since the baseline)"
    report = one_line(verdict, form)
    assert report.count(explanation) == 1
    assert report.count("would be allowed: overlap-broken, as above") == len(breaches) - 1 > 0
    assert report.index(explanation) < report.index("as above")


def test_text_is_at_most_100_columns_wide():
    assert max(map(len, CHECK_RENDERERS["text"](failing()).splitlines())) <= 100


def test_no_markup_comes_from_a_name():
    report = CHECK_RENDERERS["markdown"](hostile())
    assert "\\<b\\>" in report
    assert re.search(r"(?<!\\)<b>", report) is None
    assert all(line.startswith(("#", "- ")) or not line for line in report.splitlines())


def unescaped(text: str) -> str:
    return text.replace("%0A", "\n").replace("%0D", "\r").replace("%3A", ":").replace("%2C", ",").replace("%25", "%")


COMMAND = re.compile(r"::(error|notice) title=([^:,\n]*)::(.*)")


@pytest.mark.parametrize("name", VERDICTS)
def test_annotations_are_one_command_a_line(name):
    verdict = VERDICTS[name]()
    lines = CHECK_RENDERERS["github"](verdict).splitlines()
    commands = [COMMAND.fullmatch(line) for line in lines]
    assert all(commands)
    kinds = [command[1] for command in commands]
    assert kinds.count("error") == len(verdict.breaches) + len(verdict.unknown)
    assert (kinds.count("error") == 0) == (verdict.outcome is Outcome.PASS)
    told = [unescaped(command[3]) for command in commands]
    assert [one.sentence for one in verdict.breaches if one.sentence in told] == (
        [] if name == "hostile" else [one.sentence for one in verdict.breaches]
    )


# What JUnit.xsd of windyroad/JUnit-Schema (commit 2378e66, the reports of Ant as Jenkins reads them) asks of each element:
# its children in their order, its attributes with their types (those that may be missing end in "?"), and its text.
WHOLE = r"[+-]?[0-9]+"
DECIMAL = r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)"
MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
STRING = r"(?s:.*)"
TOKEN = r"([^\s]+( [^\s]+)*)?"  # noqa: S105 (no password)
NOT_EMPTY = r"[^\s]+( [^\s]+)*"
FAULT = ("", {"message?": STRING, "type": STRING}, STRING)
SCHEMA = {
    "testsuites": (r"(testsuite )*", {}, r"\s*"),
    "testsuite": (
        r"properties (testcase )*system-out system-err ",
        {
            "name": NOT_EMPTY,
            "timestamp": MOMENT,
            "hostname": NOT_EMPTY,
            "tests": WHOLE,
            "failures": WHOLE,
            "errors": WHOLE,
            "skipped?": WHOLE,
            "time": DECIMAL,
            "package": TOKEN,
            "id": WHOLE,
        },
        r"\s*",
    ),
    "properties": (r"(property )*", {}, r"\s*"),
    "property": ("", {"name": NOT_EMPTY, "value": STRING}, ""),
    "testcase": (r"(skipped |error |failure )?", {"name": TOKEN, "classname": TOKEN, "time": DECIMAL}, r"\s*"),
    "error": FAULT,
    "failure": FAULT,
    "system-out": ("", {}, STRING),
    "system-err": ("", {}, STRING),
}


def broken_rules(element: ET.Element) -> list[str]:
    """Every rule of the schema that an element or one below it breaks."""
    order, attributes, text = SCHEMA[element.tag]
    children = "".join(f"{child.tag} " for child in element)
    wrong = [] if re.fullmatch(order, children) else [f"{element.tag} has {children}"]
    needed = {name for name in attributes if not name.endswith("?")}
    wrong += [f"{element.tag} has no {name}" for name in needed - set(element.attrib)]
    types = {name.rstrip("?"): kind for name, kind in attributes.items()}
    wrong += [
        f"{element.tag} has {name}={value!r}"
        for name, value in element.attrib.items()
        if not re.fullmatch(types.get(name, "(?!)"), value)
    ]
    if not re.fullmatch(text, element.text or "") or any((child.tail or "").strip() for child in element):
        wrong.append(f"{element.tag} has text")
    return wrong + [rule for child in element for rule in broken_rules(child)]


@pytest.mark.parametrize("name", VERDICTS)
def test_junit_keeps_the_rules_of_its_schema(name):
    verdict = VERDICTS[name]()
    root = ET.fromstring(CHECK_RENDERERS["junit"](verdict))  # noqa: S314 (made here)
    assert broken_rules(root) == []
    (suite,) = root
    cases = suite.findall("testcase")
    assert int(suite.get("tests")) == len(cases) == len(verdict.judgements) + len(verdict.reasons)
    assert int(suite.get("failures")) == len(suite.findall(".//failure")) == len(verdict.breaches)
    assert int(suite.get("errors")) == len(suite.findall(".//error")) == len(verdict.unknown)
    assert suite.get("timestamp") == "2026-03-02T10:00:00"  # of the candidate


def test_the_time_in_junit_is_utc_without_a_zone():
    verdict = replace(passing(), created="2026-03-02T23:30:00-02:00")
    assert ET.fromstring(CHECK_RENDERERS["junit"](verdict))[0].get("timestamp") == "2026-03-03T01:30:00"  # noqa: S314


SPOILED = {
    "no system-out": lambda suite: suite.remove(suite.find("system-out")),
    "no host": lambda suite: suite.attrib.pop("hostname"),
    "a time with a zone": lambda suite: suite.set("timestamp", "2026-03-02T10:00:00+00:00"),
    "no number": lambda suite: suite.set("tests", "many"),
    "an attribute that is not there": lambda suite: suite.set("file", "x"),
    "two faults": lambda suite: suite.find("testcase").extend(
        [ET.Element("error", type="a"), ET.Element("error", type="b")]
    ),
    "a fault without a type": lambda suite: suite.find(".//failure").attrib.pop("type"),
    "a case after the output": lambda suite: suite.append(ET.Element("testcase", name="a", classname="b", time="0")),
    "text between": lambda suite: setattr(suite, "text", "x"),
}


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
def test_a_wrong_junit_file_would_be_seen(spoil):
    root = ET.fromstring(CHECK_RENDERERS["junit"](failing()))  # noqa: S314 (made here)
    spoil(root[0])
    assert broken_rules(root)


def test_json_holds_what_was_measured():
    verdict = failing()
    document = json.loads(CHECK_RENDERERS["json"](verdict))
    assert (document["verdict"], document["exit_code"]) == ("fail", 1)
    assert [one["limit"] for one in document["limits"]] == [one.limit for one in verdict.judgements]
    breach = next(one for one in document["limits"] if one["result"] == "breached")
    assert (breach["finding"], breach["unit"], breach["old_steps"]) == ("overlap-broken", "ratio", 20)
    assert breach["new"] < breach["old"] - breach["allowed"]
    assert breach["noise_low"] <= breach["new"] - breach["old"] <= breach["noise_high"] < 0


def keys(value: object, path: str = "") -> set[str]:
    if isinstance(value, list):
        return set().union(*(keys(item, f"{path}[]") for item in value))
    if not isinstance(value, dict):
        return set()
    places = {key: f"{path}.{key}" if path else key for key in value}
    return set(places.values()).union(*(keys(value[key], place) for key, place in places.items()))


def test_every_json_name_metric_and_default_limit_is_described():
    text = DOCUMENT.read_text(encoding="utf-8")
    rows = {line.split("`")[1] for line in text.partition("## JSON")[2].splitlines() if line.startswith("| `")}
    assert rows == keys(json.loads(CHECK_RENDERERS["json"](failing())))
    assert {f"limits[].{field.name}" for field in fields(Judgement)} <= rows
    assert [name for name in METRICS if f"| `{name}` |" not in text] == []
    assert [limit.text for limit in DEFAULT_LIMITS if limit.text not in text] == []
    assert [outcome for outcome, code in EXIT_CODES.items() if f"| {outcome} | {code} |" not in text] == []
