"""Stores measured trainings, and finds them again."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gapfinder.compare.history.file import check_types, history
from gapfinder.compare.history.results import Recorded, Run
from gapfinder.compare.history.rows import DETAIL_TABLES, detail_rows
from gapfinder.compare.history.schema import RUNS
from gapfinder.compare.snapshot_json import snapshot_from_json, snapshot_to_json
from gapfinder.errors import InconclusiveError, InputError
from gapfinder.settings import nearest

if TYPE_CHECKING:
    from pathlib import Path

    from sqlite_utils import Database

    from gapfinder.compare.history.results import Source
    from gapfinder.compare.snapshot import Snapshot

STORE = ".gapfinder/history.db"


def default_store(start: Path) -> Path:
    """Return the nearest history from `start` upwards; where there is none, the place for one below `start`."""
    return nearest(STORE, start=start) or start.absolute() / STORE


def record(  # noqa: PLR0913 (all but the first two by name)
    store: Path,
    snapshot: Snapshot,
    *,
    branch: str,
    source: Source,
    accepted: bool,
    label: str | None = None,
) -> Recorded:
    """Store a snapshot as a run of `branch`, whole or not at all; a capture that is there already is not stored twice.

    Where it was not accepted and is `accepted` now, it becomes so; it is never taken back.

    Args:
        store: made where it is missing.
        snapshot: what was measured.
        branch: within it runs are compared.
        source: what stores it.
        accepted: whether later runs may be compared with it.
        label: a word of the user.

    Raises:
        InconclusiveError: it has no lanes, so nothing was measured.
        InputError: the store cannot be used.
    """
    if not snapshot.lanes:
        raise InconclusiveError("not stored: no GPU operation that takes time was captured")
    if not branch.strip():
        raise InputError("a run needs the name of a branch, such as main")
    facts = _facts(snapshot, branch=branch, source=source, accepted=accepted, label=label)
    with history(store, writes=True) as database:
        known = stored_runs(database, "branch = ? AND digest = ?", (branch, snapshot.digest))
        if known:
            if accepted and not known[0].accepted:
                database.table("runs").update(known[0].id, {"accepted": 1})
            return Recorded(run=_run(database, known[0].id), is_new=False)
        number = int(database.execute("SELECT coalesce(max(id), 0) FROM runs").fetchone()[0]) + 1
        database.table("runs").insert({"id": number, **facts})
        for table, rows in detail_rows(snapshot).items():
            database.table(table).insert_all({"run": number, **row} for row in rows)
        database.table("snapshots").insert({"run": number, "snapshot": snapshot_to_json(snapshot)})
        return Recorded(run=_run(database, number), is_new=True)


def runs(store: Path, *, branch: str | None = None) -> tuple[Run, ...]:
    """Return the runs of a branch, or all, oldest first."""
    where, values = ("1", ()) if branch is None else ("branch = ?", (branch,))
    with history(store, writes=False) as database:
        return tuple(stored_runs(database, where, values))


def find_run(store: Path, number: int) -> tuple[Run, Snapshot]:
    """Return one run and its snapshot; InputError where there is none of this number."""
    with history(store, writes=False) as database:
        run = _run(database, number)
        return run, _snapshot(database, number, store=store)


def recent(store: Path, *, branch: str, count: int) -> tuple[Snapshot, ...]:
    """Return the snapshots of the last `count` accepted runs of a branch, oldest first; fewer where there are fewer."""
    with history(store, writes=False) as database:
        accepted = stored_runs(database, "branch = ? AND accepted = 1", (branch,))
        return tuple(_snapshot(database, run.id, store=store) for run in accepted[max(len(accepted) - count, 0) :])


def accept(store: Path, number: int, *, accepted: bool) -> Run:
    """Say whether later runs may be compared with this one."""
    with history(store, writes=True) as database:
        _run(database, number)
        database.table("runs").update(number, {"accepted": int(accepted)})
        return _run(database, number)


def remove(store: Path, number: int) -> Run:
    """Remove one run with everything that is stored of it."""
    with history(store, writes=True) as database:
        run = _run(database, number)
        for table in ("snapshots", *DETAIL_TABLES):
            database.table(table).delete_where("run = ?", [number])
        database.table("runs").delete(number)
        return run


def _facts(
    snapshot: Snapshot, *, branch: str, source: Source, accepted: bool, label: str | None
) -> dict[str, str | int | None]:
    models = sorted({lane.gpu_name for lane in snapshot.lanes if lane.gpu_name})
    return {
        "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
        "created": snapshot.created,
        "branch": branch,
        "label": label,
        "source": source.value,
        "accepted": int(accepted),
        "digest": snapshot.digest,
        "git_commit": snapshot.commit,
        "gapfinder_version": snapshot.gapfinder_version,
        "nsys_version": snapshot.nsys_version,
        "gpu_names": ", ".join(models) or None,
        "world_size": snapshot.world_size,
        "lanes": len(snapshot.lanes),
        "steps": sum(len(lane.steps) for lane in snapshot.lanes),
        "min_gap_ns": snapshot.min_gap_ns,
    }


def stored_runs(database: Database, where: str, values: tuple[object, ...]) -> list[Run]:
    """Return the runs that a condition selects, oldest first."""
    rows = list(database.table("runs").rows_where(where, list(values), order_by="id"))
    for row in rows:
        check_types(row, table=RUNS)
    return [Run(**{**row, "accepted": bool(row["accepted"])}) for row in rows]


def _run(database: Database, number: int) -> Run:
    found = stored_runs(database, "id = ?", (number,))
    if not found:
        raise InputError(f"no run {number} in the history; see `gapfinder history list`")
    return found[0]


def _snapshot(database: Database, number: int, *, store: Path) -> Snapshot:
    (text,) = database.execute("SELECT snapshot FROM snapshots WHERE run = ?", (number,)).fetchone() or ("",)
    return snapshot_from_json(text, source=f"run {number} of {store}")
