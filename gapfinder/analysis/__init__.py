"""From a loaded report to numbers: budget, gaps, holes, overlap and steps of every lane."""

from gapfinder.analysis.analyze import analyze

__all__ = ["analyze"]
