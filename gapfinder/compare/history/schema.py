"""The tables of a history file, as other programs may read them; docs/history.md holds the same columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlite_utils import Database

APPLICATION_ID = 0x67617066
"""SQLite's mark of whose file it is: "gapf"."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, the type of its values, what it means with its unit, and whether it may be null."""

    name: str
    type: type[int | float | str]
    meaning: str
    is_nullable: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """One table; the columns in `key` tell its rows apart."""

    name: str
    meaning: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]


_RUN = Column("run", int, "`runs.id`")
RUNS = Table(
    name="runs",
    meaning="One row per measured training.",
    key=("id",),
    columns=(
        Column("id", int, "number of the run; grows with time"),
        Column("recorded", str, "when it was stored, ISO 8601 in UTC"),
        Column("created", str, "when it was measured, ISO 8601 in UTC"),
        Column("branch", str, "what it is a run of: runs are compared within a branch"),
        Column("label", str, "a word of the user", is_nullable=True),
        Column("source", str, "what stored it: `run`, `check`, `dashboard`, `watch` or `add`"),
        Column("accepted", int, "1 where later runs may be compared with it, else 0"),
        Column("digest", str, "of every lane's budgets and steps: the same for the same capture"),
        Column("git_commit", str, "of the training's code", is_nullable=True),
        Column("gapfinder_version", str, "what measured"),
        Column("nsys_version", str, "what captured", is_nullable=True),
        Column("gpu_names", str, "GPU models, with commas between several", is_nullable=True),
        Column("world_size", int, "ranks in the job", is_nullable=True),
        Column("lanes", int, "GPUs as processes use them"),
        Column("steps", int, "complete steps, summed over lanes"),
        Column("min_gap_ns", int, "shortest gap and hole that was counted"),
    ),
)
METRICS = Table(
    name="metrics",
    meaning="One row per run and metric of `gapfinder check`, over all lanes; none where it could not be measured.",
    key=("run", "metric"),
    columns=(
        _RUN,
        Column("metric", str, "such as `overlap_ratio`, `idle_share` or `exposed_ms_per_step`"),
        Column("value", float, "in `unit`"),
        Column("unit", str, "`ratio` (0 to 1) or `ms`"),
    ),
)
LANES = Table(
    name="lanes",
    meaning="One row per run and lane: where its window went.",
    key=("run", "lane"),
    columns=(
        _RUN,
        Column("lane", int, "place of the lane, from 0"),
        Column("label", str, "how it is called, such as `rank 3`"),
        Column("rank", int, "number in the job", is_nullable=True),
        Column("device", int, "CUDA device as its process counts"),
        Column("gpu_name", str, "GPU model", is_nullable=True),
        Column("window_ns", int, "length of the window; the sum of the six parts"),
        Column("compute_only_ns", int, "kernels run, no communication"),
        Column("hidden_ns", int, "communication behind compute"),
        Column("exposed_ns", int, "communication, no compute"),
        Column("copy_only_ns", int, "only copies or memsets run"),
        Column("graph_only_ns", int, "a CUDA graph traced whole runs, no kernel"),
        Column("idle_ns", int, "nothing runs; null where it could not be measured", is_nullable=True),
        Column("overlap_ratio", float, "hidden / communication", is_nullable=True),
        Column("steps", int, "complete steps"),
        Column("step_mean_ns", int, "mean length of a step, rounded", is_nullable=True),
        Column("step_p50_ns", int, "median length of a step, rounded", is_nullable=True),
    ),
)
CAUSES = Table(
    name="causes",
    meaning="One row per run, lane and cause: hole time.",
    key=("run", "lane", "cause"),
    columns=(
        _RUN,
        Column("lane", int, "`lanes.lane`"),
        Column("cause", str, "from the closed list in meaning.md"),
        Column("hole_ns", int, "time in holes of the window that is charged to it"),
    ),
)
FINDINGS = Table(
    name="findings",
    meaning="One row per run and finding.",
    key=("run", "place"),
    columns=(
        _RUN,
        Column("place", int, "place of the finding, from 0: most lost time first"),
        Column("code", str, "its section in rules.md"),
        Column("severity", str, "`critical`, `warning` or `info`"),
        Column("title", str, "in a few words"),
        Column("lost_ns", int, "GPU time lost to it, summed over lanes"),
        Column("share", float, "of all lanes' windows"),
        Column("lane", int, "`lanes.lane` it is about; null for all", is_nullable=True),
    ),
)
SNAPSHOTS = Table(
    name="snapshots",
    meaning="One row per run: everything that was kept, in the form of a baseline's file.",
    key=("run",),
    columns=(_RUN, Column("snapshot", str, "JSON, as `gapfinder baseline save` writes it")),
)
TABLES = (RUNS, METRICS, LANES, CAUSES, FINDINGS, SNAPSHOTS)


def _first_version(database: Database) -> None:
    for table in TABLES:
        database.table(table.name).create(
            {column.name: column.type for column in table.columns},
            pk=table.key[0] if len(table.key) == 1 else table.key,
            not_null={column.name for column in table.columns if not column.is_nullable},
            foreign_keys=[("run", RUNS.name, "id")] if table.columns[0] is _RUN else [],
            strict=True,
        )


MIGRATIONS: tuple[Callable[[Database], None], ...] = (_first_version,)
"""What makes each version of a file from the one before it; a file's version is how many of them it went through."""
