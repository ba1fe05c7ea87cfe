"""The command line: the same bytes twice, other bytes for another seed, drift found, benchmarks scaled."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from sample_profiles import build


def test_seed_decides_the_bytes(tmp_path):
    files = [tmp_path / name for name in ("one.sqlite", "two.sqlite", "other.sqlite")]
    for path, seed in zip(files, (5, 5, 6), strict=True):
        build.build_profile("fsdp", path, seed=seed, steps=2, ranks=2)
    first, second, other = (path.read_bytes() for path in files)
    assert first == second
    assert first != other
    truths = [build.truth_path(path).read_text() for path in files]
    assert truths[0] == truths[1]
    assert truths[0].replace('"seed": 5', '"seed": 6') != truths[2]


def test_an_old_profile_is_replaced(tmp_path):
    path = tmp_path / "one.sqlite"
    for ranks in (2, 1):
        truth = build.build_profile("healthy", path, steps=1, ranks=ranks)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM PROCESSES").fetchone() == (len(truth.lanes),) == (1,)


def test_an_unknown_state_lists_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match="no state 'sick'; there are healthy, "):
        build.build_profile("sick", tmp_path / "x.sqlite")


@pytest.fixture
def bundle(tmp_path, monkeypatch):
    """A bundle of one state, small enough to rebuild often."""
    monkeypatch.setattr(build, "BUNDLE", tmp_path)
    monkeypatch.setattr(build, "STATES", {"cuda_graphs": build.STATES["cuda_graphs"]})
    assert build.main([]) == 0
    return tmp_path


def test_check_passes_on_what_was_built(bundle, capsys):
    assert build.main(["--check"]) == 0
    assert capsys.readouterr().err == ""
    assert sorted(path.name for path in bundle.iterdir()) == ["cuda_graphs.sqlite", "cuda_graphs.truth.json"]


def test_check_names_a_changed_and_a_missing_file(bundle, capsys):
    profile = bundle / "cuda_graphs.sqlite"
    profile.write_bytes(profile.read_bytes() + b"\0")
    (bundle / "cuda_graphs.truth.json").unlink()
    assert build.main(["--check"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "cuda_graphs.sqlite differs from what this program builds; run python -m sample_profiles.build",
        "cuda_graphs.truth.json is missing; run python -m sample_profiles.build",
    ]


def test_kernels_scales_the_profile(tmp_path):
    path = tmp_path / "big.sqlite"
    size = ["--steps", "2", "--ranks", "2", "--kernels", "5000", "--output", str(path)]
    assert build.main(size) == 0
    assert not build.truth_path(path).exists()
    with closing(sqlite3.connect(path)) as connection:
        ask = connection.execute
        kernels, first, last = ask('SELECT count(*), min(start), max("end") FROM CUPTI_ACTIVITY_KIND_KERNEL').fetchone()
        assert 5000 <= kernels < 5300
        launches = "SELECT count(*), count(DISTINCT (globalTid >> 24) || ' ' || correlationId) FROM CUPTI_ACTIVITY_KIND_RUNTIME"
        rows, distinct = ask(launches).fetchone()
        assert rows == distinct > 5000
        late = """
            SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL AS k LEFT JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r
            ON r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24
            WHERE r.start IS NULL OR r.start >= k.start
        """
        assert ask(late).fetchone() == (0,)
        steps = [
            text for (text,) in ask("SELECT text FROM NVTX_EVENTS WHERE text LIKE 'step %' ORDER BY start, globalTid")
        ]
        assert set(steps) == {f"step {number}" for number in range(len(steps) // 2)}
        assert ask("SELECT count(*) FROM NVTX_EVENTS WHERE eventType = 34").fetchone() == (2,)
        duration = ask("SELECT duration FROM ANALYSIS_DETAILS").fetchone()[0]
        assert first < last < duration
        overlapping = """
            SELECT count(*) FROM (SELECT start < lag("end") OVER (PARTITION BY globalPid, streamId ORDER BY start) AS bad
            FROM CUPTI_ACTIVITY_KIND_KERNEL) WHERE bad
        """
        assert ask(overlapping).fetchone() == (0,)


def test_a_deeper_model_has_more_kernels_and_a_fixed_one_refuses(tmp_path) -> None:
    def kernels(layers: int | None) -> int:
        path = tmp_path / "deep.sqlite"
        build.build_profile("healthy", path, steps=1, ranks=2, layers=layers)
        with closing(sqlite3.connect(path)) as connection:
            return connection.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0]

    assert kernels(10) > 1.8 * kernels(None)
    with pytest.raises(ValueError, match="fsdp has a fixed number of layers"):
        build.build_profile("fsdp", tmp_path / "x.sqlite", layers=10)
