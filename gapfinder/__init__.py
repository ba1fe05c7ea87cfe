"""Finds the holes in a GPU timeline and says how much communication is hidden behind compute."""

__version__ = "0.1.0"
