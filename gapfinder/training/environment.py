"""What a training is started with: environment variables that load the hook into its Python processes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

STARTUP_FOLDER = Path(__file__).parent / "startup"
STATUS_VARIABLE = "GAPFINDER_HOOK_STATUS"
WINDOW_VARIABLE = "GAPFINDER_HOOK_WINDOW"
WATCH_VARIABLE = "GAPFINDER_HOOK_WATCH"

# nsys's --nvtx-capture: the hook's range in any domain, because torch.cuda.nvtx knows no domains.
CAPTURE_RANGE = "gapfinder capture@*"


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptureWindow:
    """The steps during which the hook holds the capture range open: `first` up to, not including, `end`.

    Attributes:
        first: its first step, counted from 0; None to open it when training begins, before step 0.
        end: the step whose beginning closes it; None to keep it open until the process ends.
        is_per_process: every process opens a range of its own, for an nsys inside each rank; else one per host does.
    """

    first: int | None = None
    end: int | None = None
    is_per_process: bool = False

    def __post_init__(self) -> None:
        first = 0 if self.first is None else self.first
        if first < 0 or (self.end is not None and self.end <= first):
            raise InputError(
                f"steps {self} are no window; give a first step of at least 0 and a later end, as in 10:30"
            )

    def __str__(self) -> str:
        """Return its steps as an option gives them, such as "10:30"."""
        return f"{'' if self.first is None else self.first}:{'' if self.end is None else self.end}"


def hook_environment(
    *,
    window: CaptureWindow | None,
    status_folder: Path,
    environment: Mapping[str, str],
    watch_folder: Path | None = None,
) -> dict[str, str]:
    """Return the variables to set for a training, so that its Python processes load the hook.

    Args:
        window: steps during which the capture range is open; None for no capture range at all.
        status_folder: an existing, empty folder for one status file per process; see `gapfinder.training.status`.
        watch_folder: an existing folder in which a watch reads the steps, and whose switch decides about marks; see
            `gapfinder.training.step_stream`. None for marks all the time.
        environment: what the training would be started with; what stands in its PYTHONPATH stays behind the hook.
    """
    if window is not None and watch_folder is not None:
        raise InputError("a watch asks for marks by itself; give it no window")
    own = str(STARTUP_FOLDER)
    before = environment.get("PYTHONPATH")
    others = [] if before is None else [path for path in before.split(os.pathsep) if path != own]
    return {
        "PYTHONPATH": os.pathsep.join((own, *others)),
        STATUS_VARIABLE: str(status_folder.absolute()),
        # set even when empty: a training under a training must not open the outer one's window
        WATCH_VARIABLE: "" if watch_folder is None else str(watch_folder.absolute()),
        WINDOW_VARIABLE: "" if window is None else f"{window}{' each' if window.is_per_process else ''}",
    }
