"""What is released: the wheel holds the whole program and nothing else, and the sdist all that its tests need."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path

import pytest

from gapfinder import __version__

ROOT = Path(__file__).parents[1]
PACKAGES = ("gapfinder", "dashboards")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def build(kind: str, folder: Path) -> Path:
    """Build with the project's own backend, which needs no network."""
    code = "import sys; from hatchling import build; print(getattr(build, f'build_{sys.argv[1]}')(sys.argv[2]))"
    command = [sys.executable, "-c", code, kind, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder / done.stdout.splitlines()[-1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A folder with what the wheel installs."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)  # noqa: S202 - made above
    return folder


@pytest.fixture(scope="module")
def metadata(installed) -> Message:
    (file,) = installed.glob("*.dist-info/METADATA")
    return HeaderParser().parsestr(file.read_text(encoding="utf-8"))


def files_of(folder: Path) -> set[str]:
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {str(path) for path in found if "__pycache__" not in path.parts}


def test_the_wheel_holds_every_file_of_the_packages_and_no_other(installed, wheel):
    wanted = {f"{package}/{name}" for package in PACKAGES for name in files_of(ROOT / package)}
    kept = {f"gapfinder-{__version__}.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")}
    assert files_of(installed) == wanted | kept | {f"gapfinder-{__version__}.dist-info/licenses/LICENSE"}
    assert wheel.name == f"gapfinder-{__version__}-py3-none-any.whl"
    for name in (
        "gapfinder/py.typed",
        "dashboards/py.typed",
        "gapfinder/render/page.css",
        "dashboards/assets/shell.js",
    ):
        assert name in wanted
    assert any(name.endswith("/sitecustomize.py") for name in wanted)


def run_installed(installed: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(installed)}
    command = [sys.executable, "-m", "gapfinder", *words]
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=120, check=False)


def test_what_it_installs_runs(installed, tmp_path):
    code = "import gapfinder, dashboards; print(gapfinder.__file__, dashboards.__file__)"
    environment = os.environ | {"PYTHONPATH": str(installed)}
    command = [sys.executable, "-c", code]
    told = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [str(Path(file).parents[1]) for file in told.stdout.split()] == [str(installed)] * 2
    assert run_installed(installed, "--version", cwd=tmp_path).stdout == f"gapfinder {__version__}\n"
    sample = str(ROOT / "sample_profiles" / "healthy.sqlite")
    page = run_installed(installed, "analyze", sample, "--format", "html", "--output", "page.html", cwd=tmp_path)
    assert page.returncode == 0, page.stderr
    styles = (ROOT / "gapfinder" / "render" / "page.css").read_text(encoding="utf-8")
    assert styles.splitlines()[-1] in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.nsys
def test_what_it_installs_marks_a_training(installed, tmp_path):
    (tmp_path / "train.py").touch()
    shown = run_installed(installed, "run", "--dry-run", "train.py", cwd=tmp_path)
    assert f"{installed}/gapfinder/training/startup" in shown.stdout, shown.stderr


def test_its_metadata_are_those_of_the_project(metadata):
    assert (metadata["Name"], metadata["Version"]) == ("gapfinder", __version__)
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("Provides-Extra") == sorted(PROJECT["optional-dependencies"])
    needed = {line for line in metadata.get_all("Requires-Dist") if "extra ==" not in line}
    assert needed == set(PROJECT["dependencies"])
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()


def test_the_sdist_holds_what_its_tests_need_and_nothing_that_a_run_leaves(tmp_path):
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    folders = (*PACKAGES, "tests", "sample_profiles", "examples", "benchmarks", "docs", ".ci")
    there = {f"{folder}/{name}" for folder in folders for name in files_of(ROOT / folder)}
    assert {name for name in there if not name.startswith("benchmarks/data/")} <= names
    assert {"README.md", "LICENSE", "CHANGELOG.md", "Makefile", "pyproject.toml", "action.yml"} <= names
    left_behind = re.compile(
        r"__pycache__|\.pyc$|(^|/)\.(venv|hypothesis|gapfinder|git|\w+_cache)/|benchmarks/data/|^build/"
    )
    assert [name for name in names if left_behind.search(name)] == []


def test_the_changelog_has_the_version_or_says_what_is_not_released():
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    released = [tuple(map(int, heading.split("."))) for heading in headings if heading != "Unreleased"]
    assert headings[0] in ("Unreleased", __version__)
    assert released == sorted(released, reverse=True)
