"""The command line: one short file per command."""

import sys

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of SIGINT."""


def main() -> None:
    """Run the command line; everything is imported here, so that an interrupt is one line from the start."""
    try:
        from gapfinder.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("gapfinder: interrupted\n")
        sys.exit(INTERRUPTED)
