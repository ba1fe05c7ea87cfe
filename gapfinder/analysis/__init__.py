"""From a loaded report to numbers: budget, gaps, holes, overlap and steps of every lane, and every collective."""

from gapfinder.analysis.analyze import analyze, analyze_collectives, join_collectives, join_reports
from gapfinder.analysis.measure import MeasuredReport, measure_report
from gapfinder.analysis.measure_parts import kept_whole, measure_parts

__all__ = [
    "MeasuredReport",
    "analyze",
    "analyze_collectives",
    "join_collectives",
    "join_reports",
    "kept_whole",
    "measure_parts",
    "measure_report",
]
