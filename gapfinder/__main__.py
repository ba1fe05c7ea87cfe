"""Runs the command line as `python -m gapfinder`."""

from gapfinder.cli.app import main

main()
