"""Every command, option, exit code, settings key, JSON name and column is in docs/."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path

import analyses
import click
import pytest
from click.testing import CliRunner
from databases import Copy, Graph, Kernel, nsys_database

from gapfinder import errors
from gapfinder.analysis import analyze
from gapfinder.cli.app import SECTIONS, commands
from gapfinder.explanations import Cause
from gapfinder.findings.faults import FAULTS
from gapfinder.findings.registry import PAGES
from gapfinder.load import load_profile
from gapfinder.processes import Phase
from gapfinder.render import render_json
from gapfinder.settings import SETTINGS_KEYS, CountCopies, Settings

DOCS = Path(__file__).parents[1] / "docs"


def document(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def options(command: click.Command) -> list[str]:
    """The options of a command and of the commands below it."""
    found = [name for option in command.params if isinstance(option, click.Option) for name in option.opts]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found += options(command.get_command(context, name))
    return found


@pytest.mark.parametrize("name", sorted(commands.commands))
def test_every_command_and_option_is_described(name):
    _, heading, rest = document("commands.md").partition(f"## gapfinder {name}\n")
    section = rest.partition("\n## ")[0]
    assert heading
    assert [option for option in options(commands.commands[name]) if f"`{option}" not in section] == []


def test_no_option_is_described_that_is_not_there():
    known = {option for command in commands.commands.values() for option in options(command)} | {"--version", "--help"}
    rows = [line.split("`")[1] for line in document("commands.md").splitlines() if line.startswith("| `--")]
    assert rows
    assert [row for row in rows if row.split()[0].rstrip(",") not in known] == []


def test_every_choice_and_settings_key_is_described():
    text = document("config.md")
    assert [key for key in SETTINGS_KEYS if f"| `{key}` |" not in text] == []
    assert [choice for choice in CountCopies if f"`{choice}`" not in text] == []


def test_every_exit_code_is_described():
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    codes = {0} | {value.exit_code for value in classes if issubclass(value, errors.GapfinderError)}
    text = document("exit_codes.md")
    assert [code for code in sorted(codes) if f"| {code} |" not in text] == []


def keys(value: object, path: str = "") -> set[str]:
    """Every key of a JSON value with the way to it, such as "lanes[].window.start_ns"."""
    if isinstance(value, list):
        return set().union(*(keys(item, f"{path}[]") for item in value))
    if not isinstance(value, dict) or path.endswith(("causes", "shares", "phases")):
        return set()
    places = {key: f"{path}.{key}" if path else key for key in value}
    return set(places.values()).union(*(keys(value[key], place) for key, place in places.items()))


def test_every_json_name_is_described_and_no_other():
    situations = (analyses.healthy(), analyses.explained(), analyses.host_only(), analyses.several_hosts())
    written = set().union(*(keys(json.loads(render_json(situation))) for situation in situations))
    assert "lanes[].steps.items[].overlap_ratio" in written
    analysis = document("json.md").partition("\n## What a watch leaves")[0]
    assert {line.split("`")[1] for line in analysis.splitlines() if line.startswith("| `")} == written


PARTS = {"C": "compute only", "H": "hidden", "E": "exposed", "M": "copy only", "G": "graph only", "I": "idle"}
CHARACTER = 10_000
ROWS = {
    "compute": Kernel(start=0, end=0),
    "communication": Kernel(start=0, end=0, name="ncclDevKernel_AllReduce", stream=9),
}


def drawn() -> dict[str, str]:
    """The lines of the picture in meaning.md, by name."""
    picture = document("meaning.md").partition("```picture\n")[2].partition("```")[0]
    return {line[:15].strip(): line[15:] for line in picture.splitlines()}


def spans(line: str) -> list[tuple[int, int]]:
    return [(CHARACTER * found.start(), CHARACTER * found.end()) for found in re.finditer("#+", line)]


def test_the_picture_of_one_lane_is_true(tmp_path):
    lines = drawn()
    kernels = [replace(ROWS[name], start=a, end=b) for name in ROWS for a, b in spans(lines[name])]
    copies = [Copy(start=a, end=b) for a, b in spans(lines["copy"])]
    graphs = [Graph(start=a, end=b) for a, b in spans(lines["graph"])]
    path = nsys_database(tmp_path / "drawn.sqlite", kernels=kernels, copies=copies, graphs=graphs)
    (lane,) = analyze([load_profile(path)], settings=Settings(min_gap_ns=CHARACTER)).lanes
    told = dict(re.findall(r"^\| ([a-z ]+) \| [A-Z] \| .* \| ([0-9]+) µs \|$", document("meaning.md"), re.MULTILINE))
    budget = {part: getattr(lane.budget, f"{part.replace(' ', '_')}_ns") for part in PARTS.values()}
    assert {part: 1_000 * int(time) for part, time in told.items()} == budget
    assert {PARTS[letter]: CHARACTER * count for letter, count in Counter(lines["part"]).items()} == budget
    assert (lane.budget.window_ns, lane.overlap_ratio) == (550_000, None)
    assert (lane.gaps.count, lane.gaps.total_ns) == (2, 40_000 + 50_000)
    assert [(hole.start_ns, hole.end_ns) for hole in lane.holes.top] == [(200_000, 350_000), (400_000, 450_000)]
    first = lane.holes.top[0]
    assert (first.exposed_ns, first.copy_only_ns, first.idle_ns) == (60_000, 50_000, 40_000)


README = (DOCS.parent / "README.md").read_text(encoding="utf-8")
REPORTS = re.findall(r"```sh\n(gapfinder [^\n]+)\n```\n\n```text\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize(("line", "shown"), REPORTS, ids=[line.split()[1] for line, _ in REPORTS])
def test_the_readme_shows_what_its_commands_print(line, shown, monkeypatch):
    monkeypatch.chdir(DOCS.parent)
    printed = iter(CliRunner().invoke(commands, shlex.split(line)[1:]).stdout.splitlines())
    lines = [one for one in shown.splitlines() if one not in ("", "...")]
    assert len(lines) > 4
    assert [one for one in lines if one not in printed] == []


def test_every_report_in_the_readme_has_its_command():
    assert len(REPORTS) == README.count("```text\n") == 2


def test_the_commands_are_described_in_the_order_of_the_help():
    names = [command.name for section in SECTIONS.values() for command in section]
    described = re.findall(r"^## gapfinder (\S+)$", document("commands.md"), re.MULTILINE)
    assert described == names == list(commands.commands)
    shown = re.findall(r"^  (\w+)  ", CliRunner().invoke(commands, ["--help"]).stdout, re.MULTILINE)
    assert shown == names


def test_every_cause_and_phase_is_described():
    assert [name for name in (*Cause, *Phase) if f"`{name}`" not in document("meaning.md")] == []


@pytest.mark.parametrize(("name", "codes"), [("rules.md", PAGES), ("faults.md", FAULTS)])
def test_every_rule_and_fault_is_described_as_gapfinder_explains_it(name, codes):
    assert document(name) == runpy.run_path(str(DOCS / "pages.py"))["DOCUMENTS"][name](), "run `make docs`"
    assert [line.removeprefix("## ") for line in document(name).splitlines() if line.startswith("## ")] == list(codes)


def test_the_columns_are_those_of_the_code():
    made = runpy.run_path(str(DOCS / "columns.py"))["columns_document"]()
    assert document("columns.md") == made, "run `make docs`"
