"""A check's report as JUnit XML: one test case for each limit, in the form that the schema of Ant's reports wants."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from gapfinder.compare.verdict import Judgement, Result
from gapfinder.errors import visible

if TYPE_CHECKING:
    from gapfinder.compare.verdict import Verdict

_CLASS = "gapfinder.check"
# The schema asks for both; a check has no duration worth telling, and no host belongs in a report.
_FIXED = {"time": "0", "hostname": "localhost"}


def render_check_junit(verdict: Verdict) -> str:
    """Return the report as JUnit XML: a breach is a failure, and what could not be answered an error."""
    cases = [_case(one) for one in verdict.judgements]
    cases += [_error("comparable", reason) for reason in verdict.reasons]
    counts = {
        "tests": str(len(cases)),
        "failures": str(sum(case.find("failure") is not None for case in cases)),
        "errors": str(sum(case.find("error") is not None for case in cases)),
    }
    suites = ET.Element("testsuites")
    # in UTC: the schema wants it without a zone
    measured = {"timestamp": datetime.fromisoformat(verdict.created).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")}
    facts = {"name": _CLASS, "id": "0", "package": "gapfinder", **measured, **counts, **_FIXED}
    suite = ET.SubElement(suites, "testsuite", facts)
    ET.SubElement(suite, "properties")
    suite.extend(cases)
    ET.SubElement(suite, "system-out").text = _text("\n".join(verdict.notes))
    ET.SubElement(suite, "system-err")
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}\n'


def _case(judgement: Judgement) -> ET.Element:
    name = judgement.limit if judgement.lane is None else f"{judgement.limit} [{judgement.lane}]"
    if judgement.result is Result.UNKNOWN:
        return _error(name, judgement.sentence)
    case = _element(name)
    if judgement.result is Result.BREACHED:
        failure = ET.SubElement(case, "failure", {"message": _text(judgement.sentence), "type": "regression"})
        failure.text = _text(judgement.sentence)
    return case


def _error(name: str, message: str) -> ET.Element:
    case = _element(name)
    ET.SubElement(case, "error", {"message": _text(message), "type": "inconclusive"}).text = _text(message)
    return case


def _element(name: str) -> ET.Element:
    return ET.Element("testcase", {"classname": _CLASS, "name": visible(name), "time": _FIXED["time"]})


def _text(text: str) -> str:
    """Return text without the characters that XML has no way to write."""
    return "\n".join(map(visible, text.split("\n")))
