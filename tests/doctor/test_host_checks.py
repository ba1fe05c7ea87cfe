"""Host names, space, limits, CPUs and the clock."""

from __future__ import annotations

from dataclasses import replace

import pytest
from doctor_machines import CLOCK, ROOMY, SMI, check, checks, machine, said

from gapfinder.doctor.check import NotCheckedError, Status
from gapfinder.doctor.machine import Limit
from gapfinder.doctor.space import SHARED

CODES = ("host-own", "host-master", "host-file", "space-temporary", "space-output", "space-shared-memory")
MORE = ("limit-files", "limit-locked-memory", "cpu-affinity", "cpu-quota", "cpu-threads", "clock-synchronised")
TWO_NODES = {"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}


def found(tmp_path, code, **changes):
    answer = check(machine(tmp_path, **changes), code)
    return answer.status, answer.seen


def test_all_is_well_on_a_sound_machine(tmp_path):
    there = checks(machine(tmp_path))
    assert {code: there[code].seen for code in (*CODES, *MORE) if there[code].status is not Status.OK} == {}
    assert there["space-output"].seen == "/data/runs: 2.000 TB of 4.000 TB free, 900,000,000 inodes"
    assert there["host-file"].seen.startswith("4 entries, digest ")


@pytest.mark.parametrize(
    ("addresses", "environment", "status"),
    [
        ((), {}, Status.FAILURE),
        (("127.0.1.1",), {}, Status.OK),
        (("127.0.1.1",), TWO_NODES, Status.FAILURE),
        (("127.0.1.1", "10.0.0.1"), TWO_NODES, Status.OK),
        (("::1",), {"SLURM_NNODES": "2"}, Status.FAILURE),
        (("127.0.1.1",), {"MASTER_ADDR": "node7"}, Status.WARNING),
        (("127.0.1.1",), {"MASTER_ADDR": "127.0.0.1"}, Status.OK),
    ],
)
def test_the_own_name_must_reach_others_where_there_are_any(addresses, environment, status, tmp_path):
    assert found(tmp_path, "host-own", addresses={"node0": addresses}, environment=environment)[0] is status


@pytest.mark.parametrize(
    ("environment", "status"),
    [
        ({}, Status.NOT_CHECKED),
        ({"MASTER_ADDR": "nowhere"}, Status.FAILURE),
        ({"MASTER_ADDR": "localhost"}, Status.OK),
        ({"MASTER_ADDR": "localhost", **TWO_NODES}, Status.FAILURE),
        ({"MASTER_ADDR": "node0", "MASTER_PORT": "0"}, Status.FAILURE),
        ({"MASTER_ADDR": "node0", "MASTER_PORT": "http"}, Status.FAILURE),
        ({"MASTER_ADDR": "node0", "MASTER_PORT": "65536"}, Status.FAILURE),
    ],
)
def test_the_first_rank_must_be_found(environment, status, tmp_path):
    assert found(tmp_path, "host-master", environment=environment)[0] is status


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("10.0.0.1 node0\n10.0.0.9 NODE0\n", "node0 is 10.0.0.1 and 10.0.0.9"),
        ("127.0.1.1 node0\n10.0.0.1 node0\n", "node0 is 127.0.1.1 and 10.0.0.1"),
        ("10.0.0.256 node0\n", "not an address: line 1 (10.0.0.256)"),
        ("\x00\udcff node0\n", "not an address: line 1"),
    ],
)
def test_a_hosts_file_that_contradicts_itself_is_told(text, seen, tmp_path):
    status, told = found(tmp_path, "host-file", files={"/etc/hosts": text})
    assert (status, seen in told) == (Status.WARNING, True), told


def test_hosts_files_that_say_the_same_have_one_digest(tmp_path):
    one = found(tmp_path, "host-file", files={"/etc/hosts": "10.0.0.1 a\n10.0.0.2  b # second\n"})
    other = found(tmp_path, "host-file", files={"/etc/hosts": "10.0.0.2 b\n\n10.0.0.1 a\n"})
    third = found(tmp_path, "host-file", files={"/etc/hosts": "10.0.0.3 b\n10.0.0.1 a\n"})
    assert one == other != third


def with_free(free, *, inodes=ROOMY.free_inodes):
    return replace(ROOMY, free_bytes=free, free_inodes=inodes)


@pytest.mark.parametrize(
    ("space", "status"),
    [
        (with_free(10 * 10**9), Status.OK),
        (with_free(10 * 10**9 - 1), Status.WARNING),
        (with_free(10**9 - 1), Status.FAILURE),
        (with_free(10**12, inodes=99_999), Status.WARNING),
        (with_free(10**12, inodes=0), Status.FAILURE),
        (replace(ROOMY, inodes=0, free_inodes=0), Status.OK),
        (replace(ROOMY, is_writable=False), Status.FAILURE),
        (OSError(5, "Input/output error"), Status.FAILURE),
    ],
)
@pytest.mark.parametrize(("code", "folder"), [("space-temporary", "/scratch"), ("space-output", "/data/runs")])
def test_a_folder_that_is_nearly_full_is_told(space, status, code, folder, tmp_path):
    told, seen = found(tmp_path, code, spaces={folder: space}, environment={"TMPDIR": "/scratch"})
    assert (told, folder in seen) == (status, True)


def test_a_folder_to_be_made_is_judged_by_the_one_above_it(tmp_path):
    none = FileNotFoundError(2, "No such file or directory")
    spaces = {"/data/runs": none, "/data": with_free(10**8)}
    assert found(tmp_path, "space-output", spaces=spaces) == (
        Status.FAILURE,
        "/data/runs (to be made in /data): 100.0 MB of 4.000 TB free, 900,000,000 inodes",
    )


