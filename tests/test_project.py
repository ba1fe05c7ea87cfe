"""What holds for the project as a whole: small modules, a light command line, documents that are true."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from gapfinder.cli.app import commands

ROOT = Path(__file__).parents[1]
PACKAGES = ("gapfinder", "dashboards", "sample_profiles")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LONGEST_MODULE, LONGEST_FUNCTION = 300, 50
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_and_functions_are_short_and_print_nothing(path):
    source = path.read_text(encoding="utf-8")
    nodes = list(ast.walk(ast.parse(source)))
    long = {node.name: node.end_lineno - node.lineno + 1 for node in nodes if isinstance(node, FUNCTION)}
    assert len(source.splitlines()) < LONGEST_MODULE
    assert {name: lines for name, lines in long.items() if lines > LONGEST_FUNCTION} == {}
    assert not [node.lineno for node in nodes if isinstance(node, ast.Name) and node.id == "print"]


def test_help_loads_nothing_heavy(record_property):
    heavy = {"pandas", "numpy", "rich", "zstandard", "sqlite3", "dash", "plotly"}
    code = (
        "import sys; from gapfinder.cli.app import commands\n"
        "try: commands(['--help'])\n"
        "finally: print(*sorted(name for name in sys.modules if '.' not in name), file=sys.stderr)"
    )
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    record_property("help_ms", round(1000 * (time.perf_counter() - started)))
    loaded = set(done.stderr.split())
    assert "click" in loaded
    assert loaded & heavy == set()


def command_lines(path: Path) -> list[list[str]]:
    """The `gapfinder` commands in a document's code blocks, without comments and pipes."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    shell = "\n".join(text for language, text in blocks if language == "sh")
    lines = re.sub(r"\\\n", " ", shell).splitlines()
    parsed = [shlex.split(line.split("|")[0].split(">")[0], comments=True) for line in lines if "gapfinder " in line]
    return [words for words in parsed if words and words[0] == "gapfinder" and len(words) > 1]


def check_command(words: list[str]) -> str | None:
    """Return what is wrong with a documented command line."""
    command: click.Command | None = commands
    rest = [word for word in words if word != "..."]
    while isinstance(command, click.Group):
        _, *rest = rest
        command = command.get_command(click.Context(command), rest[0])
    if command is None:
        return None if rest[0] in ("--version", "--help") else f"no command {rest[0]}"
    try:
        command.make_context(rest[0], rest[1:])
    except click.ClickException as error:
        return error.format_message()
    return None


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_documented_commands_exist(path):
    wrong = {" ".join(words): check_command(words) for words in command_lines(path)}
    assert {line: error for line, error in wrong.items() if error} == {}


def test_the_readme_names_commands_and_make_targets_that_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    mentioned = set(re.findall(r"\bmake ([a-z]+)", text))
    assert {"demo", "test"} <= mentioned <= targets
    assert len(targets) <= 8
    named = [words[1] for words in command_lines(ROOT / "README.md")]
    assert named[0] == "run"
    assert {"analyze", "check", "diff", "doctor", "history", "scrub"} <= set(named)
    assert len(text.splitlines()) < 175


def test_a_wrong_command_line_would_be_seen():
    assert check_command(["gapfinder", "analyse", "x"]) == "no command analyse"
    assert "No such option" in check_command(["gapfinder", "analyze", "x", "--frmat", "json"])
    assert check_command(["gapfinder", "analyze", "x", "--format", "pdf"]) is not None
    assert check_command(["gapfinder", "estimate", "all-redcue"]) == "no command all-redcue"
    assert "No such option" in check_command(["gapfinder", "estimate", "plan", "--memry", "80GB"])


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_between_documents_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_the_index_of_the_documents_names_each():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert "(docs/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")
    there = {path.name for path in DOCUMENTS[1:]} - {"README.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", index)) == there


def test_the_pictures_of_the_readme_are_small_and_made_by_a_program():
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    made = (ROOT / "docs" / "screenshots.py").read_text(encoding="utf-8")
    assert pictures
    for picture in pictures:
        assert (ROOT / picture).stat().st_size < 300_000
        assert f'"{Path(picture).name}"' in made
