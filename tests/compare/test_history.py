"""The history file: what is stored is found again, by two writers at once, and nothing of a stranger is trusted."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from analysis_values import MS
from snapshots import finding_total, lane_of, simulated, snapshot_of, steps_of_ms, without_steps

from gapfinder.compare.history import (
    Source,
    accept,
    default_store,
    find_run,
    recent,
    record,
    remove,
    runs,
    schema,
    trend,
)
from gapfinder.compare.history.file import history
from gapfinder.compare.metrics import METRICS, find_metric
from gapfinder.compare.snapshot import Snapshot
from gapfinder.errors import InconclusiveError, InputError
from gapfinder.explanations import Cause

ROOT = Path(__file__).parents[2]
STEP = {"compute": 60.0, "hidden": 20.0, "exposed": 15.0, "idle": 5.0}


@pytest.fixture
def store(tmp_path):
    return tmp_path / ".gapfinder" / "history.db"


def put(store: Path, snapshot: Snapshot, *, branch: str = "main", accepted: bool = True, label: str | None = None):
    return record(store, snapshot, branch=branch, source=Source.RUN, accepted=accepted, label=label)


def rows(store: Path, sql: str) -> list[tuple]:
    with closing(sqlite3.connect(store)) as database:
        return database.execute(sql).fetchall()


def test_a_history_that_is_not_there_is_made_by_writing_only(store):
    for read in (lambda: runs(store), lambda: recent(store, branch="main", count=3), lambda: find_run(store, 1)):
        with pytest.raises(InputError, match=r"no history at .*`gapfinder history add` makes one"):
            read()
    assert not store.parent.exists()
    assert put(store, simulated(seed=1)).is_new
    assert [run.id for run in runs(store)] == [1]


def test_what_is_stored_is_found_again_whole(store):
    snapshot = replace(simulated(seed=1), commit="f" * 40)
    stored = put(store, snapshot, label="first").run
    assert find_run(store, stored.id) == (stored, snapshot)
    assert (stored.branch, stored.label, stored.source, stored.accepted) == ("main", "first", "run", True)
    assert (stored.digest, stored.git_commit, stored.lanes, stored.steps) == (snapshot.digest, "f" * 40, 2, 40)


def test_nothing_measured_is_not_stored(store):
    with pytest.raises(InconclusiveError, match="not stored: no GPU operation"):
        put(store, snapshot_of())
    with pytest.raises(InputError, match="name of a branch"):
        put(store, simulated(seed=1), branch=" ")
    assert not store.exists()


def test_one_capture_is_stored_once_in_a_branch(store):
    first = put(store, simulated(seed=1))
    again = put(store, simulated(seed=1), label="again", accepted=False)
    assert (again.is_new, again.run) == (False, first.run)
    assert put(store, simulated(seed=1), branch="feature").is_new
    assert [run.branch for run in runs(store)] == ["main", "feature"]
    assert [run.id for run in runs(store, branch="feature")] == [2]


def test_the_last_accepted_runs_of_the_branch_come_oldest_first(store):
    for seed in range(6):
        put(store, simulated(seed=seed), accepted=seed != 4, branch="other" if seed == 2 else "main")
    assert recent(store, branch="main", count=3) == (simulated(seed=1), simulated(seed=3), simulated(seed=5))
    assert [one.digest for one in recent(store, branch="main", count=9)] == [f"simulated {n}" for n in (0, 1, 3, 5)]
    assert recent(store, branch="main", count=0) == recent(store, branch="nobody", count=3) == ()


def test_a_run_can_be_accepted_later_and_taken_back(store):
    put(store, simulated(seed=1), accepted=False)
    assert recent(store, branch="main", count=1) == ()
    assert accept(store, 1, accepted=True).accepted
    assert recent(store, branch="main", count=1) == (simulated(seed=1),)
    assert not accept(store, 1, accepted=False).accepted
    with pytest.raises(InputError, match="no run 7 in the history"):
        accept(store, 7, accepted=True)


def test_a_removed_run_leaves_nothing(store):
    put(store, simulated(seed=1))
    put(store, replace(simulated(seed=2), findings=(finding_total("straggler", lost_ms=1),)))
    assert remove(store, 2).id == 2
    assert [run.id for run in runs(store)] == [1]
    for table in schema.TABLES[1:]:
        assert rows(store, f"SELECT DISTINCT run FROM {table.name}") in ([(1,)], [])
    with pytest.raises(InputError, match="no run 2"):
        remove(store, 2)


def test_the_tables_say_what_the_snapshot_says(store):
    lane = replace(lane_of(steps_of_ms(STEP, {**STEP, "idle": 7.0})), causes={Cause.DATA_LOADING: 6 * MS})
    blind = replace(lane_of(steps_of_ms(STEP, STEP), rank=1), idle_reason="graphs", causes={Cause.UNKNOWN: 1})
    put(store, snapshot_of(lane, blind, findings=(finding_total("straggler", lost_ms=3, share=0.5, lane=1),)))
    assert rows(store, "SELECT lane, label, idle_ns, exposed_ns, steps, step_mean_ns FROM lanes ORDER BY lane") == [
        (0, "rank 0", 12 * MS, 30 * MS, 2, 101 * MS),
        (1, "rank 1", None, 30 * MS, 2, 100 * MS),
    ]
    assert rows(store, "SELECT lane, cause, hole_ns FROM causes") == [(0, "data_loading", 6 * MS)]
    assert rows(store, "SELECT code, lost_ns, share, lane FROM findings") == [("straggler", 3 * MS, 0.5, 1)]
    told = {name: (value, unit) for name, value, unit in rows(store, "SELECT metric, value, unit FROM metrics")}
    assert told["overlap_ratio"] == (80 / 140, "ratio")
    assert told["exposed_ms_per_step"] == (15.0, "ms")
    assert "idle_share" not in told


def test_without_steps_only_ratios_are_kept(store):
    put(store, without_steps(simulated(seed=1)))
    kept = {name for (name,) in rows(store, "SELECT metric FROM metrics")}
    assert kept == {"overlap_ratio", "exposed_share", "idle_share", "busy_share"} <= set(METRICS)


def test_a_trend_marks_the_run_that_changed_the_level(store):
    for seed in range(20):
        put(store, simulated(seed=seed, noise=0.01, exposed=10.0 if seed < 12 else 14.0))
    found = trend(store, metric=find_metric("exposed_ms_per_step"), branch="main")
    assert [point.run.id for point in found.points if point.change] == [13]
    (change,) = [point.change for point in found.points if point.change]
    assert (change.before, change.after) == (pytest.approx(10 * MS, rel=0.02), pytest.approx(14 * MS, rel=0.02))
    assert found.points[0].value == pytest.approx(10 * MS, rel=0.02)


def test_a_run_that_could_not_measure_it_has_no_value_in_a_trend(store):
    put(store, simulated(seed=1))
    put(store, without_steps(simulated(seed=2)))
    values = [point.value for point in trend(store, metric=find_metric("step_p50"), branch="main").points]
    assert [value is None for value in values] == [False, True]


def test_the_nearest_history_upwards_is_taken(tmp_path):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert default_store(below) == below / ".gapfinder" / "history.db"
    put(tmp_path / ".gapfinder" / "history.db", simulated(seed=1))
    assert default_store(below) == tmp_path / ".gapfinder" / "history.db"


def test_two_writers_at_once_lose_nothing(store):
    with ThreadPoolExecutor(4) as pool:
        stored = list(pool.map(lambda seed: put(store, simulated(seed=seed)).run.id, range(12)))
    assert sorted(stored) == [run.id for run in runs(store)] == list(range(1, 13))


def test_a_writer_that_dies_leaves_the_old_history(store):
    put(store, simulated(seed=1))
    code = (
        "import os, sys; from pathlib import Path; from gapfinder.compare.history.file import history\n"
        "with history(Path(sys.argv[1]), writes=True) as database:\n"
        "    database.execute('PRAGMA cache_size = 1')\n"
        "    rows = ({'run': 1, 'metric': f'half {n}', 'value': 1.0, 'unit': 'ms'} for n in range(5_000))\n"
        "    database.table('metrics').insert_all(rows)\n"
        "    os.abort()\n"
    )
    died = subprocess.run([sys.executable, "-c", code, store], cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert died.returncode < 0
    assert Path(f"{store}-journal").stat().st_size > 0  # half of it is in the file
    assert [run.id for run in runs(store)] == [1]  # a reader undoes it
    assert rows(store, "SELECT 1 FROM metrics WHERE metric LIKE 'half%'") == []
    assert put(store, simulated(seed=2)).run.id == 2


def test_an_error_in_the_middle_undoes_everything(store):
    put(store, simulated(seed=1))
    broken = replace(simulated(seed=2), findings=(replace(finding_total("x", lost_ms=1), lost_ns="many"),))
    with pytest.raises(InputError, match="cannot write the history"):
        put(store, broken)
    assert [run.id for run in runs(store)] == [1]
    assert {run for (run,) in rows(store, "SELECT run FROM metrics")} == {1}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"just text, no database at all", "it is no SQLite file"),
        (b"SQLite format 3\0" + b"\xff" * 200, "cannot read the history"),
    ],
)
def test_what_is_no_history_is_one_line_and_stays_as_it_is(content, words, store):
    store.parent.mkdir()
    store.write_bytes(content)
    with pytest.raises(InputError, match=words):
        runs(store)
    with pytest.raises(InputError):
        put(store, simulated(seed=1))
    assert store.read_bytes() == content


def test_a_folder_or_a_foreign_database_is_refused(tmp_path):
    with pytest.raises(InputError, match="it is no file"):
        runs(tmp_path)
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign)) as database:
        database.execute("CREATE TABLE runs (id INTEGER PRIMARY KEY)")
        database.commit()
    before = foreign.read_bytes()
    with pytest.raises(InputError, match="another program made this SQLite file"):
        put(foreign, simulated(seed=1))
    assert foreign.read_bytes() == before


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END", "it has the trigger 't'"),
        ("CREATE INDEX i ON runs (abs(lanes))", "it has the index 'i'"),
        ("ALTER TABLE lanes ADD COLUMN more TEXT", "the table lanes is not as it was made"),
        ("DROP TABLE causes", "the table causes is not as it was made"),
        (
            "DROP TABLE causes; CREATE VIEW causes AS SELECT 1 run, 2 lane, 3 cause, 4 hole_ns",
            "the table causes is not",
        ),
    ],
)
def test_a_history_that_another_program_changed_is_refused(sql, words, store):
    put(store, simulated(seed=1))
    with closing(sqlite3.connect(store)) as database:
        database.executescript(sql)
    with pytest.raises(InputError, match=words):
        put(store, simulated(seed=2))
    with pytest.raises(InputError, match=words):
        runs(store)


def test_a_schema_that_is_no_text_is_one_line(store):
    put(store, simulated(seed=1))
    with closing(sqlite3.connect(store)) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("CREATE TABLE more (id)")
        database.execute(
            "UPDATE sqlite_master SET sql = CAST('CREATE TABLE more (id /*' || x'9c' || '*/)' AS TEXT) WHERE name = 'more'"
        )
        database.commit()
    with pytest.raises(InputError, match="cannot read the history"):
        runs(store)


UNTYPED = """
PRAGMA legacy_alter_table = ON;
CREATE TABLE loose AS SELECT * FROM runs;
DROP TABLE runs;
ALTER TABLE loose RENAME TO runs;
UPDATE runs SET lanes = 'many';
"""


def test_values_that_cannot_be_are_one_line(store):
    put(store, simulated(seed=1))
    with closing(sqlite3.connect(store)) as database:
        database.executescript("UPDATE metrics SET value = 9e999")
    with pytest.raises(InputError, match="no float for value in the table metrics"):
        trend(store, metric=find_metric("overlap_ratio"), branch="main")
    with closing(sqlite3.connect(store)) as database:
        database.executescript(UNTYPED)
    with pytest.raises(InputError, match="no int for lanes in the table runs"):
        runs(store)


def test_numbers_of_runs_that_are_used_up_are_one_line(store):
    put(store, simulated(seed=1))
    with closing(sqlite3.connect(store)) as database:
        database.executescript(f"UPDATE runs SET id = {2**63 - 1}")
    with pytest.raises(InputError, match=r"cannot write the history .* too large"):
        put(store, simulated(seed=2))


def test_views_of_others_do_no_harm(store):
    put(store, simulated(seed=1))
    with closing(sqlite3.connect(store)) as database:
        database.execute("CREATE VIEW ours AS SELECT * FROM runs JOIN metrics ON run = id")
    assert put(store, simulated(seed=2)).run.id == 2


def test_a_stored_snapshot_is_not_trusted(store):
    put(store, simulated(seed=1))
    with closing(sqlite3.connect(store)) as database:
        database.execute("""UPDATE snapshots SET snapshot = '{"schema_version": 1}'""")
        database.commit()
    with pytest.raises(InputError, match=r"run 1 of .* is no snapshot of gapfinder"):
        recent(store, branch="main", count=1)


def test_a_history_of_a_newer_gapfinder_is_refused(store):
    put(store, simulated(seed=1))
    with closing(sqlite3.connect(store)) as database:
        database.execute("PRAGMA user_version = 99")
    for use in (lambda: runs(store), lambda: put(store, simulated(seed=2))):
        with pytest.raises(InputError, match=r"written by a newer gapfinder \(version 99, this one knows 1\)"):
            use()


def test_an_old_history_is_brought_up_to_date_when_it_is_written(store, monkeypatch):
    put(store, simulated(seed=1))

    def second_version(database) -> None:
        database.table("hosts").create({"name": str}, strict=True)

    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, second_version))
    with pytest.raises(InputError, match="of an older gapfinder"):
        runs(store)
    put(store, simulated(seed=2))
    assert [run.id for run in runs(store)] == [1, 2]
    assert rows(store, "PRAGMA user_version") == [(2,)]
    assert find_run(store, 1)[1] == simulated(seed=1)


def test_a_locked_history_is_one_line(store, monkeypatch):
    put(store, simulated(seed=1))
    monkeypatch.setattr("gapfinder.compare.history.file._LOCK_SECONDS", 0)
    with history(store, writes=True), pytest.raises(InputError, match="database is locked"):
        put(store, simulated(seed=2))
