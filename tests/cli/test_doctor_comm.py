"""`gapfinder doctor --comm` as its user runs it: real ranks with gloo, and ranks that are slow, late, dead or still."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import namespaces
import pytest
from click.testing import CliRunner

from gapfinder.cli.app import commands
from gapfinder.doctor.comm import CODES

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
LAUNCHER = (sys.executable, str(TESTS / "launching_ranks.py"))
TORCHRUN = (sys.executable, "-m", "torch.distributed.run")
QUICK = ("--seconds", "3", "--sizes", "1kB,256kB")


def run(*words, path: Path | None = None, **variables):
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | variables
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    command = [sys.executable, "-m", "gapfinder", "doctor", "--comm", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=200)


def ranks_left() -> list[int]:
    """Processes of any probe on this machine whose parent is gone."""
    left = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdecimal() else []
            if any(word.endswith(b"comm_probe.py") for word in words):
                left.append(int((entry / "stat").read_text().rpartition(")")[2].split()[1]))
        except OSError:
            continue
    return [parent for parent in left if parent == 1]


def test_a_healthy_job_names_nothing_and_its_numbers_agree():
    done = run(*QUICK, "--format", "json", "--", *TORCHRUN, "--nproc-per-node", 4, "train.py")
    report = json.loads(done.stdout)
    assert [check["code"] for check in report["checks"]] == list(CODES)
    assert (done.returncode, report["failures"]) == (0, 0), report["checks"]
    assert "in place of 'train.py', every rank runs gapfinder's own program" in done.stderr
    found = report["communication"]
    assert (found["backend"], [rank["rank"] for rank in found["ranks"]]) == ("gloo", [0, 1, 2, 3])
    factors = {"all-reduce": 3 / 2, "all-gather": 3 / 4}
    assert {(one["operation"], one["size_bytes"]) for one in found["collectives"]} == {
        ("all-reduce", 1_000),
        ("all-reduce", 256_000),
        ("all-gather", 992),
        ("all-gather", 256_000),
    }
    for one in found["collectives"]:
        speed = one["size_bytes"] / (one["time_ns"] / 1e9)
        assert one["algorithm_bandwidth"] == pytest.approx(speed)
        assert one["bus_bandwidth"] == pytest.approx(speed * factors[one["operation"]])
    assert [pair["ranks"] for pair in found["pairs"]] == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert all(0 < pair["latency_ns"] < 10**9 < pair["there_bandwidth"] * 1e3 for pair in found["pairs"])
    described = set(re.findall(r"^\| `communication\.([a-z_.\[\]]+)` \|", document(), re.MULTILINE))
    assert described == names(found)


def names(value, path=""):
    if isinstance(value, list):
        # what may be empty here is described all the same
        return {f"{path}[].operation", f"{path}[].size_bytes"} if path == "skipped" else names(value[0], f"{path}[]")
    if not isinstance(value, dict):
        return set()
    places = {key: f"{path}.{key}" if path else key for key in value}
    lists = {key for key, kept in value.items() if key != "ranks" or isinstance(kept[0], dict)}
    return set(places.values()).union(*(names(value[key], places[key]) for key in lists))


DELAYED = """
import os, time
if os.environ.get("RANK") == "1":
    import torch.distributed as dist
    pass_on = dist.batch_isend_irecv

    def delayed(operations):
        time.sleep(sum(operation.tensor.numel() for operation in operations) / 4e6)
        return pass_on(operations)

    dist.batch_isend_irecv = delayed
