"""What `gapfinder history` prints: sheets of sentences and tables, each laid out as text, Markdown or JSON."""

from gapfinder.render.history.layout import render_sheet
from gapfinder.render.history.sheets import Sheet, run_sheet, runs_sheet, trend_sheet

__all__ = ["Sheet", "render_sheet", "run_sheet", "runs_sheet", "trend_sheet"]
