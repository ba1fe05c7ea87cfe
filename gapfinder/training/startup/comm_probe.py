"""Measures how the ranks of a job reach each other; `gapfinder doctor --comm` has a launcher start it as every rank.

It runs in the training's own Python, and needs torch and the standard library.
"""

from __future__ import annotations

import argparse
import sys
from types import ModuleType

from _gapfinder_comm import rank  # type: ignore[import-not-found]
from _gapfinder_hook.place import find_place  # type: ignore[import-not-found]


def main() -> int:
    """Run as one rank."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--token", required=True, help="what gapfinder knows the processes of this run by")
    parser.add_argument("--port", type=int, required=True, help="where ranks meet when the launcher names no port")
    parser.add_argument("--sizes", default="", help="bytes of collectives, with commas; those of the backend if empty")
    parser.add_argument("--seconds", type=float, required=True, help="of measuring")
    parser.add_argument("--patience", type=float, required=True, help="seconds that ranks wait for each other")
    given = parser.parse_args()
    wanted = rank.Wanted(
        port=given.port,
        sizes=[int(size) for size in given.sizes.split(",") if size],
        seconds=given.seconds,
        patience=given.patience,
    )
    return int(rank.run(find_place(ModuleType("torch")), wanted=wanted))


if __name__ == "__main__":
    sys.exit(main())
