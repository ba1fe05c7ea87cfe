"""What a user may choose about an analysis, from options and from `gapfinder.toml` or `[tool.gapfinder]`."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.errors import InputError
from gapfinder.units import parse_bandwidth, parse_duration, parse_step_range, parse_window

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEFAULT_MIN_GAP_NS = 100_000
SETTINGS_FILE = "gapfinder.toml"
PROJECT_FILE = "pyproject.toml"
_LARGEST_FILE = 1 << 17  # 200 kB of one dotted key took 39 s: tomllib is quadratic in its parts


class CountCopies(StrEnum):
    """Which copies count as communication."""

    NONE = "none"
    COLLECTIVE = "collective"
    PEER = "peer"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Choices for one analysis, and where what was measured is kept.

    Attributes:
        min_gap_ns: shortest gap and hole that is reported.
        window: (start, end) in ns on the report's clock; None for the whole capture.
        step_range: (first, end) step numbers; None for all.
        step_pattern: regular expression that a step's whole NVTX text must match; None for the defaults.
        communication_patterns: further regular expressions searched in a kernel's function name.
        compute_patterns: function names that are compute even if a communication pattern matches.
        count_copies: COLLECTIVE counts copies launched inside an NCCL range, PEER every peer-to-peer copy as well.
        gpus: CUDA device numbers to keep; empty for all.
        ranks: rank of each lane, in the order lanes are listed; empty to take them from the report.
        top: how many holes are kept in full per lane.
        link_bandwidth: of each GPU's link to the others in one direction, bytes per second; None where not told.
        baselines: folder of baselines; None for the nearest one.
        history: file of the history; None for the nearest one.
    """

    min_gap_ns: int = DEFAULT_MIN_GAP_NS
    window: tuple[int, int] | None = None
    step_range: tuple[int, int] | None = None
    step_pattern: str | None = None
    communication_patterns: tuple[str, ...] = ()
    compute_patterns: tuple[str, ...] = ()
    count_copies: CountCopies = CountCopies.COLLECTIVE
    gpus: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()
    top: int = 10
    link_bandwidth: float | None = None
    baselines: Path | None = None
    history: Path | None = None


def read_settings(*, file: Path | None = None, start: Path) -> Settings:
    """Return the settings of `file`, else of the nearest settings file from `start` upwards, else the defaults.

    A folder's settings are its gapfinder.toml, else the table [tool.gapfinder] of its pyproject.toml. Paths in a file
    start in its folder.
    Raises InputError, naming file and key, for what cannot be used.
    """
    used = file or settings_file(start)
    if used is None:
        return Settings()
    table = _table(used)
    if table is None:
        raise InputError(f"{used} has no table [tool.gapfinder]")
    chosen = override(Settings(), table, source=str(used))
    folder = used.absolute().parent
    return replace(
        chosen,
        baselines=None if chosen.baselines is None else folder / chosen.baselines,
        history=None if chosen.history is None else folder / chosen.history,
    )


def settings_file(start: Path) -> Path | None:
    """Return the nearest settings file from `start` upwards; None where there is none."""
    try:
        folders = (start.absolute(), *start.absolute().parents)
        candidates = [folder / name for folder in folders for name in (SETTINGS_FILE, PROJECT_FILE)]
        files = [candidate for candidate in candidates if candidate.is_file()]
    except OSError as error:
        raise InputError(
            f"cannot look for {SETTINGS_FILE} from the current folder upwards: {error.strerror}; name one with --config"
        ) from error
    return next((file for file in files if _table(file) is not None), None)


def nearest(name: str, *, start: Path) -> Path | None:
    """Return what is called `name` in `start`, else in the nearest folder above it; None where there is nothing."""
    try:
        places = [folder / name for folder in (start.absolute(), *start.absolute().parents)]
        return next((place for place in places if place.exists()), None)
    except OSError as error:
        raise InputError(f"cannot look for {name} from the current folder upwards: {error.strerror}") from error


def override(settings: Settings, table: Mapping[str, object], *, source: str) -> Settings:
    """Return `settings` changed by a settings file's table, or by options in the same form."""
    for key, value in table.items():
        if key not in SETTINGS_KEYS:
            raise InputError(f"{source}: unknown key {key!r}; the keys are {', '.join(SETTINGS_KEYS)}")
        try:
            settings = SETTINGS_KEYS[key](settings, value)
        except InputError as error:
            raise InputError(f"{source}: {key}: {error}") from error
    return settings


def _table(path: Path) -> Mapping[str, object] | None:
    """Return the file's settings; None for a pyproject.toml without any."""
    import tomllib

    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for ever
            raise InputError(f"cannot read {path}: it is no file")
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
        if len(content) > _LARGEST_FILE:
            raise InputError(f"{path} has more than {_LARGEST_FILE:,} bytes, which no settings take")
        document = tomllib.loads(content.decode())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not TOML: {error}") from error
    if path.name != PROJECT_FILE:
        return document
    tool = document.get("tool", {})
    table = tool.get("gapfinder") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise InputError(f"{path}: tool.gapfinder must be a table")
    return table


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a user's regular expression, case-insensitive; a bad one is an InputError that shows where."""
    if not pattern:
        raise InputError("bad regular expression: it is empty, which would match everything")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise InputError(f"bad regular expression {pattern!r}: {error}") from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise InputError(f"must be a text in quotes, not {value!r}")
    return value


def _path(value: object) -> Path:
    text = _text(value)
    if not text or not text.isprintable():
        raise InputError(f"must be a path, not {text!r}")
    return Path(text)


def _pattern(value: object) -> str:
    return compile_pattern(_text(value)).pattern


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InputError(f"must be a whole number, not {value!r}")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise InputError(f"must be a list in brackets, not {value!r}")
    return value


def _patterns(value: object) -> tuple[str, ...]:
    return tuple(_pattern(item) for item in _list(value))


def _numbers(value: object) -> tuple[int, ...]:
    return tuple(_number(item) for item in _list(value))


def _count_copies(value: object) -> CountCopies:
    text = _text(value)
    if text not in list(CountCopies):
        raise InputError(f"must be one of {', '.join(CountCopies)}, not {text!r}")
    return CountCopies(text)


SETTINGS_KEYS: Mapping[str, Callable[[Settings, object], Settings]] = {
    "min-gap": lambda settings, value: replace(settings, min_gap_ns=parse_duration(_text(value))),
    "window": lambda settings, value: replace(settings, window=parse_window(_text(value))),
    "steps": lambda settings, value: replace(settings, step_range=parse_step_range(_text(value))),
    "step-pattern": lambda settings, value: replace(settings, step_pattern=_pattern(value)),
    "communication-patterns": lambda settings, value: replace(settings, communication_patterns=_patterns(value)),
    "compute-patterns": lambda settings, value: replace(settings, compute_patterns=_patterns(value)),
    "count-copies": lambda settings, value: replace(settings, count_copies=_count_copies(value)),
    "gpus": lambda settings, value: replace(settings, gpus=_numbers(value)),
    "ranks": lambda settings, value: replace(settings, ranks=_numbers(value)),
    "top": lambda settings, value: replace(settings, top=_number(value)),
    "link-bandwidth": lambda settings, value: replace(settings, link_bandwidth=parse_bandwidth(_text(value))),
    "baselines": lambda settings, value: replace(settings, baselines=_path(value)),
    "history": lambda settings, value: replace(settings, history=_path(value)),
}
"""What each key of a settings file does with its value."""