"""


@pytest.mark.skipif(namespaces.can_shape(), reason="a shaped card is there, which is more than a delay")
def test_a_rank_whose_transport_is_delayed_is_named(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(DELAYED)
    how = ("--seconds", 5, "--sizes", "1kB")
    done = run(*how, "--", *LAUNCHER, "--ranks", 3, sys.executable, path=tmp_path)
    text = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert re.search(
        r"FAILURE slow cards and hosts rank 1 \(.+?\) is slow within its host: at best 1[0-6]\.\d\d MB/s", text
    )
    assert "FAILURE slow links" not in text


@pytest.mark.skipif(not namespaces.can_shape(), reason="needs root, ip, tc and network namespaces")
def test_a_host_behind_a_slow_card_is_named():
    shaped = ("--ranks", 3, "--slow", "2=300mbit", sys.executable)
    how = ("--seconds", 4, "--sizes", "1kB", "--link", "1Gb/s")
    done = run(*how, "--", sys.executable, TESTS / "namespaces.py", *shaped)
    text = " ".join(done.stdout.split())
    assert done.returncode == 1
    named = re.search(r"rank 2 \(node2\) is slow with every rank: at best (\S+) MB/s when sending", text)
    assert 15 < float(named[1]) < 39  # of 37.5 MB/s
    assert "3 ranks on 3 hosts: node0, node1, node2" in text
    assert re.search(r"the slowest is of ranks [01] and 2: \S+ MB/s, [123]\d\.\d %", text)


FATES = """
import os, signal, time
begun = [f"{__file__}.{rank}" for rank in range(3)]
open(begun[int(os.environ["RANK"])], "w").close()
if os.environ["RANK"] == "1":
    while not all(map(os.path.exists, begun)):  # the launcher ends the others with it
        time.sleep(0.02)
    if os.environ["FATE"] == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ["FATE"] == "stops":
        os.kill(os.getpid(), signal.SIGSTOP)
    if os.environ["FATE"] == "fails":
        raise RuntimeError("the driver is gone")
time.sleep(100)
"""


@pytest.mark.parametrize(
    ("fate", "words", "named"),
    [
        ("dies", (), r"without a last word, died: rank 1 \(\S+\) at 'importing torch'; the launcher ended with"),
        (
            "stops",
            (),
            r"without a last word, stopped answering: rank 1 \(\S+\) at 'importing torch'; nothing moved for",
        ),
        ("fails", (), r"rank 1 \(\S+\) failed first, at 'importing torch': RuntimeError: the driver is gone"),
        ("stays away", ("--without", 1), r"rank 1 never came: 2 of 3 ranks began \(rank 0 .*\), and nothing moved for"),
    ],
)
def test_a_rank_that_is_lost_is_named_and_none_is_left(tmp_path, fate, words, named):
    (tmp_path / "torch.py").write_text(FATES)
    launcher = (*LAUNCHER, "--ranks", 3, *words, sys.executable)
    done = run("--patience", "6s", "--", *launcher, path=tmp_path, FATE=fate)
    text = " ".join(done.stdout.split())
    assert done.returncode == 1
    assert re.search(f"FAILURE ranks {named}", text), text
    assert text.endswith("1 failure, 0 warnings, 0 ok, 6 not checked.")
    assert ranks_left() == []


def refused(*words):
    result = CliRunner().invoke(commands, ["doctor", *map(str, words)])
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr


def test_what_cannot_be_measured_is_refused_in_a_line():
    assert "--comm needs a launcher" in refused("--comm")
    assert "'nolauncher' is no program on PATH" in refused("--comm", "--", "nolauncher")
    assert "--link needs --comm" in refused("--link", "100Gb/s")
    assert "'torchrun' needs --comm" in refused("--", "torchrun")
    assert "leave --output, --deepspeed and --nsys out" in refused("--comm", "--nsys", "x", "--", "true")
    assert "not a bandwidth: '100'" in refused("--comm", "--link", "100", "--", "true")
    assert "nothing is sent with 0 bytes" in refused("--comm", "--sizes", "0B", "--", "true")
    assert "write 1s or more" in refused("--comm", "--patience", "10ms", "--", "true")


def test_a_launcher_that_starts_no_rank_is_no_finding():
    done = run("--", "false")
    assert (done.returncode, done.stdout) == (2, "")
    assert "the launcher ended with exit code 1 before any rank was heard" in done.stderr
    alone = run("--", *LAUNCHER, "--ranks", 1, sys.executable)
    assert (alone.returncode, alone.stdout) == (2, "")
    assert "a single rank, which has nobody to talk to" in alone.stderr


def document() -> str:
    return (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")


def test_every_check_of_communication_is_described_and_no_other():
    described = re.findall(r"^\| `(comm-[a-z-]+)` \| ", document(), re.MULTILINE)
    assert described == list(CODES)
