"""From a report as nsys writes it to the SQLite export that everything else reads."""

from gapfinder.export.report import REPORT_SUFFIXES, export_report

__all__ = ["REPORT_SUFFIXES", "export_report"]
