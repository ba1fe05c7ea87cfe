"""The tables of a comparison: both sides beside each other, the largest change first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.difference import Unit
from gapfinder.render.difference.amounts import amount, amount_cells, change, overlap_cell
from gapfinder.render.difference.words import cause_label
from gapfinder.render.parts import IDLE, parts_of
from gapfinder.render.table import NOTHING, Column, Kind, Table, left_out
from gapfinder.render.words import UNKNOWN
from gapfinder.units import format_count, format_duration, format_mean_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gapfinder.compare.difference import Amount, CollectiveAmount, Difference, LaneChange, Side
    from gapfinder.render.parts import Part

_FOUR = tuple(map(Column, ("before", "after", "change", "of before")))


def difference_tables(difference: Difference, *, lanes: int, rows: int) -> list[Table]:
    """Return the tables that have something to tell, with at most so many lanes and rows."""
    tables = (
        _budget_table(difference),
        _cause_table(difference),
        _finding_table(difference),
        _collective_table(difference, limit=rows),
        _call_table(difference, limit=rows),
        _kernel_table(difference, limit=rows),
        _lane_table(difference, limit=lanes),
    )
    return [table for table in tables if table.rows]


def shown_parts(difference: Difference) -> tuple[Part, ...]:
    """Return the parts to show."""
    return parts_of(side.budget for side in (difference.before, difference.after))


def _budget_table(difference: Difference) -> Table:
    sides = difference.before, difference.after
    is_step = difference.unit is Unit.STEP
    rows = [_part_row(difference, part) for part in shown_parts(difference)]
    if is_step:
        lengths = [side.budget.window_ns for side in sides]
        rows.append(("step, mean", *amount_cells(difference, *lengths)))
        rows.append(("step, p50", *amount_cells(difference, *(side.p50_ns for side in sides))))
        counts = [format_count(side.steps, "step") for side in sides]
        caption = f"The mean step of a GPU, over {counts[0]} before and {counts[1]} after; the parts add up to it."
    else:
        caption = "Shares of the lanes' windows, which add up to all of it."
    return Table(
        title="Where a step goes" if is_step else "Where the time goes",
        caption=caption,
        columns=(Column("part", Kind.WORD), *_FOUR),
        rows=tuple(rows),
    )


def _part_row(difference: Difference, part: Part) -> tuple[str, ...]:
    sides = difference.before, difference.after
    if part is IDLE and not all(side.is_idle_known for side in sides):
        known = [_part_cell(difference, side, part) for side in sides]
        return (part.label, *known, UNKNOWN, UNKNOWN)
    return (part.label, *amount_cells(difference, *(part.measure(side.budget) for side in sides)))


def _cause_table(difference: Difference) -> Table:
    return Table(
        title="Why there is no compute",
        caption=f"Time without compute and graphs by cause. {_scaled(difference)}",
        columns=(Column("cause", Kind.WORD), *_FOUR),
        rows=tuple(
            (cause_label(difference, one.cause), *amount_cells(difference, one.before_ns, one.after_ns))
            for one in difference.causes
        ),
    )


def _finding_table(difference: Difference) -> Table:
    return Table(
        title="Findings",
        caption=f"What they cost. {_scaled(difference)}",
        columns=(Column("finding", Kind.WORD), Column("is", Kind.WORD), *_FOUR[:3], Column("title", Kind.NOTE)),
        rows=tuple(
            (
                one.code,
                one.status.value,
                *amount_cells(difference, one.before_ns, one.after_ns)[:3],
                f"{one.title}{_moved_lane(one.lanes)}",
            )
            for one in difference.findings
        ),
    )


def _moved_lane(lanes: tuple[str | None, str | None]) -> str:
    before, after = lanes
    return f" ({before} before, {after} after)" if before and after and before != after else ""


def _collective_table(difference: Difference, *, limit: int) -> Table:
    shown = difference.collectives[:limit]
    return Table(
        title="Collectives",
        caption=f"Times of one GPU, before → after; n counts the whole job. {_scaled(difference)}"
        + left_out(len(shown), len(difference.collectives), "operation", "the most changed"),
        columns=(
            Column("operation", Kind.WORD),
            *map(Column, (_per(difference), "exposed", "hidden", "wait", "transfer")),
        ),
        rows=tuple((one.operation, *_collective_cells(difference, one.before, one.after)) for one in shown),
    )


def _collective_cells(
    difference: Difference, before: CollectiveAmount | None, after: CollectiveAmount | None
) -> Iterator[str]:
    yield _both(*(NOTHING if one is None else format_mean_count(one.count) for one in (before, after)))
    for name in ("exposed_ns", "hidden_ns", "wait_ns", "transfer_ns"):
        yield _both(*(NOTHING if one is None else amount(difference, getattr(one, name)) for one in (before, after)))


def _call_table(difference: Difference, *, limit: int) -> Table:
    shown = difference.calls[:limit]
    return Table(
        title="Synchronising calls",
        caption=f"How often, and their time inside holes, before → after. {_scaled(difference)}"
        + left_out(len(shown), len(difference.calls), "call", "the most changed"),
        columns=(Column("call", Kind.WORD), Column("is", Kind.WORD), Column(_per(difference)), Column("in holes")),
        rows=tuple((one.name, one.status.value, *_amounts(difference, one.before, one.after)) for one in shown),
    )


def _kernel_table(difference: Difference, *, limit: int) -> Table:
    shown = difference.kernels[:limit]
    return Table(
        title="Kernels",
        caption=f"How often, their summed time and the mean length of one, before → after. {_scaled(difference)}"
        + left_out(len(shown), len(difference.kernels), "kernel", "the most changed"),
        columns=(
            Column("is", Kind.WORD),
            *map(Column, (_per(difference), "time", "change", "length")),
            Column("kernel", Kind.NAME),
        ),
        rows=tuple(
            (
                one.status.value,
                *_amounts(difference, one.before, one.after),
                change(difference, _total(one.before), _total(one.after)),
                _both(*map(_mean, (one.before, one.after))),
                one.name,
            )
            for one in shown
        ),
    )


def _amounts(difference: Difference, before: Amount | None, after: Amount | None) -> tuple[str, str]:
    both = before, after
    return (
        _both(*(NOTHING if one is None else format_mean_count(one.count) for one in both)),
        _both(*(amount(difference, _total(one)) for one in both)),
    )


def _mean(one: Amount | None) -> str:
    return NOTHING if one is None or not one.count else format_duration(round(one.total_ns / one.count))


def _total(one: Amount | None) -> int | None:
    return None if one is None else one.total_ns


def _lane_table(difference: Difference, *, limit: int) -> Table:
    shown = shown_lanes(difference, limit=limit)
    is_step = difference.unit is Unit.STEP
    return Table(
        title="Lanes",
        caption="Before → after." + left_out(len(shown), len(difference.lanes), "lane", "the most changed"),
        columns=(
            Column("lane", Kind.WORD),
            *((Column("step"),) if is_step else ()),
            *(Column(part.label) for part in shown_parts(difference) if part.key != "hidden"),
            Column("overlap"),
        ),
        rows=tuple(_lane_row(difference, one) for one in shown),
    )


def shown_lanes(difference: Difference, *, limit: int) -> Sequence[LaneChange]:
    """Return at most `limit` lanes, those that changed most, in their order."""

    def moved(place: int) -> int:
        before, after = difference.lanes[place].before, difference.lanes[place].after
        if before is None or after is None:
            return 0
        return -abs(after.budget.window_ns - before.budget.window_ns) - abs(
            after.budget.compute_ns - before.budget.compute_ns
        )

    places = sorted(sorted(range(len(difference.lanes)), key=moved)[:limit])
    return [difference.lanes[place] for place in places]


def _lane_row(difference: Difference, lane: LaneChange) -> tuple[str, ...]:
    sides = lane.before, lane.after
    lengths = [NOTHING if side is None else format_duration(side.budget.window_ns) for side in sides]
    return (
        lane.label,
        *((_both(*lengths),) if difference.unit is Unit.STEP else ()),
        *(
            _both(*(_part_cell(difference, side, part) for side in sides))
            for part in shown_parts(difference)
            if part.key != "hidden"
        ),
        _both(*map(overlap_cell, sides)),
    )


def _part_cell(difference: Difference, side: Side | None, part: Part) -> str:
    if side is None:
        return NOTHING
    if part is IDLE and not side.is_idle_known:
        return UNKNOWN
    return amount(difference, part.measure(side.budget))


def _both(before: str, after: str) -> str:
    return f"{before} → {after}"


def _per(difference: Difference) -> str:
    return "n a step" if difference.unit is Unit.STEP else "n a second"


def _scaled(difference: Difference) -> str:
    if difference.unit is Unit.SECOND:
        return "Shares of the time."
    return "From the whole windows, scaled to a step by compute time."
