"""Plotly figures as plain functions of results: no page, no callback, no file."""
