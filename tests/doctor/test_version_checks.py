"""Versions of driver, CUDA, NCCL, torch and nsys against each other, and what nsys needs."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from doctor_machines import SMI, TORCH, check, checks, lost, machine, recorded, said

from gapfinder.capture.nsys import Nsys
from gapfinder.doctor import ask_torch
from gapfinder.doctor.check import NotCheckedError, Status
from gapfinder.doctor.programs import Ran

ASK = ("ask_torch.py",)
CODES = ("version-torch", "version-cuda", "version-nccl", "version-devices", "version-nsys")
NSYS_CODES = ("nsys-found", "nsys-importer", "nsys-paranoid", "nsys-container")


def torch(**changes):
    return {ASK: said(json.dumps(TORCH | changes))}


def found(tmp_path, code, **changes):
    answer = check(machine(tmp_path, **changes), code)
    return answer.status, answer.seen


def test_all_is_well_on_a_sound_machine(tmp_path):
    there = checks(machine(tmp_path))
    assert {there[code].status for code in (*CODES, *NSYS_CODES)} == {Status.OK}
    assert there["version-cuda"].seen == "torch for CUDA 12.8, driver 570.86.15 with CUDA 12.8"
    assert there["version-nccl"].seen == "NCCL 2.26.2; all machines must have the same"


@pytest.mark.parametrize(
    ("changes", "code", "status", "seen"),
    [
        ({"cuda": None, "version": "2.7.0+cpu"}, "version-cuda", Status.FAILURE, "torch 2.7.0+cpu is built for CPUs"),
        ({"cuda": "12.9"}, "version-cuda", Status.OK, "torch for CUDA 12.9"),
        ({"cuda": "13.0"}, "version-cuda", Status.WARNING, "only through a forward compatibility package"),
        ({"is_available": False, "problem": "too old"}, "version-cuda", Status.FAILURE, "torch finds no GPU (too old)"),
        ({"nccl_loaded": [2, 19, 3]}, "version-nccl", Status.WARNING, "built with NCCL 2.26.2 and runs with 2.19.3"),
        ({"nccl_loaded": None}, "version-nccl", Status.OK, "NCCL 2.26.2"),
        ({"nccl": None}, "version-nccl", Status.NOT_CHECKED, "without NCCL"),
        ({"devices": 3}, "version-devices", Status.FAILURE, "torch sees 3 GPUs, nvidia-smi 4"),
    ],
)
def test_what_does_not_fit_is_told(changes, code, status, seen, tmp_path):
    found_status, found_seen = found(tmp_path, code, programs=torch(**changes))
    assert (found_status, seen in found_seen) == (status, True), found_seen


def test_torch_is_asked_for_the_visible_gpus(tmp_path):
    environment = {"CUDA_VISIBLE_DEVICES": "0,1"}
    assert found(tmp_path, "version-devices", programs=torch(devices=2), environment=environment)[0] is Status.OK
    assert found(tmp_path, "version-devices", environment=environment)[0] is Status.FAILURE


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (
            Ran(code=1, output="", errors="ModuleNotFoundError: No module named 'torch'"),
            Status.NOT_CHECKED,
            "not installed",
        ),
        (Ran(code=1, output="", errors="ImportError: libcudnn.so.9: none"), Status.FAILURE, "libcudnn.so.9"),
        (Ran(code=-11, output="", errors=""), Status.FAILURE, "died of signal 11"),
        (NotCheckedError("python3 gave no answer within 90 s"), Status.NOT_CHECKED, "no answer within 90 s"),
        (said("Welcome!\n"), Status.NOT_CHECKED, "cannot be read: Welcome!"),
        (said(""), Status.NOT_CHECKED, "cannot be read"),
        (said("{}"), Status.NOT_CHECKED, "cannot be read"),
    ],
)
def test_a_broken_torch_breaks_nothing_else(answer, status, words, tmp_path):
    there = checks(machine(tmp_path, programs={ASK: answer}))
    assert (there["version-torch"].status, words in there["version-torch"].seen) == (status, True)
    assert {there[code].status for code in CODES[1:4]} == {Status.NOT_CHECKED}


def test_this_torch_tells_what_it_is():
    command = (sys.executable, str(Path(ask_torch.__file__)))
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100)
    told = json.loads(done.stdout)
    assert set(told) == set(TORCH)
    assert told["version"].startswith("2.")
    assert told["python"] == sys.executable


def test_torch_is_looked_for_where_a_training_finds_it(tmp_path):
    for number, name in enumerate(("python3", "python")):
        python = tmp_path / str(number) / name
        python.parent.mkdir()
        python.touch(mode=0o755)
    asked = []

    def run(command, seconds):
        if not command[-1].endswith("ask_torch.py"):
            raise NotCheckedError("not found")
        asked.append(command[0])
        return Ran(code=1, output="", errors="ModuleNotFoundError: No module named 'torch'")

    for path in (f"{tmp_path}/0", f"{tmp_path}/0:{tmp_path}/1"):
        seen = check(replace(machine(tmp_path, environment={"PATH": path}), run=run), "version-torch").seen
        assert seen == f"torch is not installed for {asked[-1]}, the first Python on PATH"
    assert set(asked) == {f"{tmp_path}/0/python3", f"{tmp_path}/1/python"}
    nowhere = check(machine(tmp_path, environment={"PATH": f"{tmp_path}/none"}), "version-torch")
    assert (nowhere.status, nowhere.seen) == (Status.NOT_CHECKED, "no python on PATH to look for torch with")


def test_an_nsys_older_than_the_driver_is_told(tmp_path):
    newer = recorded("h100x4_driver_570.xml").replace("<cuda_version>12.8", "<cuda_version>13.0")
    status, seen = found(tmp_path, "version-nsys", programs={SMI: said(newer)})
    assert (status, "which came with nsys 2025.3" in seen) == (Status.WARNING, True)


def test_a_missing_nsys_is_a_failure_and_is_told_once(tmp_path):
    there = checks(machine(tmp_path, find_nsys=lost))
    assert (there["nsys-found"].status, there["nsys-found"].seen) == (Status.FAILURE, "nsys not found on PATH")
    assert {there[code].status for code in ("nsys-importer", "version-nsys")} == {Status.NOT_CHECKED}


def test_an_nsys_without_importer_is_told(tmp_path):
    alone = tmp_path / "alone" / "nsys"
    alone.parent.mkdir()
    alone.touch(mode=0o755)
    status, _ = found(tmp_path, "nsys-importer", find_nsys=lambda: Nsys(path=alone, version="2025.1.3"))
    assert status is Status.WARNING


PLAIN_USER = "CapEff:\t0000000000000000\nSeccomp:\t0\n"
CONTAINER = "CapEff:\t00000000a80425fb\nSeccomp:\t2\n"


@pytest.mark.parametrize(
    ("level", "process", "status"),
    [
        ("2", PLAIN_USER, Status.OK),
        ("-1", PLAIN_USER, Status.OK),
        ("4", PLAIN_USER, Status.WARNING),
        ("4", "CapEff:\t0000004000000000\n", Status.OK),
        ("", PLAIN_USER, Status.NOT_CHECKED),
    ],
)
def test_the_paranoid_level_counts_without_capabilities(level, process, status, tmp_path):
    files = {"/proc/sys/kernel/perf_event_paranoid": level, "/proc/self/status": process}
    assert found(tmp_path, "nsys-paranoid", files=files)[0] is status


@pytest.mark.parametrize(
    ("process", "status", "words"),
    [
        (PLAIN_USER, Status.OK, "not filtered; without CAP_SYS_PTRACE, CAP_SYS_ADMIN, CAP_PERFMON"),
        (CONTAINER, Status.WARNING, "filtered (seccomp); without CAP_SYS_PTRACE"),
        ("CapEff:\t00000000a82425fb\nSeccomp:\t2\n", Status.OK, "filtered (seccomp)"),
        ("Seccomp:\t2\n", Status.NOT_CHECKED, "tells no capabilities"),
    ],
)
def test_a_container_is_seen_by_its_capabilities(process, status, words, tmp_path):
    found_status, seen = found(tmp_path, "nsys-container", files={"/proc/self/status": process})
    assert (found_status, words in seen) == (status, True), seen
