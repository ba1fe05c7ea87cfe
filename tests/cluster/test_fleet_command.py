"""A job of many hosts through the command: what is wrong with it is named in every format, and nothing is without it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gapfinder.cli.app import commands
from gapfinder.cluster import measuring
from sample_profiles.fleet import TRUTH_FILE, build_fleet
from sample_profiles.job import Fault, Job

US, BILLION = 1_000, 1_000_000_000
FAULTS = frozenset(Fault) - {Fault.SLOW_GPU}


def simulated(folder: Path, faults: frozenset[Fault]) -> Path:
    """18 ranks on 6 hosts: the smallest job that has a rank 17, and other hosts enough to compare with."""
    build_fleet(folder, Job(hosts=6, gpus=3, steps=6, layers=1, faults=faults))
    return folder


@pytest.fixture(scope="module")
def faulty(tmp_path_factory) -> Path:
    return simulated(tmp_path_factory.mktemp("faulty"), FAULTS)


def analyzed(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(commands, ["analyze", str(folder), *options], catch_exceptions=False)


@pytest.fixture(scope="module")
def once(faulty) -> Iterator[None]:
    """Measure the faulty job only when the first command asks for it: formats differ in what is done after that."""
    measure, kept = measuring.measure_files, {}

    def measured(files: Sequence[Path], **options: object) -> measuring.Measured:
        if files[0].parent != faulty:
            return measure(files, **options)
        return kept.get(faulty) or kept.setdefault(faulty, measure(files, **options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring, "measure_files", measured)
        yield


@pytest.fixture(scope="module")
def told(faulty, once) -> dict:
    """What the command says as JSON, on two workers."""
    result = analyzed(faulty, "--format", "json", "--workers", "2")
    assert result.exit_code == 3
    assert result.stderr.splitlines()[-1] == "gapfinder: error: the report is about 16 of 17 files; see above"
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def truth(faulty) -> dict:
    return json.loads((faulty / TRUTH_FILE).read_text())


def test_offsets_are_recovered_to_20_us(told, truth):
    hosts = {one["host"]: one for one in truth["hosts"]}
    assert [clock["host"] for clock in told["clocks"]] == list(hosts)

    def ahead(host: str, at_utc: int) -> int:
        elapsed = at_utc - truth["reference_utc_ns"]
        return hosts[host]["offset_ns"] + elapsed * hosts[host]["drift_ppb"] // BILLION

    assert max(abs(one["offset_ns"]) for one in truth["hosts"]) > 1_000 * US
    for clock in told["clocks"]:
        at, reference = clock["at_utc_ns"], clock["reference"]
        assert abs(clock["offset_ns"] - ahead(clock["host"], at) + ahead(reference, at)) <= 20 * US
        assert clock["residual_ns"] <= 20 * US


def test_json_names_slow_node_slow_nic_missing_rank_and_the_report_left_out(told, truth):
    faults = {one["fault"]: one["host"] for one in truth["faults"]}
    titles = {one["code"]: one["title"] for one in told["findings"]}
    assert titles["slow-node"] == f"{faults['slow-node']} is slower than the other hosts, which wait"
    assert titles["slow-nic"].startswith(f"The network of {faults['slow-nic']} is slower")
    assert [host["host"] for host in told["hosts"] if host["is_slow"]] == [faults["slow-node"]]
    assert [host["host"] for host in told["hosts"] if host["has_slow_nic"]] == [faults["slow-nic"]]
    (cut,), (missing,) = truth["truncated"], truth["missing_ranks"]
    left_out, missing_ranks, *_ = told["coverage"]["notes"]
    assert left_out.startswith(f"left out: {cut}: is cut off")
    assert missing == 17
    assert missing_ranks == "no GPU work of ranks 6, 17 in these reports (world size 18)"
    assert cut == "rank_6.sqlite"
    assert not any(cut in name for name in told["source"]["files"])


@pytest.mark.parametrize("form", ["text", "markdown"])
@pytest.mark.usefixtures("once")
def test_so_do_the_formats_for_people(faulty, form):
    result = analyzed(faulty, "--format", form)
    assert result.exit_code == 3
    shown = " ".join(result.stdout.replace("\\", "").split())
    assert "node3 is slower than the other hosts" in shown
    assert "The network of node5 is slower" in shown
    assert "no GPU work of ranks 6, 17 in these reports (world size 18)" in shown
    assert "left out: rank_6.sqlite: is cut off" in shown
    assert "gapfinder: left out: rank_6.sqlite: is cut off" in result.stderr


def test_without_faults_nobody_is_named_and_the_exit_code_is_0(tmp_path):
    result = analyzed(simulated(tmp_path, frozenset()), "--format", "json")
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    assert not {one["code"] for one in told["findings"]} & {"slow-node", "slow-nic", "straggler", "capture-quality"}
    assert not any(host["is_slow"] or host["has_slow_nic"] for host in told["hosts"])
    assert not any("left out" in note or "no GPU work" in note for note in told["coverage"]["notes"])
    assert max(abs(clock["offset_ns"]) for clock in told["clocks"]) <= 20 * US
