"""A prepared profile holds what was measured, exactly; and it is there whole, or not at all."""

from __future__ import annotations

import errno
import os
import pickle
import sqlite3
from pathlib import Path

import msgspec
import numpy as np
import pytest
from dashboard_data import RawFile, files, needs_real, prepared, real, sample, stored
from measured import with_collectives

from dashboards.data import preparing
from dashboards.data.opening import OpenProfiles, open_prepared
from dashboards.data.preparing import prepare_profile
from dashboards.data.trace import Kind
from dashboards.store.records import JobState
from gapfinder.errors import InputError
from gapfinder.explanations import Cause
from gapfinder.findings import explained
from gapfinder.load import load_profile
from gapfinder.settings import Settings

FILES = files(samples=["broken_overlap", "cuda_graphs"], reals=["job128_ranks_0_1", "h100x2_sendrecv_after"])
SAMPLE = sample("broken_overlap")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prepared") / "sample"
    prepared([SAMPLE], folder)
    return folder


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


@pytest.mark.parametrize("file", FILES)
def test_holes_and_causes_are_those_of_the_analysis(file: Path, tmp_path: Path) -> None:
    profile = prepared([file], tmp_path / "a")
    assert len(profile.trace.lanes) == len(profile.analysis.lanes) > 0
    for trace, lane in zip(profile.trace.lanes, profile.analysis.lanes, strict=True):
        holes = trace.holes
        lengths = holes.ends - holes.starts
        assert (len(lengths), lengths.sum()) == (lane.holes.count, lane.holes.total_ns)
        assert (holes.shares.sum(axis=1) == lengths).all()
        assert (holes.idle + holes.exposed + holes.copy_only == lengths).all()
        sums = dict(zip(Cause, holes.shares.sum(axis=0).tolist(), strict=True))
        assert {cause: ns for cause, ns in sums.items() if ns} == lane.causes
        at = {start: place for place, start in enumerate(holes.starts.tolist())}
        for hole in lane.holes.top:
            place = at[hole.start_ns]
            assert tuple(Cause)[holes.causes[place]] is hole.cause
            assert {
                c: ns for c, ns in zip(Cause, holes.shares[place].tolist(), strict=True) if ns
            } == hole.evidence.shares


def test_the_analysis_is_that_of_the_command_but_for_more_holes(folder: Path) -> None:
    analysis, collectives = with_collectives([load_profile(SAMPLE)])
    expected = explained(analysis)
    profile = open_prepared(stored(folder))
    assert profile.analysis.findings == expected.findings
    assert profile.analysis.coverage == expected.coverage
    assert [lane.causes for lane in profile.analysis.lanes] == [lane.causes for lane in expected.lanes]
    assert profile.analysis.lanes[0].holes.top[:10] == expected.lanes[0].holes.top[:10]
    assert profile.trace.collectives.equals(collectives)


def test_columns_are_views_of_the_files(folder: Path) -> None:
    lane = open_prepared(stored(folder)).trace.lanes[0]
    assert not any(array.flags.owndata or array.flags.writeable for array in (lane.holes.shares, lane.holes.starts))


@needs_real
def test_several_files_are_one_run_and_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, float | None]] = []
    reports = [real("job128_ranks_0_1"), real("graph_trace_tiny")]
    prepare_profile(reports, folder=tmp_path / "a", settings=Settings(), told=lambda *what: told.append(what))
    profile = open_prepared(stored(tmp_path / "a"))
    assert [lane.file for lane in profile.analysis.lanes] == [
        *["job128_ranks_0_1.sqlite"] * 2,
        "graph_trace_tiny.sqlite",
    ]
    assert [len(lane.holes.starts) for lane in profile.trace.lanes] == [
        lane.holes.count for lane in profile.analysis.lanes
    ]
    assert "graph_trace_tiny.sqlite (2 of 2)" in told[1][0]
    known = [progress for _, progress in told if progress is not None]
    assert known == sorted(known)


