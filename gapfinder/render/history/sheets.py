"""The history as sheets: what is said, the tables, and the same for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gapfinder.compare.history.results import SHORTEST_LEVEL
from gapfinder.compare.values import format_value
from gapfinder.render.table import NOTHING, Column, Kind, Table
from gapfinder.render.words import UNKNOWN, short_commit
from gapfinder.units import format_count, format_duration, format_growth, format_share, format_written_moment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gapfinder.compare.history.results import Point, Run, Trend
    from gapfinder.compare.metrics import Metric
    from gapfinder.compare.snapshot import FindingTotal, Snapshot

_BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sheet:
    """What a command prints.

    Attributes:
        paragraphs, tables: for people.
        document: for programs.
    """

    paragraphs: tuple[str, ...]
    tables: tuple[Table, ...]
    document: dict[str, object]


def runs_sheet(runs: Sequence[Run], *, store: str) -> Sheet:
    """Return the runs, newest last."""
    return Sheet(
        paragraphs=(f"{format_count(len(runs), 'run')} in {store}.",),
        tables=(
            Table(
                title="Runs",
                caption="Oldest first; a check compares with accepted ones.",
                columns=(
                    Column("run"),
                    *(Column(name, Kind.WORD) for name in ("created", "branch", "accepted", "commit", "from")),
                    Column("GPUs"),
                    Column("steps"),
                    Column("label", Kind.LABEL),
                ),
                rows=tuple(map(_run_row, runs)),
            ),
        ),
        document={"runs": [asdict(run) for run in runs]},
    )


def _run_row(run: Run) -> tuple[str, ...]:
    return (
        str(run.id),
        format_written_moment(run.created),
        run.branch,
        "yes" if run.accepted else "no",
        short_commit(run.git_commit) or NOTHING,
        run.source,
        format_count(run.lanes),
        format_count(run.steps),
        run.label or NOTHING,
    )


def run_sheet(run: Run, snapshot: Snapshot, *, metrics: Mapping[str, float], known: Mapping[str, Metric]) -> Sheet:
    """Return one run with its metrics and findings."""
    gpus = f"{format_count(run.lanes, 'lane')} on {run.gpu_names or 'GPUs of unknown name'}"
    accepted = "accepted" if run.accepted else "not accepted"
    told = (
        f"Run {run.id} of {run.branch}, {accepted}, measured {format_written_moment(run.created)}, stored by "
        f"{run.source}. {gpus}, {format_count(run.steps, 'step')}; commit {run.git_commit or 'not known'}; "
        f"label {run.label or NOTHING}."
    )
    return Sheet(
        paragraphs=(told,),
        tables=(
            Table(
                title="Metrics",
                caption="Over all lanes, as in gapfinder check.",
                columns=(Column("metric", Kind.WORD), Column("value")),
                rows=tuple((name, format_value(known[name], value)) for name, value in metrics.items()),
            ),
            Table(
                title="Findings",
                caption="Most lost time first.",
                columns=(Column("severity", Kind.WORD), Column("lost"), Column("share"), Column("finding", Kind.LABEL)),
                rows=tuple(map(_finding_row, snapshot.findings)),
            ),
        ),
        document={"run": asdict(run), "metrics": dict(metrics), "findings": [asdict(one) for one in snapshot.findings]},
    )


def _finding_row(one: FindingTotal) -> tuple[str, ...]:
    return one.severity.value, format_duration(one.lost_ns), format_share(one.share), f"{one.title} [{one.code}]"


def trend_sheet(trend: Trend) -> Sheet:
    """Return a metric over runs, with a line of blocks and each change of level in a sentence."""
    metric = trend.metric
    values = [point.value for point in trend.points]
    changes = [_change_words(metric, point) for point in trend.points if point.change is not None]
    unknown = values.count(None)
    levels = " ".join(changes) or _without_change(len(values) - unknown)
    missing = f" {format_count(unknown, 'run')} could not measure it." if unknown else ""
    return Sheet(
        paragraphs=(
            f"{metric.words}, {format_count(len(values), 'run')} of {trend.branch}, oldest first: {sparkline(values)}",
            f"{levels}{missing}",
        ),
        tables=(
            Table(
                title=f"{metric.words[0].upper()}{metric.words[1:]}",
                caption="A mark stands where its level changed; a level is the median of its runs.",
                columns=(
                    Column("run"),
                    *(Column(name, Kind.WORD) for name in ("created", "commit", "accepted")),
                    Column("value"),
                    Column("level changed", Kind.WORD),
                ),
                rows=tuple(_point_row(metric, point) for point in trend.points),
            ),
        ),
        document={
            "metric": metric.name,
            "unit": metric.unit.value,
            "branch": trend.branch,
            "runs": [
                {
                    "id": point.run.id,
                    "created": point.run.created,
                    "git_commit": point.run.git_commit,
                    "accepted": point.run.accepted,
                    "value": point.value,
                    "level_before": None if point.change is None else point.change.before,
                    "level_after": None if point.change is None else point.change.after,
                }
                for point in trend.points
            ],
        },
    )


def _without_change(measured: int) -> str:
    """Return that no level changed, unless there are too few runs to see that at all."""
    fewest = 2 * SHORTEST_LEVEL
    if measured < fewest:
        return f"{format_count(measured, 'run')} measured it, of the {fewest} that it takes to see its level change."
    return "No lasting change of its level can be told from noise."


def _point_row(metric: Metric, point: Point) -> tuple[str, ...]:
    run = point.run
    return (
        str(run.id),
        format_written_moment(run.created),
        short_commit(run.git_commit) or NOTHING,
        "yes" if run.accepted else "no",
        UNKNOWN if point.value is None else format_value(metric, point.value),
        _levels(metric, point) if point.change else "",
    )


def _change_words(metric: Metric, point: Point) -> str:
    change = point.change
    is_worse = change is not None and (change.after > change.before) is not metric.higher_is_better
    return f"{'Worse' if is_worse else 'Better'} since run {point.run.id}: {_levels(metric, point)}."


def _levels(metric: Metric, point: Point) -> str:
    change = point.change
    if change is None:
        return ""
    growth = format_growth(change.before, change.after)
    return f"{format_value(metric, change.before)} → {format_value(metric, change.after)} ({growth})"


def sparkline(values: Sequence[float | None]) -> str:
    """Return one block for each value, low to high; a dot where there is none."""
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    step = (high - low) / (len(_BLOCKS) - 1)
    return "".join("·" if value is None else _BLOCKS[round((value - low) / step) if step else 0] for value in values)
