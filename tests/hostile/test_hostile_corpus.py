"""Every hostile file through the commands: a right result, or one clear line; in bounded time and memory, and no fault."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from documents import words
from hostile_base import LANE, MEASURED, Case, sound_bytes, written
from hostile_files import all_cases
from hostile_runs import Worker, hold, hold_numbers, plan_of, worker
from hostile_times import lanes, names
from hostile_worker import LONGEST_S, MOST_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALL = os.environ.get("GAPFINDER_HOSTILE") == "all"
CASES = {case.name: (number, case) for number, case in enumerate(all_cases())}
RUN = [
    pytest.param(name, marks=[pytest.mark.nsys] if 4 in case.codes else [])
    for name, (_, case) in CASES.items()
    if ALL or not case.is_rest
]


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with worker(tmp_path_factory.mktemp("hostile")) as one:
        yield one


def run(commands: Worker, case: Case, folder: Path, number: int = 0) -> None:
    path = case.make(folder)
    for done in commands.run(path, plan_of(case, number)):
        hold(case, path, done)
        if done["what"] == "analyze" and done["exit_code"] in (0, 3):
            hold_numbers(case, json.loads(done["stdout"]))


def test_the_corpus_is_large_and_no_two_files_have_one_name():
    assert len(CASES) == len(list(all_cases()))
    assert len(RUN) >= 200
    assert "make over a thousand hostile files" in words("docs/design.md")
    assert 1_000 < len(CASES) < 2_000


def test_a_sound_file_is_measured_and_a_wrong_expectation_is_noticed(commands, tmp_path):
    case = Case(name="sound", make=written(sound_bytes()), codes=MEASURED, lane=LANE, lanes=1)
    run(commands, case, tmp_path)
    wrong = Case(name="sound", make=written(sound_bytes()), codes=MEASURED, lane=LANE | {"idle_ns": 0}, lanes=1)
    with pytest.raises(AssertionError, match="idle_ns"):
        run(commands, wrong, tmp_path)


@pytest.mark.parametrize("name", RUN)
def test_a_hostile_file_ends_as_it_should(commands, name, tmp_path):
    number, case = CASES[name]
    run(commands, case, tmp_path, number)


TOO_MANY = [
    pytest.param(lanes(1_000_000), "at most 4,096 can be", id="lanes"),
    *([pytest.param(names(10_000_000), "at most 1,048,576 can be", id="names")] if ALL else []),
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "said"), TOO_MANY)
def test_far_too_many_of_what_is_few_are_refused(commands, make, said, tmp_path):
    (done,) = commands.run(make(tmp_path), ["analyze"])
    assert not done["fault"]
    assert (done["exit_code"], said in done["stderr"]) == (2, True)


@pytest.mark.slow
def test_very_many_names_take_bounded_time_and_memory(commands, tmp_path):
    """They take both in proportion, a million more than any command may: half of the time, a third of the memory."""
    (done,) = commands.run(names(100_000)(tmp_path), ["analyze"])
    assert not done["fault"]
    assert done["seconds"] < LONGEST_S / 2
    assert done["bytes"] < MOST_BYTES / 3
    (lane,) = json.loads(done["stdout"])["lanes"]
    assert (lane["kernels"], lane["compute_ns"], lane["idle_ns"]) == (100_000, 500_000, 499_995)


def test_the_same_rows_in_another_order_are_the_same_report(commands, tmp_path):
    path = written(sound_bytes())(tmp_path)
    (before,) = commands.run(path, ["analyze"])
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            database.execute(f"CREATE TEMP TABLE kept AS SELECT * FROM {table} ORDER BY rowid DESC")
            database.execute(f"DELETE FROM {table}")
            database.execute(f"INSERT INTO {table} SELECT * FROM kept")
            database.execute("DROP TABLE kept")
        database.commit()
    (after,) = commands.run(path, ["analyze"])
    assert before["stdout"] == after["stdout"] != ""