def test_a_profile_without_gpu_work_opens(tmp_path: Path) -> None:
    host_only = tmp_path / "host.sqlite"
    host_only.write_bytes(SAMPLE.read_bytes())
    with sqlite3.connect(host_only) as database:
        for table in ("KERNEL", "MEMCPY", "MEMSET"):
            database.execute(f"DROP TABLE IF EXISTS CUPTI_ACTIVITY_KIND_{table}")
    database.close()
    profile = prepared([host_only], tmp_path / "a")
    assert profile.analysis.lanes == profile.trace.lanes == ()
    assert profile.analysis.coverage.notes
    assert any(process.steps for process in profile.analysis.processes)


def test_what_cannot_be_measured_leaves_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.sqlite"
    bad.write_bytes(b"no database")
    with pytest.raises(InputError, match=r"bad\.sqlite"):
        prepared([SAMPLE, bad], tmp_path / "a")
    assert [file.name for file in tmp_path.iterdir()] == ["bad.sqlite"]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_args: object, **_named: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(preparing, "write_collectives", full)
    with pytest.raises(InputError, match="No space left on device"):
        prepared([SAMPLE], tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(InputError, match="exists"):
        prepared([SAMPLE], tmp_path / "a")
    assert list((tmp_path / "a").iterdir()) == []


def test_what_is_not_ready_is_not_opened(folder: Path) -> None:
    with pytest.raises(InputError, match="not prepared"):
        open_prepared(stored(folder, state=JobState.RUNNING))


def _damages(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


class _Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (_Bomb.target,)

    target = ""


@pytest.mark.parametrize("damage", ["half", "empty", "gone", "pickle", "same length"])
def test_any_damaged_file_is_an_error_of_one_line_and_runs_no_code(copy: Path, damage: str) -> None:
    _Bomb.target = str(copy / "exploded")
    for name in _damages(copy):
        file, whole = copy / name, (copy / name).read_bytes()
        if damage == "gone":
            file.unlink()
        else:
            bomb = pickle.dumps(_Bomb())
            file.write_bytes(
                {
                    "half": whole[: len(whole) // 2],
                    "empty": b"",
                    "pickle": bomb,
                    "same length": (bomb * len(whole))[: len(whole)],
                }[damage]
            )
        with pytest.raises(InputError) as caught:
            open_prepared(stored(copy))
        assert "\n" not in str(caught.value)
        assert "prepare" in str(caught.value)
        file.write_bytes(whole)
    assert not (copy / "exploded").exists()
    open_prepared(stored(copy))


@pytest.mark.parametrize(("key", "value"), [("format", 999), ("gapfinder", "0.0.0"), ("lanes", "none")])
def test_another_version_is_named(copy: Path, key: str, value: object) -> None:
    manifest = copy / "manifest.json"
    changed = msgspec.json.decode(manifest.read_bytes()) | {key: value}
    manifest.write_bytes(msgspec.json.encode(changed))
    with pytest.raises(InputError, match="again"):
        open_prepared(stored(copy))


def test_few_are_kept_open(folder: Path) -> None:
    opened: list[str] = []
    profiles = OpenProfiles(lambda profile: (opened.append(profile), open_prepared(stored(folder)))[1])
    assert profiles.get("a") is profiles.get("a")
    profiles.forget("a")
    profiles.get("a")
    assert opened == ["a", "a"]


@needs_real
def test_every_operation_of_the_file_is_kept(tmp_path: Path) -> None:
    file = real("job128_ranks_0_1")
    profile, raw = prepared([file], tmp_path / "a"), RawFile(file)
    for trace, lane in zip(profile.trace.lanes, profile.analysis.lanes, strict=True):
        for kind, nccl in ((Kind.COMPUTE, False), (Kind.COMMUNICATION, True)):
            one = trace.operations[kind]
            names = [profile.trace.names[code] for code in one.names.tolist()]
            kept = zip(one.starts.tolist(), one.ends.tolist(), names, one.streams.tolist(), strict=True)
            expected = [(r.start, r.end, r.name, r.stream) for r in raw.kernels(lane.pid, lane.device, nccl=nccl)]
            assert sorted(kept) == sorted(expected)
            assert (np.diff(one.starts) >= 0).all()
    raw.close()
