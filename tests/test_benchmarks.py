"""`make bench` runs every benchmark, prints one table, and says what it measures in docs/performance.md."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"
SCRIPTS = {path.name for path in FOLDER.glob("*.py")} - {"__main__.py", "table.py"}


@pytest.fixture
def table(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return runpy.run_path(str(FOLDER / "table.py"))


def test_all_of_them_are_run_and_described(table):
    runner = runpy.run_path(str(FOLDER / "__main__.py"))
    assert {name for name, *_ in runner["WHOLE"]} == SCRIPTS
    assert {name for name, *_ in runner["QUICK"]} < SCRIPTS
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert [name for name in sorted(SCRIPTS) if f"| `{name}` |" not in text] == []


def test_their_options_are_known_where_they_are_run(table):
    runner = runpy.run_path(str(FOLDER / "__main__.py"))
    for name, *arguments in (*runner["WHOLE"], *runner["QUICK"]):
        source = (FOLDER / name).read_text(encoding="utf-8")
        options = [argument.partition("=")[0].removeprefix("--") for argument in arguments]
        assert [option for option in options if f'"--{option}"' not in source and f'("{option}", ' not in source] == []


def test_what_is_printed_is_one_table(table, capsys):
    table["heading"]()
    table["row"]("a thing", "1.00 s", reads=0.5, peak_mib=1234)
    table["row"]("another", "2 ms")
    machine, empty, *lines = capsys.readouterr().out.splitlines()
    assert machine[0].isdigit()
    assert empty == ""
    assert {line.count("|") for line in lines} == {5}
    assert lines[2:] == ["| a thing | 1.00 s | 0.50 | 1,234 |", "| another | 2 ms |  |  |"]


def test_the_unit_reads_every_kernel(table):
    sample = ROOT / "sample_profiles" / "healthy.sqlite"
    assert 0 < table["scan"](sample) < table["read_kernels"](sample)


@pytest.mark.usefixtures("table")
def test_the_stages_of_an_analysis_are_the_whole_of_it(monkeypatch, capsys):
    monkeypatch.setattr("table.read_kernels", lambda _path: 1.0)  # what is read for the unit is no stage
    monkeypatch.setattr(sys, "argv", ["stages.py", "--file", str(ROOT / "sample_profiles" / "healthy.sqlite")])
    runpy.run_path(str(FOLDER / "stages.py"), run_name="__main__")
    whole = time.process_time()
    told = re.findall(
        r"^\| stages, healthy: .+ \| ([0-9.]+) s of CPU, [0-9]+% \|", capsys.readouterr().out, re.MULTILINE
    )
    assert len(told) == 5
    assert sum(map(float, told)) == pytest.approx(whole, abs=0.2)


def test_a_benchmark_that_fails_is_told(tmp_path):
    for name in ("__main__.py", "table.py"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    (tmp_path / "analyze.py").write_text("import table; table.row('whole', '1 s')")
    (tmp_path / "stages.py").write_text("")
    (tmp_path / "cluster.py").write_text("raise SystemExit(3)")
    (tmp_path / "dashboard.py").write_text("")
    command = [sys.executable, str(tmp_path), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "| whole | 1 s |" in done.stdout
    assert done.stdout.splitlines()[-1].endswith(" s; cluster.py ended with 3")
