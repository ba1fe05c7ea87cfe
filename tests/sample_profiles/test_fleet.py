"""A job as many reports: its truth is what the written rows say, on the clocks that the truth tells."""

from __future__ import annotations

import json
import sqlite3
import statistics
import struct
from bisect import bisect_right
from collections import Counter, defaultdict
from contextlib import closing
from fractions import Fraction
from itertools import pairwise

import pytest

from gapfinder.load import load_profile
from sample_profiles.fleet import build_fleet, main, parse_faults
from sample_profiles.job import Fault, Job

BILLION = 1_000_000_000
ROUNDING_NS = 2
END_JITTER_NS = 4_000
KERNELS = """
    SELECT k.start, k."end", k.streamId, k.correlationId, k.globalPid, s.value
    FROM CUPTI_ACTIVITY_KIND_KERNEL AS k JOIN StringIds AS s ON s.id = k.shortName ORDER BY k.start
"""
CALLS = "SELECT start, correlationId, globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME"
BLOBS = 'SELECT start, "end", globalTid, binaryData FROM NVTX_EVENTS WHERE binaryData IS NOT NULL ORDER BY start'
FIELDS = "SELECT DISTINCT schemaId, name, offset, type FROM NVTX_PAYLOAD_SCHEMA_ENTRIES"
UNPACK = {5: "<i", 18: "<Q", 22: "<Q"}


def build(folder, *, faults="none", hosts=2, gpus=2, steps=3, layers=3, seed=7, **how):
    job = Job(hosts=hosts, gpus=gpus, steps=steps, layers=layers, seed=seed, faults=parse_faults(faults))
    build_fleet(folder, job, **how)
    return folder


def truth(folder):
    return json.loads((folder / "fleet.truth.json").read_text(encoding="utf-8"))


def query(path, sql):
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(sql).fetchall()


def reports(folder):
    """The whole reports: (what the truth says, its path)."""
    return [(one, folder / one["file"]) for one in truth(folder)["reports"] if not one["is_truncated"]]


def true_time(report, local):
    return report["true_start_ns"] + Fraction(local * BILLION, BILLION + report["drift_ppb"])


def kernels_by_rank(folder):
    """Rows (start, end, stream, correlation, process, name) in true ns, of every rank with a report of its own."""
    found = {}
    for report, path in reports(folder):
        (rank,) = report["ranks"]
        found[rank] = [(true_time(report, a), true_time(report, b), *more) for a, b, *more in query(path, KERNELS)]
    return found


def compute_time(rows):
    return float(sum(end - start for start, end, *_, name in rows if not name.startswith("nccl")))


def payloads_of(path):
    """Decode the export's blobs: (start, end, thread, {field: value}), in order of time."""
    fields = defaultdict(list)
    for schema, name, offset, kind in query(path, FIELDS):
        if kind in UNPACK:
            fields[schema].append((name, offset or 0, UNPACK[kind]))
    found = []
    for start, end, thread, blob in query(path, BLOBS):
        _, schema, size, whole = struct.unpack_from("<4Q", blob)
        assert whole == len(blob) == 32 + size
        values = {name: struct.unpack_from(code, blob, 32 + offset)[0] for name, offset, code in fields[schema]}
        found.append((start, end, thread, values))
    return found


def collectives_of(report, path):
    """Per communicator id the rank's collectives in order: (true start, true end, bytes, kernel's name)."""
    payloads = payloads_of(path)
    began = {correlation: (start, thread) for start, correlation, thread in query(path, CALLS)}
    starts = [start for start, *_ in payloads]
    found = defaultdict(list)
    for start, end, _, correlation, _, name in query(path, KERNELS):
        if not name.startswith("nccl"):
            continue
        called, thread = began[correlation]
        begin, stop, owner, values = payloads[bisect_right(starts, called) - 1]
        assert begin <= called < stop
        assert owner == thread
        size = values["Message size [bytes]"]
        found[values["NCCL communicator ID"]].append((true_time(report, start), true_time(report, end), size, name))
    return found


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    return build(tmp_path_factory.mktemp("quiet"))