def test_a_temporary_folder_that_is_missing_is_a_failure(tmp_path):
    spaces = {"/scratch": FileNotFoundError(2, "No such file or directory")}
    environment = {"TMPDIR": "/scratch"}
    seen = "TMPDIR=/scratch: No such file or directory"
    assert found(tmp_path, "space-temporary", spaces=spaces, environment=environment) == (Status.FAILURE, seen)


@pytest.mark.parametrize(
    ("space", "status"),
    [
        (replace(ROOMY, total_bytes=64 * 2**20, free_bytes=64 * 2**20), Status.FAILURE),
        (replace(ROOMY, total_bytes=10**11, free_bytes=10**6), Status.FAILURE),
        (replace(ROOMY, total_bytes=10**9, free_bytes=10**9), Status.WARNING),
        (FileNotFoundError(2, "No such file or directory"), Status.NOT_CHECKED),
    ],
)
def test_little_shared_memory_is_told(space, status, tmp_path):
    assert found(tmp_path, "space-shared-memory", spaces={str(SHARED): space})[0] is status


@pytest.mark.parametrize(
    ("soft", "status"), [(None, Status.OK), (4_096, Status.OK), (1_024, Status.WARNING), (256, Status.FAILURE)]
)
def test_few_open_files_are_told(soft, status, tmp_path):
    assert found(tmp_path, "limit-files", open_files=Limit(soft=soft, hard=4_096))[0] is status


def test_locked_memory_counts_with_rdma_cards_only(tmp_path):
    limit = Limit(soft=65_536, hard=65_536)
    assert found(tmp_path / "with", "limit-locked-memory", locked_memory=limit)[0] is Status.FAILURE
    cards = [f"/sys/class/infiniband/mlx5_{n}" for n in (0, 1)]
    names = ("board_id", "ports/1/state", "ports/1/link_layer", "ports/1/rate")
    counters = ("ports/1/counters/link_downed", "ports/1/counters/symbol_error")
    files = {f"{card}/{name}": None for card in cards for name in (*names, *counters)}
    assert found(tmp_path / "without", "limit-locked-memory", locked_memory=limit, files=files)[0] is Status.OK


@pytest.mark.parametrize(
    ("cpus", "status"), [(range(192), Status.OK), (range(4), Status.OK), (range(3), Status.WARNING)]
)
def test_fewer_cpus_than_ranks_are_told(cpus, status, tmp_path):
    assert found(tmp_path, "cpu-affinity", cpus=frozenset(cpus))[0] is status


def test_a_rank_of_its_own_cpu_shares_it_with_its_data_loading(tmp_path):
    environment = {"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}
    assert found(tmp_path, "cpu-affinity", cpus=frozenset({7}), environment=environment) == (
        Status.WARNING,
        "1 of 192 CPUs (7)",
    )
    assert found(tmp_path, "cpu-affinity", cpus=frozenset({6, 7}), environment=environment)[0] is Status.OK


@pytest.mark.parametrize(
    "files",
    [
        {"/sys/fs/cgroup/job/cpu.max": "400000 100000\n"},
        {"/sys/fs/cgroup/cpu.max": "400000 100000\n", "/sys/fs/cgroup/job/cpu.max": "max 100000\n"},
        {
            "/proc/self/cgroup": "4:cpu,cpuacct:/a/b\n3:cpuset:/\n",
            "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "400000\n",
            "/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
            "/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us": "-1\n",
            "/sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us": "100000\n",
        },
    ],
)
def test_a_quota_of_the_group_or_one_above_it_is_found(files, tmp_path):
    assert found(tmp_path, "cpu-quota", files=files) == (Status.WARNING, "4 CPUs' time for 192 CPUs")


def test_no_quota_and_no_way_to_know_it_are_not_the_same(tmp_path):
    assert found(tmp_path / "none", "cpu-quota") == (Status.OK, "none")
    assert found(tmp_path / "unknown", "cpu-quota", files={"/proc/self/cgroup": None})[0] is Status.NOT_CHECKED


@pytest.mark.parametrize(
    ("environment", "status"),
    [
        ({"OMP_NUM_THREADS": "48"}, Status.OK),
        ({"OMP_NUM_THREADS": "49"}, Status.WARNING),
        ({"OMP_NUM_THREADS": "24", "LOCAL_WORLD_SIZE": "8"}, Status.OK),
        ({"OMP_NUM_THREADS": "25", "LOCAL_WORLD_SIZE": "8"}, Status.WARNING),
        ({"OMP_NUM_THREADS": "many"}, Status.NOT_CHECKED),
        ({}, Status.NOT_CHECKED),
    ],
)
def test_threads_of_all_ranks_must_fit(environment, status, tmp_path):
    assert found(tmp_path, "cpu-threads", environment=environment)[0] is status


def test_without_ranks_threads_are_not_judged(tmp_path):
    programs = {SMI: NotCheckedError("nvidia-smi not found")}
    assert found(tmp_path, "cpu-threads", programs=programs)[0] is Status.NOT_CHECKED


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (said("no\n"), Status.WARNING),
        (said("\n"), Status.NOT_CHECKED),
        (NotCheckedError("timedatectl not found"), Status.NOT_CHECKED),
    ],
)
def test_a_clock_that_runs_alone_is_told(answer, status, tmp_path):
    assert found(tmp_path, "clock-synchronised", programs={CLOCK: answer})[0] is status
