"""Rules that read an analysis and say what to change."""

from gapfinder.findings.registry import explained, find

__all__ = ["explained", "find"]
