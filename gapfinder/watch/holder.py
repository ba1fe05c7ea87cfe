"""Runs under `nsys launch` in place of the training: tells what nsys sets for it, and stays while the watch lives.

The standard library is all it needs.
"""

from __future__ import annotations

import json
import os
import select
import sys


def main(fifo: str) -> None:
    """Write the environment to `fifo`, and wait until nobody has it open for reading any more."""
    file = os.open(fifo, os.O_WRONLY)
    told = memoryview(json.dumps(dict(os.environ)).encode() + b"\n")
    while told:
        told = told[os.write(file, told) :]
    ended = select.poll()
    ended.register(file, 0)  # only that the other side closes
    ended.poll()


if __name__ == "__main__":
    main(sys.argv[1])
