"""Rules that read an analysis and say what to change."""

from gapfinder.findings.registry import explained

__all__ = ["explained"]
