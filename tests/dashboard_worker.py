"""A worker of the dashboard that, in place of measuring, does what the name of the file says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from dashboards.jobs.work import main
from dashboards.store.work import Work
from gapfinder.errors import InputError, PlaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def prepare(  # noqa: C901 (one case for each name)
    files: Sequence[Path], *, folder: Path, settings: object, told: Callable[[str, float | None], None]
) -> None:
    (file,) = files
    folder.mkdir()
    (folder / "half").write_text(str(os.getpid()))
    told(f"measuring {file.name}", 0.5)
    marker = file.with_suffix(".marker")
    match file.stem:
        case "good":
            (folder / "half").rename(folder / "whole")
        case "bad":
            raise InputError(f"{file.name}: is cut off:\n9 bytes of 10")
        case "bug":
            raise ValueError("a bug")
        case "hungry":
            kept = bytearray(400_000_000)
            time.sleep(60)
            del kept
        case "endless":
            child = subprocess.Popen(["sleep", "60"])
            tempfile.mkdtemp()
            marker.write_text(f"{os.getpid()} {child.pid}")
            time.sleep(60)
        case "killed_once" if marker.exists():
            (folder / "half").rename(folder / "whole")
        case "killed_once" | "killed":
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        case "changed":
            file.write_bytes(b"other content")
        case "full":
            raise OSError(28, os.strerror(28))
        case "packed":
            raise PlaceError("packed.sqlite.gz: no room to unpack it", "set TMPDIR to another folder")
        case "untold":
            Work.fail = _on_a_full_disk
            raise InputError("cannot be kept")
        case "secret":
            (folder / "whole").write_text(os.environ.get("GAPFINDER_TOKEN", "no token"))
            assert Path(tempfile.gettempdir()) == folder.parent


def _on_a_full_disk(*_: object, **__: object) -> None:
    raise InputError("the dashboard's database cannot be used: database or disk is full")


if __name__ == "__main__":
    preparing = ModuleType("dashboards.data.preparing")  # the real one takes seconds to load
    preparing.prepare_profile = prepare
    sys.modules[preparing.__name__] = preparing
    main(*sys.argv[1:])