@pytest.fixture(scope="module")
def clocked(tmp_path_factory):
    return build(tmp_path_factory.mktemp("clocked"), faults="clock-offsets,clock-drift")


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    return build(tmp_path_factory.mktemp("faulty"), faults="all", hosts=4)


@pytest.fixture(params=["quiet", "clocked", "faulty"])
def fleet(request):
    return request.getfixturevalue(request.param)


def test_without_faults_there_is_a_report_of_each_rank_on_a_true_clock(quiet):
    told = truth(quiet)
    assert sorted(path.name for path in quiet.glob("*.sqlite")) == [f"rank_{rank}.sqlite" for rank in range(4)]
    assert (told["faults"], told["missing_ranks"], told["truncated"]) == ([], [], [])
    assert {(host["offset_ns"], host["drift_ppb"]) for host in told["hosts"]} == {(0, 0)}
    for report, path in reports(quiet):
        epoch = query(path, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")
        assert epoch == [(report["utc_epoch_ns"],)] == [(told["reference_utc_ns"] + report["true_start_ns"],)]


def test_a_report_says_when_it_began_by_the_wrong_clock_of_its_host(clocked):
    told = truth(clocked)
    clocks = {host["host"]: host for host in told["hosts"]}
    assert len({host["offset_ns"] for host in told["hosts"]}) == len({h["drift_ppb"] for h in told["hosts"]}) == 2
    for report, path in reports(clocked):
        host = clocks[report["host"]]
        assert 0 < abs(host["offset_ns"]) <= 5_000_000
        assert 0 < abs(host["drift_ppb"]) <= 20_000
        ((epoch,),) = query(path, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")
        begun = report["true_start_ns"]
        wrong_by = host["offset_ns"] + Fraction(begun * host["drift_ppb"], BILLION)
        assert abs(epoch - (told["reference_utc_ns"] + begun + wrong_by)) <= 1
        assert host["drift_ppb"] == report["drift_ppb"]


def test_reports_begin_at_their_own_session_start(fleet):
    begun = [report["true_start_ns"] for report, _ in reports(fleet)]
    assert len(set(begun)) == len(begun)
    assert all(min(row[0] for row in query(path, KERNELS)) > 9_000_000_000 for _, path in reports(fleet))


def test_every_collective_is_what_the_rows_say(fleet):
    told = truth(fleet)
    names = {one["id"]: one for one in told["communicators"]}
    expected = defaultdict(list)
    for one in told["collectives"]:
        assert one["number"] == len(expected[one["communicator"]])
        expected[one["communicator"]].append(one)
    seen = Counter()
    for report, path in reports(fleet):
        (rank,) = report["ranks"]
        for number, rows in collectives_of(report, path).items():
            communicator = names[number]
            place = communicator["ranks"].index(rank)
            for row, one in zip(rows, expected[communicator["communicator"]], strict=True):
                assert abs(row[0] - one["starts_ns"][place]) <= ROUNDING_NS
                assert abs(row[1] - one["ends_ns"][place]) <= ROUNDING_NS
                assert row[2] == one["bytes"]
                kind = "SendRecv" if communicator["scope"] == "link" else one["operation"]
                assert row[3].removeprefix("ncclDevKernel_").partition("_")[0] == kind
                seen[communicator["communicator"], one["number"]] += 1
    written = {rank for report, _ in reports(fleet) for rank in report["ranks"]}
    assert seen == {
        (name, one["number"]): count
        for name, ones in expected.items()
        for one in ones
        if (count := len(written & set(next(c for c in names.values() if c["communicator"] == name)["ranks"])))
    }


def test_a_transfer_begins_when_the_last_rank_comes_and_ends_for_all_at_once(fleet):
    told = truth(fleet)
    ranks = {one["communicator"]: one["ranks"] for one in told["communicators"]}
    for one in told["collectives"]:
        last = max(one["starts_ns"])
        assert one["arrival_ns"] == last
        assert one["starts_ns"][ranks[one["communicator"]].index(one["last_rank"])] == last
        assert one["waits_ns"] == [last - start for start in one["starts_ns"]]
        assert one["transfer_ns"] > 0
        assert all(0 <= end - last - one["transfer_ns"] <= END_JITTER_NS for end in one["ends_ns"])
    assert len({end - one["arrival_ns"] for one in told["collectives"] for end in one["ends_ns"]}) > len(
        told["collectives"]
    )


def test_rows_are_causal(fleet):
    for _, path in reports(fleet):
        began = {correlation: start for start, correlation, _ in query(path, CALLS)}
        streams = defaultdict(list)
        for start, end, stream, correlation, *_ in query(path, KERNELS):
            assert began[correlation] < start < end
            streams[stream].append((start, end))
        for spans in streams.values():
            assert all(before[1] <= after[0] for before, after in pairwise(sorted(spans)))
        assert {type(value) for row in query(path, KERNELS) for value in row[:5]} == {int}


def test_the_optimizer_waits_for_all_gradients(fleet):
    for rows in kernels_by_rank(fleet).values():
        reduced = [end for _, end, *_, name in rows if "AllReduce" in name or "ReduceScatter" in name]
        norms = [start for start, *_, name in rows if name == "multi_tensor_apply_kernel"][::3]
        assert len(norms) == 3
        a_step = len(reduced) // 3
        for step, norm in enumerate(norms):
            assert norm > max(reduced[step * a_step : (step + 1) * a_step])


def test_steps_join_and_their_critical_path_adds_up(fleet):
    told = truth(fleet)
    world = [one for one in told["collectives"] if one["communicator"] == "world"]
    assert [step["number"] for step in told["steps"]] == [0, 1, 2]
    assert all(before["end_ns"] == after["start_ns"] for before, after in pairwise(told["steps"]))
    for step in told["steps"]:
        final = [one for one in world if one["step"] == step["number"]][-1]
        assert step["end_ns"] == final["arrival_ns"] + final["transfer_ns"]
        assert step["last_rank"] == final["last_rank"]
        length = step["end_ns"] - step["start_ns"]
        assert sum(step["critical_ns"].values()) + step["network_ns"] == length
        assert step["critical_ns"][str(step["critical_rank"])] == max(step["critical_ns"].values())


def test_a_critical_path_waits_for_nobody(fleet):
    """Transfers on it are no longer than those of the step one after the other; what is waited for is the late rank's."""
    told = truth(fleet)
    scopes = {one["communicator"]: one["scope"] for one in told["communicators"]}
    for step in told["steps"]:
        longest = defaultdict(int)
        for one in told["collectives"]:
            if one["step"] == step["number"]:
                key = scopes[one["communicator"]], one["number"]
                longest[key] = max(longest[key], one["transfer_ns"] + END_JITTER_NS)
        assert 0 < step["network_ns"] <= sum(longest.values())


def test_a_slow_gpu_is_one_lane_and_its_host_waits_for_it(tmp_path):
    rows = kernels_by_rank(build(tmp_path, faults="slow-gpu", hosts=4))
    (slow,) = truth(tmp_path)["faults"][0]["ranks"]
    usual = statistics.median(compute_time(own) for own in rows.values())
    for rank, own in rows.items():
        assert compute_time(own) / usual == pytest.approx(1.25 if rank == slow else 1, abs=0.03)
    told = truth(tmp_path)
    assert slow != 0
    for step in told["steps"]:
        assert step["critical_rank"] == slow
        assert step["critical_ns"][str(slow)] > 0.9 * (step["end_ns"] - step["start_ns"])
    host = next(one for one in told["communicators"] if one["scope"] == "node" and slow in one["ranks"])
    inside = [one for one in told["collectives"] if one["communicator"] == host["communicator"]]
    late = Counter(one["last_rank"] for one in inside if one["operation"] == "ReduceScatter")
    assert late == {slow: 9}


def test_a_slow_node_is_all_lanes_of_one_host(tmp_path):
    rows = kernels_by_rank(build(tmp_path, faults="slow-node", hosts=3))
    (fault,) = truth(tmp_path)["faults"]
    assert len(fault["ranks"]) == 2
    usual = statistics.median(compute_time(own) for own in rows.values())
    for rank, own in rows.items():
        assert compute_time(own) / usual == pytest.approx(1.25 if rank in fault["ranks"] else 1, abs=0.03)
    assert {step["critical_rank"] for step in truth(tmp_path)["steps"]} <= set(fault["ranks"])


def test_a_slow_nic_is_in_both_links_of_its_host_and_in_no_other(faulty):
    told = truth(faulty)
    slow = set(next(fault for fault in told["faults"] if fault["fault"] == "slow-nic")["ranks"])
    links = {one["communicator"]: one["ranks"] for one in told["communicators"] if one["scope"] == "link"}
    assert len(links) == 8
    transfers = defaultdict(list)
    for one in told["collectives"]:
        if one["communicator"] in links:
            transfers[bool(slow & set(links[one["communicator"]]))].append(one["transfer_ns"])
    assert len(transfers[True]) == len(transfers[False]) == 4 * 3
    ratio = statistics.median(transfers[True]) / statistics.median(transfers[False])
    assert ratio == pytest.approx(4, rel=0.06)
    assert min(transfers[True]) > 3 * max(transfers[False])


def test_a_missing_rank_leaves_no_file_and_a_cut_report_cannot_be_read(faulty):
    told = truth(faulty)
    (missing,) = told["missing_ranks"]
    (cut,) = told["truncated"]
    files = {path.name for path in faulty.glob("*.sqlite")}
    assert files == {f"rank_{rank}.sqlite" for rank in range(8) if rank != missing}
    assert cut in files
    assert cut != f"rank_{missing}.sqlite"
    with pytest.raises(sqlite3.DatabaseError, match="malformed"):
        query(faulty / cut, "PRAGMA integrity_check")
    assert {fault["fault"] for fault in told["faults"]} == {fault.value for fault in Fault}
    # The ranks that left nothing to read took part all the same.
    assert all(len(one["starts_ns"]) == 8 for one in told["collectives"] if one["communicator"] == "world")


def test_hosts_and_ranks_are_marked(fleet):
    size = truth(fleet)["world_size"]
    for report, path in reports(fleet):
        (rank,) = report["ranks"]
        marks = query(path, "SELECT text FROM NVTX_EVENTS WHERE eventType = 34")
        local = rank % 2
        assert marks == [(f"rank={rank} local_rank={local} world_size={size} host=node{rank // 2}",)]
        assert report["host"] == f"node{rank // 2}"
        steps = query(path, "SELECT text FROM NVTX_EVENTS WHERE eventType = 59 AND text LIKE 'step %' ORDER BY start")
        assert steps == [(f"step {number}",) for number in range(3)]
        assert query(path, "SELECT DISTINCT deviceId FROM CUPTI_ACTIVITY_KIND_KERNEL") == [(local,)]
        assert query(path, "SELECT count(*) FROM TARGET_INFO_GPU") == [(2,)]


def test_gapfinder_decodes_all_payloads(quiet):
    told = {one["id"]: one for one in truth(quiet)["communicators"]}
    for report, path in reports(quiet):
        frame, undecoded = load_profile(path).read_payloads()
        assert undecoded == 0
        inits = frame[frame["ranks"] != -1]
        sizes = {number % 2**64: ranks for number, ranks in zip(inits["communicator"], inits["ranks"], strict=True)}
        assert len(sizes) == 3
        # Each link joins two ranks, and host 0 sends.
        (rank,) = report["ranks"]
        assert set(frame["peer"]) - {-1} == {1 if rank < 2 else 0}
        assert sizes == {number: len(told[number]["ranks"]) for number in sizes}


def test_without_payloads_the_operations_are_the_same(quiet, tmp_path):
    bare = build(tmp_path, has_payloads=False)
    assert truth(bare) == truth(quiet) | {"has_payloads": False}
    for report, path in reports(bare):
        assert query(path, KERNELS) == query(quiet / report["file"], KERNELS)
        assert query(path, BLOBS) == []
        assert query(path, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'NVTX_PAYLOAD%'") == [(0,)]


def test_one_report_per_host_holds_all_its_ranks(quiet, tmp_path):
    joined = build(tmp_path, per_host=True)
    assert [report["ranks"] for report, _ in reports(joined)] == [[0, 1], [2, 3]]
    assert truth(joined)["collectives"] == truth(quiet)["collectives"]
    for report, path in reports(joined):
        own = query(path, KERNELS)
        assert len({row[4] for row in own}) == 2
        alone = [row for rank in report["ranks"] for row in query(quiet / f"rank_{rank}.sqlite", KERNELS)]
        assert Counter((row[1] - row[0], row[5]) for row in own) == Counter((row[1] - row[0], row[5]) for row in alone)


def test_seed_decides_the_bytes(quiet, tmp_path):
    again, other = build(tmp_path / "again"), build(tmp_path / "other", seed=8)
    for path in quiet.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()
        assert path.read_bytes() != (other / path.name).read_bytes()


def test_a_job_on_one_host_has_no_links_and_one_gpu_a_host_no_nodes(tmp_path):
    one_host = truth(build(tmp_path / "host", hosts=1))
    one_gpu = truth(build(tmp_path / "gpu", gpus=1, hosts=3))
    assert Counter(one["scope"] for one in one_host["communicators"]) == {"world": 1, "node": 1}
    assert Counter(one["scope"] for one in one_gpu["communicators"]) == {"world": 1, "link": 3}


def test_the_command_line_writes_a_job(tmp_path):
    arguments = [str(tmp_path / "new"), "--hosts", "2", "--gpus", "1", "--steps", "1", "--layers", "1"]
    assert main([*arguments, "--faults", "missing-rank", "--per-host", "--no-payloads"]) == 0
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["fleet.truth.json", "host_0.sqlite"]
    assert truth(tmp_path / "new")["missing_ranks"] == [1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--faults", "slow-node,gremlins"], "no fault 'gremlins'; there are all, none, slow-node, "),
        (["--hosts", "1", "--faults", "slow-nic"], "slow-nic needs at least two hosts"),
        (["--hosts", "1", "--gpus", "1", "--faults", "none"], "a job needs at least two ranks, one step and one layer"),
        (["--steps", "0"], "a job needs at least two ranks, one step and one layer"),
    ],
)
def test_impossible_jobs_are_refused(tmp_path, capsys, arguments, message):
    with pytest.raises(SystemExit) as exit_:
        main([str(tmp_path), *arguments])
    assert exit_.value.code == 2
    assert message in capsys.readouterr().err


def test_a_folder_with_reports_is_refused(tmp_path):
    (tmp_path / "rank_17.sqlite").touch()
    with pytest.raises(ValueError, match="holds reports already; give an empty folder"):
        build(tmp_path)


@pytest.mark.parametrize("hosts", [2, 3, 4, 5, 8])
@pytest.mark.parametrize("gpus", [1, 2, 4, 8])
def test_faults_fall_on_different_places(hosts, gpus):
    job = Job(hosts=hosts, gpus=gpus)
    assert job.missing_rank != job.truncated_rank
    assert job.host_of(job.slow_rank) != job.slow_host
    assert {job.missing_rank, job.truncated_rank, job.slow_rank} <= set(range(job.world_size))


def test_the_usual_job_misses_rank_17():
    job = Job()
    assert (job.world_size, job.missing_rank, job.slow_host, job.slow_nic) == (64, 17, 3, 5)


def test_a_repeated_job_still_agrees_over_its_reports(tmp_path):
    arguments = [str(tmp_path), "--hosts", "2", "--gpus", "1", "--steps", "2", "--layers", "1", "--faults", "none"]
    assert main([*arguments, "--kernels", "300"]) == 0
    assert not (tmp_path / "fleet.truth.json").exists()
    ends = []
    for path in sorted(tmp_path.glob("*.sqlite")):
        assert query(path, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL")[0][0] >= 300
        (began,) = query(path, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME")[0]
        reduced = 'SELECT "end" FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName WHERE value LIKE ?'
        with sqlite3.connect(path) as connection:
            rows = connection.execute(f'{reduced} ORDER BY "end"', ("%AllReduce%",)).fetchall()
        connection.close()
        ends.append([began + end for (end,) in rows])
    assert len(ends[0]) == len(ends[1]) > 10
    assert max(abs(one - other) for one, other in zip(*ends, strict=True)) <= 10_000


def test_a_cut_report_is_not_repeated(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(
            [
                str(tmp_path),
                "--hosts=2",
                "--gpus=1",
                "--steps=1",
                "--layers=1",
                "--faults=truncated-report",
                "--kernels=9",
            ]
        )
    assert "a report that is cut off cannot be repeated" in capsys.readouterr().err
