"""`gapfinder doctor` as its user runs it, on this machine without its GPU tools."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from doctor_machines import SMI, checks, edited, machine, recorded, said

from gapfinder.cli.app import commands
from gapfinder.cli.doctor_text import render_checks
from gapfinder.doctor import CODES, Area, Status
from gapfinder.doctor.gpus import QUESTIONS as GPU_QUESTIONS
from gapfinder.doctor.links import QUESTIONS as LINK_QUESTIONS
from gapfinder.doctor.variables import names

ROOT = Path(__file__).parents[2]
NAMES = ("code", "area", "title", "status", "seen", "advice")


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine without nvidia-smi and torch, and without settings of its own."""
    tools = tmp_path / "tools"
    tools.mkdir()
    nsys = tools / "nsys"
    nsys.write_text("#!/bin/sh\necho NVIDIA Nsight Systems version 2025.1.3.140-251335620677v0\n")
    nsys.chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setenv("GAPFINDER_NSYS", str(nsys))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tools / "python").symlink_to(sys.executable)
    # The real torch takes seconds to import, and tests/doctor asks it once.
    (tools / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\")\n")
    monkeypatch.setenv("PYTHONPATH", str(tools))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    for name in ("MASTER_ADDR", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "CUDA_LAUNCH_BLOCKING", *names()):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(commands, ["doctor", *map(str, arguments)])


def test_without_nvidia_smi_every_check_of_gpus_says_so(bare):
    result = run("--format", "json", "--output", bare)
    report = json.loads(result.stdout)
    found = {check["code"]: check for check in report["checks"]}
    assert "torch is not installed" in found["version-torch"]["seen"]
    for question in (*GPU_QUESTIONS, *LINK_QUESTIONS):
        answer = found[question.code]
        assert (answer["status"], answer["seen"], answer["advice"]) == ("not checked", "nvidia-smi not found", "")
    assert found["nsys-found"]["seen"] == f"2025.1.3.140 ({bare}/tools/nsys)"
    assert result.stderr == ""


def test_the_json_counts_itself(bare):
    report = json.loads(run("--format", "json", "--output", bare).stdout)
    assert list(report) == ["schema_version", "checks", "failures", "warnings", "not_checked"]
    assert report["schema_version"] == 1
    assert {tuple(check) for check in report["checks"]} == {NAMES}
    statuses = [check["status"] for check in report["checks"]]
    counted = [statuses.count(status) for status in ("failure", "warning", "not checked")]
    assert [report["failures"], report["warnings"], report["not_checked"]] == counted
    assert {check["area"] for check in report["checks"]} == {area.value for area in Area} - {
        "DeepSpeed",
        "Communication",
    }


def test_a_failure_is_exit_code_1_and_a_warning_is_not(bare, monkeypatch):
    before = json.loads(run("--format", "json", "--output", bare).stdout)["failures"]
    monkeypatch.setenv("NCCL_P2P_DISABLE", "1")
    warned = run("--output", bare)
    assert "WARNING      paths of NCCL" in warned.stdout
    assert warned.exit_code == (1 if before else 0)
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    failed = run("--output", bare)
    assert (failed.exit_code, failed.stderr) == (1, "")
    assert "FAILURE      debugging" in failed.stdout
    assert failed.stdout.splitlines()[-1].startswith(f"{before + 1} failure")


def test_a_sound_machine_has_no_failure_and_no_warning(tmp_path):
    lines = render_checks(list(checks(machine(tmp_path)).values())).splitlines()
    assert re.fullmatch(r"0 failures, 0 warnings, [0-9]+ ok, 0 not checked\.", lines[-1])


def test_the_worst_comes_first_in_its_area_and_lines_fit(tmp_path):
    xml = edited(recorded("h100x4_driver_570.xml"), gpu=1, current_link_width="8x", persistence_mode="Disabled")
    odd = {"NCCL_ALGO": "x" * 300, "TMPDIR": "/scratch/\x1b[31m"}
    text = render_checks(list(checks(machine(tmp_path, programs={SMI: said(xml)}, environment=odd)).values()))
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text
    for block in text.split("\n\n")[:-1]:
        marks = [line.split("  ")[0] for line in block.splitlines()[1:] if not line.startswith(" ")]
        order = ["FAILURE", "WARNING", "not checked", "ok"]
        assert marks == sorted(marks, key=order.index)
    assert re.search(r"^FAILURE +PCIe lanes +GPU 1: 8 of 16 lanes$", text, re.MULTILINE)
    assert "[gpu-pcie-width]" in text


def test_what_could_not_be_checked_for_one_reason_is_one_line(bare):
    text = run("--output", bare).stdout
    assert text.count("nvidia-smi not found (") == 3
    assert "(13 checks: driver, GPUs, visible to CUDA," in text


def test_a_deepspeed_configuration_is_judged_beside_the_machine(bare):
    path = bare / "ds.json"
    path.write_text('{"train_batch_size": 8, "zero_optimization": {"stage": 2, "overlap_comm": false}}')
    text = run("--output", bare, "--deepspeed", path).stdout
    assert re.search(r"^WARNING +overlap +overlap_comm is false", text, re.MULTILINE)


def test_a_bad_configuration_is_refused_before_anything_is_asked(bare):
    path = bare / "ds.json"
    path.write_text("{stage: 2}")
    result = run("--deepspeed", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is no JSON" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_checked_machine_is_left_as_it_was(bare):
    before = sorted(path.relative_to(bare) for path in bare.rglob("*"))
    run("--output", bare)
    assert sorted(path.relative_to(bare) for path in bare.rglob("*")) == before


def test_it_runs_as_a_program(bare):
    command = [sys.executable, "-m", "gapfinder", "doctor", "--format", "json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    report = json.loads(done.stdout)
    assert done.returncode == (1 if report["failures"] else 0)
    assert [check["code"] for check in report["checks"]] == list(CODES[: len(report["checks"])])


def document():
    return (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")


def test_every_check_is_described_and_no_other():
    section = document().partition("## Checks")[2].partition("## JSON")[0]
    described = re.findall(r"^\| `([a-z0-9-]+)` \| ", section, re.MULTILINE)
    assert described == list(CODES)
    assert len(set(CODES)) == len(CODES)


def test_every_json_name_status_and_variable_is_described():
    text = document()
    told = ("schema_version", "checks", "failures", "warnings", "not_checked", *(f"checks[].{name}" for name in NAMES))
    assert [name for name in told if f"| `{name}` |" not in text] == []
    assert [status for status in Status if f"`{status}`" not in text] == []
    assert [name for name in names() if f"`{name}`" not in text] == []
