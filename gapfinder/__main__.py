"""Runs the command line as `python -m gapfinder`."""

from gapfinder.cli import main

main()
