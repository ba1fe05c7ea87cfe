"""All benchmarks, one after the other, as one table: `make bench`, or `python benchmarks [--quick]`.

Sized for ten to twenty minutes on an idle machine, after their reports were made once (2.4 GB in `benchmarks/data/`).
Each can be run by itself, with other sizes; `--help` tells which.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from table import heading, row

FOLDER = Path(__file__).parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WHOLE = (
    ("analyze.py", "--kernels=1000000"),
    ("analyze.py", "--kernels=10000000", "--repeat=1"),
    ("stages.py",),
    ("cluster.py", "--repeat=1"),
    ("dashboard.py", "--kernels=1000000"),
    ("dashboard_browser.py", "--moves=10"),
    ("hook.py",),
    ("watch.py",),
)
QUICK = (
    ("analyze.py", "--kernels=20000", "--repeat=1"),
    ("stages.py", "--kernels=20000"),
    ("cluster.py", "--kernels=20000", "--reports=2", "--repeat=1"),
    ("dashboard.py", "--kernels=20000"),
)


def main() -> None:
    """Run each benchmark as a process of its own; the exit code is 1 when one failed or missed what it wants."""
    parser = argparse.ArgumentParser(prog="python benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that they run")
    options = parser.parse_args()
    environment = os.environ | {"PYTHONPATH": str(FOLDER.parent)}
    began, failed = time.monotonic(), []
    heading()
    for name, *arguments in QUICK if options.quick else WHOLE:
        if "browser" in name and not any(map(shutil.which, BROWSERS)):
            row(name, "not measured: no Chromium on PATH")
            continue
        done = subprocess.run([sys.executable, FOLDER / name, *arguments], env=environment, check=False)
        if done.returncode:
            failed.append(f"{name} ended with {done.returncode}")
    print(f"\nin {time.monotonic() - began:.0f} s{''.join(f'; {one}' for one in failed)}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
