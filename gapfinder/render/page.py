"""The report as one self-contained HTML page: no script, no network, light and dark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Severity
from gapfinder.findings.words import lane_name
from gapfinder.render.cause_bars import cause_bars
from gapfinder.render.cause_tables import collective_table, straggler_table
from gapfinder.render.finding_words import lost_words
from gapfinder.render.hole_tables import hole_table, name_table
from gapfinder.render.host_tables import clock_table, critical_table, host_table
from gapfinder.render.lane_tables import lane_steps, lane_table, shown_lanes, shown_steps, step_table
from gapfinder.render.page_parts import budget_bar, escape, page, section, table_html
from gapfinder.render.parts import is_known, parts
from gapfinder.render.process_tables import process_tables
from gapfinder.render.spread_table import spread_table
from gapfinder.render.table import left_out
from gapfinder.render.verdict import notes, verdict
from gapfinder.render.words import UNKNOWN, source_words, unbroken, worst_lane
from gapfinder.units import format_count, format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.budget import Budget
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis, Lane

_LANES, _STEP_LANES, _STEPS, _HOLES, _NAMES, _COLLECTIVES = 64, 16, 50, 50, 50, 50


def render_html(analysis: Analysis) -> str:
    """Return the report as an HTML page in which no name from the profile can be markup."""
    return page(f"gapfinder: {source_words(analysis)}", body=_body(analysis))


def _body(analysis: Analysis) -> Iterator[str]:
    yield f"<header><h1>gapfinder</h1><p>{escape(source_words(analysis))}</p></header>\n<main>"
    yield f'<p class="verdict">{unbroken(escape(verdict(analysis)))}</p>'
    if analysis.findings:
        cards = "\n".join(_finding(analysis, finding) for finding in analysis.findings)
        yield f'<section><h2>Findings</h2>\n<ol class="findings">\n{cards}\n</ol></section>'
    if analysis.lanes:
        yield from _budgets(analysis)
        yield from cause_bars(analysis, limit=_LANES)
        yield section(host_table(analysis, limit=_LANES))
        yield section(straggler_table(analysis))
        yield section(critical_table(analysis, limit=_STEPS))
        yield section(collective_table(analysis, limit=_COLLECTIVES))
        yield section(lane_table(analysis, limit=_LANES))
        yield section(hole_table(analysis, limit=_HOLES))
        yield section(step_table(analysis, limit=_LANES))
        yield section(spread_table(analysis, limit=_STEPS))
        yield from _steps(analysis)
        yield section(clock_table(analysis, limit=_LANES))
        yield section(name_table(analysis, limit=_NAMES))
    yield from map(section, process_tables(analysis, limit=_LANES, steps=_STEPS))
    remarks = notes(analysis)
    if remarks:
        items = "\n".join(f"<li>{escape(remark)}</li>" for remark in remarks)
        yield f"<section><h2>Not measured, and worth knowing</h2>\n<ul>\n{items}\n</ul></section>"
    yield "</main>"


def _finding(analysis: Analysis, finding: Finding) -> str:
    """Return one finding; what is only to know has its advice folded."""
    lost = lost_words(analysis, finding)
    cost = f"<b>{escape(lost)}</b>. " if lost else ""
    advice = f"<p>{escape(finding.advice)}</p>"
    if finding.severity is Severity.INFO:
        advice = f"<details><summary>What to do</summary>{advice}</details>"
    return (
        f'<li class="{finding.severity}"><h3><span class="severity">{finding.severity}</span> {escape(finding.title)} '
        f"<code>{escape(finding.code)}</code></h3><p>{cost}{unbroken(escape(finding.detail))}</p>{advice}</li>"
    )


def _budgets(analysis: Analysis) -> Iterator[str]:
    """Yield a legend and one bar per lane."""
    indices = shown_lanes(analysis, limit=_LANES)
    legend = "".join(
        f'<li><span class="swatch {part.key}"></span>{part.label}<small>{part.meaning}</small></li>'
        for part in parts(analysis)
    )
    if not all(lane.is_idle_known for lane in analysis.lanes):
        legend += f'<li><span class="swatch {UNKNOWN}"></span>not measured<small>nothing seen to run</small></li>'
    yield f'<section><h2>Where the time went</h2>\n<ul class="legend">{legend}</ul>\n<div class="budgets">'
    for index in indices:
        lane = analysis.lanes[index]
        bar = _bar(analysis, lane, lane.budget, label=_spoken(analysis, index))
        window = format_duration(lane.budget.window_ns)
        yield f"<div><b>{lane_name(analysis, index)}</b>{bar}<span>{window}</span></div>"
    yield f"</div><p>{left_out(len(indices), len(analysis.lanes), 'lane', 'those that compute least')}</p></section>"


def _spoken(analysis: Analysis, index: int) -> str:
    """Return a bar in words, for those who do not see it."""
    lane = analysis.lanes[index]
    shares = (
        f"{part.label} {format_share(part.measure(lane.budget) / lane.budget.window_ns)}"
        if is_known(lane, part)
        else f"{part.label} not measured"
        for part in parts(analysis)
    )
    return f"{lane_name(analysis, index)}: {', '.join(shares)}"


def _bar(analysis: Analysis, lane: Lane, budget: Budget, *, label: str = "", full_ns: int = 0) -> str:
    return budget_bar(budget, shown=parts(analysis), is_idle_known=lane.is_idle_known, label=label, full_ns=full_ns)


def _steps(analysis: Analysis) -> Iterator[str]:
    """Yield every step of the shown lanes, folded but for the worst lane."""
    with_steps = [index for index in shown_lanes(analysis, limit=_STEP_LANES) if analysis.lanes[index].steps]
    total = sum(lane.steps is not None for lane in analysis.lanes)
    opened = worst_lane(analysis)
    for index in with_steps:
        lane = analysis.lanes[index]
        steps = shown_steps(lane, limit=_STEPS)
        longest = max((step.window.duration_ns for step in steps), default=0)
        bars = [_bar(analysis, lane, step.budget, full_ns=longest) for step in steps]
        table = lane_steps(analysis, index, limit=_STEPS)
        state = " open" if index == opened else ""
        summary = f"{escape(table.title)} ({format_count(lane.steps.count if lane.steps else 0)})"
        yield f"<details{state}><summary>{summary}</summary>\n{table_html(table, bars=bars)}\n</details>"
    yield f"<p>{left_out(len(with_steps), total, 'lane', 'those that compute least')}</p>"
