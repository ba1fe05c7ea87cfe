"""Collectives as text, CSV and JSON: one row for each instance and lane, operation, or step."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

import pandas as pd

from gapfinder.analysis.tracks import NOT_KNOWN
from gapfinder.cli.collectives import By
from gapfinder.cli.collectives_text import instance_table, most_exposed_steps, step_table
from gapfinder.cli.terminal import text_layout
from gapfinder.errors import visible
from gapfinder.explanations import CollectiveSummary, StepCommunication
from gapfinder.model import NO_COMMUNICATION, SCHEMA_VERSION
from gapfinder.render.cause_tables import collective_table
from gapfinder.render.text import render_tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.model import Analysis

_TEXT_ROWS = 50
_TIMES = ("start", "end", "duration", "hidden", "exposed", "wait", "transfer", "ideal")
_UNKNOWN = ("step", "wait", "transfer", "late_lane", "bytes", "ideal")
_FIRST = ("instance", "step", "operation", "communicator", "lane", "rank", "start", "end", "duration")


def render(  # noqa: PLR0913 (all but the first two by name)
    analysis: Analysis, frame: pd.DataFrame, *, by: By, form: str, limit: int | None, is_terminal: bool
) -> str:
    """Return what `gapfinder collectives` prints.

    Args:
        analysis: the job.
        frame: COLLECTIVES of it.
        by: what a row is.
        form: "text", "csv" or "json".
        limit: most rows; None for 50 in text, and all of them elsewhere.
        is_terminal: text is coloured and as wide as the terminal.
    """
    if form == "text":
        most = limit or _TEXT_ROWS
        if by is By.INSTANCE:
            table = instance_table(analysis, _most_exposed(frame, most), of=len(frame))
        else:
            table = step_table(analysis, limit=most) if by is By.STEP else collective_table(analysis, limit=most)
        nothing = "" if analysis.collectives or not_measured(analysis) else "No communication was captured.\n"
        return render_tables([table], **text_layout(is_terminal=is_terminal)) if table else nothing
    rows = _instances(analysis, _most_exposed(frame, limit)) if by is By.INSTANCE else _summaries(analysis, by, limit)
    if form == "csv":
        if by is not By.STEP:
            rows["communicator"] = rows["communicator"].astype(str).map(visible)
        if by is By.OPERATION:
            rows["lanes"] = [" ".join(map(str, lanes)) for lanes in rows["lanes"]]
        return rows.to_csv(index=False, lineterminator="\n")
    return _json(analysis, rows, by=by)


def not_measured(analysis: Analysis) -> str | None:
    """Return why communication could not be seen, where none was; None where there is none, or some was seen."""
    if analysis.collectives or analysis.total is None:
        return None
    reason = analysis.total.overlap_reason
    return None if reason == NO_COMMUNICATION else reason


def _most_exposed(frame: pd.DataFrame, limit: int | None) -> pd.DataFrame:
    """Return the rows of the collectives that are exposed most, whole collectives as far as `limit` rows reach."""
    if limit is None or len(frame) <= limit:
        return frame
    collectives = frame.groupby("instance").agg(exposed=("exposed", "sum"), rows=("lane", "size"))
    collectives = collectives.sort_values("exposed", ascending=False, kind="stable")
    fits = collectives["rows"].cumsum() <= limit
    fits.iloc[0] = True
    return frame[frame["instance"].isin(collectives.index[fits])].head(limit)


def _instances(analysis: Analysis, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame for other programs: units in the names, and nothing where something is not known."""
    ranks = pd.Series([lane.rank for lane in analysis.lanes], dtype="Int64")
    full = frame.assign(duration=frame["end"] - frame["start"], rank=ranks.reindex(frame["lane"]).to_numpy())
    for name in _UNKNOWN:
        full[name] = full[name].astype("Int64").mask(full[name] == NOT_KNOWN)
    full = full[[*_FIRST, *(name for name in full.columns if name not in _FIRST)]]
    return full.rename(columns={name: f"{name}_ns" for name in _TIMES})


def _summaries(analysis: Analysis, by: By, limit: int | None) -> pd.DataFrame:
    """Return the most exposed summaries as a frame of objects, in which None stays None."""
    if by is By.OPERATION:
        return _objects(analysis.collectives[:limit], CollectiveSummary)
    return _objects(most_exposed_steps(analysis, limit=limit), StepCommunication)


def _objects(
    rows: Sequence[CollectiveSummary | StepCommunication], kind: type[CollectiveSummary | StepCommunication]
) -> pd.DataFrame:
    names = [field.name for field in fields(kind)]
    return pd.DataFrame([[getattr(row, name) for name in names] for row in rows], columns=names, dtype=object)


def _json(analysis: Analysis, rows: pd.DataFrame, *, by: By) -> str:
    plain = rows.astype(object)
    document = {
        "schema_version": SCHEMA_VERSION,
        "files": list(analysis.source.files),
        "by": by.value,
        "link": None if analysis.link is None else asdict(analysis.link),
        "rows": plain.where(plain.notna(), None).to_dict("records"),
    }
    return json.dumps(document, indent=1) + "\n"
