"""Skips what this machine cannot run, saying why; what GAPFINDER_REQUIRE names (such as "nsys,browser") may not skip."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

# How long an example takes says how busy the machine is.
settings.register_profile("gapfinder", deadline=None)
settings.load_profile("gapfinder")

# Where this is set, every worker and every process of a test compiles all modules of this repository again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def _missing(tool: str) -> str | None:
    """Return why tests that need `tool` cannot run here."""
    if tool == "nsys" and shutil.which("nsys") is None:
        return "nsys is not on PATH"
    if tool == "browser" and not any(map(shutil.which, _BROWSERS)):
        return f"none of {', '.join(_BROWSERS)} is on PATH"
    if tool == "gpu" and not Path("/dev/nvidiactl").exists():
        return "no NVIDIA GPU (no /dev/nvidiactl)"
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    required = {name.strip() for name in os.environ.get("GAPFINDER_REQUIRE", "").split(",")}
    for marker in item.iter_markers():
        reason = _missing(marker.name)
        if reason and marker.name in required:
            pytest.fail(f"{reason}, and GAPFINDER_REQUIRE asks for it", pytrace=False)
        if reason:
            pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def _heeded_signals() -> None:
    """Heed what a shell makes its background jobs ignore: a training that inherits it cannot be interrupted."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


@pytest.fixture(scope="session", autouse=True)
def _own_surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's cache and choice of nsys out of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GAPFINDER_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("GAPFINDER_NSYS", raising=False)
        yield
