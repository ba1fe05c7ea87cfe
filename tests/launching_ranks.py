"""A launcher as torchrun is, without torch: starts a program as every rank, and ends all when one has failed.

python launching_ranks.py --ranks 3 [--without 2] program...
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--without", type=int, help="a rank that is never started")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    running = []
    for rank in range(given.ranks):
        if rank != given.without:
            place = {"RANK": rank, "WORLD_SIZE": given.ranks, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": given.ranks}
            environment = os.environ | {name: str(value) for name, value in place.items()}
            running.append(subprocess.Popen(given.program, env=environment))
    while any(process.poll() is None for process in running):
        if any(process.poll() for process in running):
            for process in running:
                process.terminate()
        time.sleep(0.05)
    return max(abs(process.wait()) for process in running)


if __name__ == "__main__":
    sys.exit(main())
