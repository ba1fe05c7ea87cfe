"""Environment variables, and NCCL's own files."""

from __future__ import annotations

import pytest
from doctor_machines import check, checks, machine

from gapfinder.doctor.check import Status
from gapfinder.doctor.variables import DEBUGGING, PINNED, TRANSPORTS, WATCHDOG

TABLES = {
    "variables-transport": TRANSPORTS,
    "variables-pinned": PINNED,
    "variables-debug": DEBUGGING,
    "variables-watchdog": WATCHDOG,
}
SETTINGS = [(code, setting) for code, table in TABLES.items() for setting in table]


def found(tmp_path, code, **changes):
    answer = check(machine(tmp_path, **changes), code)
    return answer.status, answer.seen


def test_nothing_is_said_of_usual_settings(tmp_path):
    usual = {
        "NCCL_DEBUG": "WARN",
        "NCCL_P2P_DISABLE": "0",
        "NCCL_IB_DISABLE": "0",
        "NCCL_ALGO": "",
        "CUDA_LAUNCH_BLOCKING": "0",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": "3",
        "NCCL_SOCKET_IFNAME": "ens",
        "NCCL_IB_HCA": "mlx5_0:1,mlx5_1",
    }
    there = checks(machine(tmp_path, environment=usual))
    codes = [code for code in there if code.startswith("variables-")]
    assert {there[code].status for code in codes} == {Status.OK}
    assert there["variables-interface"].seen == "NCCL_SOCKET_IFNAME=ens: ens1f0np0"


@pytest.mark.parametrize(("code", "setting"), SETTINGS, ids=lambda item: getattr(item, "name", ""))
def test_every_setting_that_hurts_is_told_with_its_reason(code, setting, tmp_path):
    value = setting.values[0].lower() if setting.values else "7"
    status, seen = found(tmp_path, code, environment={setting.name: value})
    assert (status, seen) == (setting.status, f"{setting.name}={value}: {setting.why}")


def test_a_launch_that_blocks_is_a_failure(tmp_path):
    assert found(tmp_path, "variables-debug", environment={"CUDA_LAUNCH_BLOCKING": "1"})[0] is Status.FAILURE


def test_several_settings_are_all_told_worst_first(tmp_path):
    environment = {"NCCL_DEBUG": "TRACE", "CUDA_LAUNCH_BLOCKING": "1"}
    _, seen = found(tmp_path, "variables-debug", environment=environment)
    assert [part.partition("=")[0] for part in seen.split("; ")] == ["CUDA_LAUNCH_BLOCKING", "NCCL_DEBUG"]


def test_ncclis_own_files_count_and_the_environment_goes_before_them(tmp_path):
    files = {"/etc/nccl.conf": "# ours\nNCCL_P2P_DISABLE=1 # a workaround\n", "/home/me/.nccl.conf": "NCCL_PROTO=LL\n"}
    home = {"HOME": "/home/me"}
    there = checks(machine(tmp_path, files=files, environment=home))
    assert there["variables-transport"].seen.startswith("NCCL_P2P_DISABLE=1 in /etc/nccl.conf: ")
    assert there["variables-pinned"].seen.startswith("NCCL_PROTO=LL in /home/me/.nccl.conf: ")
    overruled = checks(machine(tmp_path, files=files, environment=home | {"NCCL_P2P_DISABLE": "0"}))
    assert overruled["variables-transport"].status is Status.OK


@pytest.mark.parametrize(
    ("value", "status", "words"),
    [
        ("ens", Status.OK, "ens1f0np0"),
        ("=ens1f0np0", Status.OK, "ens1f0np0"),
        ("=ens1f0", Status.FAILURE, "names no network interface here (docker0, ens1f0np0, lo)"),
        ("ib,eth", Status.FAILURE, "names no network interface"),
        ("^docker,lo", Status.OK, "ens1f0np0"),
        ("^=docker0", Status.OK, "ens1f0np0, lo"),
        ("lo", Status.WARNING, "only within this machine"),
    ],
)
def test_interfaces_are_chosen_as_nccl_chooses(value, status, words, tmp_path):
    told, seen = found(tmp_path, "variables-interface", environment={"NCCL_SOCKET_IFNAME": value})
    assert (told, words in seen) == (status, True), seen


@pytest.mark.parametrize(
    ("value", "status"),
    [("mlx5", Status.OK), ("=mlx5_0:1", Status.OK), ("^=mlx5_1", Status.OK), ("=mlx5_9", Status.FAILURE)],
)
def test_cards_are_chosen_as_nccl_chooses(value, status, tmp_path):
    assert found(tmp_path, "variables-cards", environment={"NCCL_IB_HCA": value})[0] is status
