"""From a loaded report to numbers: budget, gaps, holes, overlap and steps of every lane, and every collective."""

from gapfinder.analysis.analyze import analyze, join_collectives, join_reports
from gapfinder.analysis.measure import MeasuredReport, measure_report
from gapfinder.analysis.measure_parts import kept_whole, measure_parts
from gapfinder.analysis.traces import join_traces, trace_report

__all__ = [
    "MeasuredReport",
    "analyze",
    "join_collectives",
    "join_reports",
    "join_traces",
    "kept_whole",
    "measure_parts",
    "measure_report",
    "trace_report",
]
