"""Says as JSON what torch is here and what it sees: a program of its own, as a broken torch may crash or hang.

It runs in the training's own Python, which may be older than gapfinder's.
"""

from __future__ import annotations

import ctypes
import json
import sys
import warnings


def main() -> None:
    """Write one line of JSON to standard output; what goes wrong on the way ends the program with a traceback."""
    del sys.path[0]  # this file's folder, whose modules nobody means; a Python before 3.11 has no -P for that
    import torch

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        is_available, devices = torch.cuda.is_available(), torch.cuda.device_count()
    told = {
        "python": sys.executable,
        "version": str(torch.__version__),
        "cuda": torch.version.cuda,
        "is_available": is_available,
        "devices": devices,
        "problem": str(caught[-1].message) if caught else "",
        "nccl": _built_with(torch),
        "nccl_loaded": _loaded(),
    }
    sys.stdout.write(f"{json.dumps(told)}\n")


def _built_with(torch: object) -> list[int] | None:
    try:
        return list(torch.cuda.nccl.version())[:3]  # type: ignore[attr-defined]
    except (AttributeError, RuntimeError):  # a build without NCCL
        return None


def _loaded() -> list[int] | None:
    """Return the version of the libnccl that torch's libraries are bound to; None where NCCL is a part of them."""
    number = ctypes.c_int(0)
    try:
        ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    # 2.8.4 is 2804, 2.9.1 is 20901 (NCCL_VERSION in nccl.h)
    first, rest = divmod(number.value, 10_000) if number.value >= 10_000 else divmod(number.value, 1_000)  # noqa: PLR2004
    return [first, *divmod(rest, 100)]


if __name__ == "__main__":
    main()
