"""Every JSON name of a comparison and every column of a history is in docs/."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from analysis_values import MS
from snapshots import finding_total, simulated
from test_docs import document, keys

from gapfinder.compare.diff import diff
from gapfinder.compare.history import Source, record, schema
from gapfinder.compare.snapshot import CollectiveTotal, Snapshot
from gapfinder.explanations import Cause, KernelTotal
from gapfinder.render.difference import render_difference_json

TYPES = {int: "INTEGER", float: "REAL", str: "TEXT"}
TWICE = ("after", "lanes[].before", "lanes[].after", "collectives[].after", "kernels[].after", "calls[].after")
"""What is described once, where it is called before."""


def full(seed: int) -> Snapshot:
    one = simulated(seed=seed)
    lanes = tuple(replace(lane, causes={Cause.COPY: 1}, sync_calls={"sync": (seed, MS)}) for lane in one.lanes)
    collective = CollectiveTotal(
        operation="AllReduce",
        communicator="c",
        instances=4,
        total_ns=4 * MS,
        hidden_ns=MS,
        exposed_ns=3 * MS,
        wait_ns=MS,
        transfer_ns=3 * MS,
        bytes_total=None,
    )
    kernel = KernelTotal(name="gemm", is_communication=False, count=seed, total_ns=MS)
    finding = finding_total("straggler", lost_ms=seed, lane=1)
    return replace(one, lanes=lanes, collectives=(collective,), kernels=(kernel,), findings=(finding,))


def test_every_json_name_of_a_comparison_is_described_and_no_other():
    written = keys(json.loads(render_difference_json(diff(full(1), full(2)))))
    once = {name for name in written if not name.startswith(tuple(f"{place}." for place in TWICE))}
    described = {line.split("`")[1] for line in document("diff.md").splitlines() if line.startswith("| `")}
    assert "before.budget.idle_ns" in once
    assert described == once


def test_every_table_and_column_of_a_history_is_described_and_no_other(tmp_path: Path):
    described: dict[str, list[str]] = {}
    for line in document("history.md").partition("## Tables\n")[2].splitlines():
        if line.startswith("### "):
            described[line.removeprefix("### ")] = []
        elif line.startswith("| `"):
            described[next(reversed(described))].append(line)
    assert described == {
        table.name: [
            f"| `{one.name}` | {TYPES[one.type]}{' or null' if one.is_nullable else ''} | {one.meaning} |"
            for one in table.columns
        ]
        for table in schema.TABLES
    }
    store = tmp_path / "history.db"
    record(store, full(1), branch="main", source=Source.ADD, accepted=True)
    with closing(sqlite3.connect(store)) as database:
        real = {
            name: [
                (column, kind if is_required else f"{kind} or null")
                for _, column, kind, is_required, *_ in database.execute(f"PRAGMA table_info({name})")
            ]
            for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        filled = {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in real}
    assert all(filled.values())
    assert real == {
        name: [(line.split("`")[1], line.split("|")[2].strip()) for line in lines] for name, lines in described.items()
    }
    assert f"the version of the tables, {len(schema.MIGRATIONS)} now" in document("history.md")


def test_every_source_of_a_run_is_described():
    assert [source for source in Source if f"`{source}`" not in document("history.md")] == []
