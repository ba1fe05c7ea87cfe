"""From a loaded report to numbers: budget, gaps, holes, overlap and steps of every lane, and every collective."""

from gapfinder.analysis.analyze import analyze, analyze_collectives

__all__ = ["analyze", "analyze_collectives"]
