"""Runs the probe through the user's launcher, watches over it, and leaves no process behind."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, TYPE_CHECKING

from gapfinder.doctor.comm.heard import Heard
from gapfinder.doctor.comm.launching import probe_command
from gapfinder.doctor.comm.lost import why_lost
from gapfinder.doctor.comm.measured import read_report
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gapfinder.doctor.comm.measured import Measured

_LOOK_S = 0.1
_LAUNCHER = 10  # times as long: it may load modules, pull an image or wait for its turn before any rank begins
_GRACE_S, _LAST_GRACE_S = 3.0, 10.0
_DRAIN_S = 2.0
_PROC = Path("/proc")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeRequest:
    """What to measure.

    Attributes:
        command: the launcher and its options.
        sizes: bytes of collectives; those that fit the backend where none are given.
        seconds: of measuring, after which nothing new begins.
        patience_s: how long nothing may move before the run is given up.
    """

    command: tuple[str, ...]
    sizes: tuple[int, ...]
    seconds: float
    patience_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Probed:
    """What came of it: a measurement, or the sentence that says why there is none.

    With neither, the ranks that were started here have done their part, and rank 0 is elsewhere.

    Attributes:
        exit_code: of the launcher; None where it was given up.
    """

    measured: Measured | None
    lost: str
    exit_code: int | None


def probe(request: ProbeRequest, *, tell: Callable[[str], None], show: Callable[[str], None]) -> Probed:
    """Measure, and return what came of it.

    Args:
        request: what to measure.
        tell: says a sentence to the user.
        show: shows what is being done, again and again.

    Raises InputError where the launcher cannot be run, or ends before any rank began.
    """
    token = secrets.token_hex(8)
    command = probe_command(request.command, arguments=_arguments(request, token=token))
    if command.left_out:
        tell(f"in place of {' '.join(command.left_out)!r}, every rank runs gapfinder's own program")
    heard = Heard(now=time.monotonic())
    process = _start(command.words)
    listener = Thread(target=_listen, args=(process.stdout, heard), daemon=True)
    listener.start()
    try:
        waited = _wait(process, heard, patience_s=request.patience_s, show=show)
        now = time.monotonic()
    finally:
        _end(process, token=token)
    listener.join(_DRAIN_S)
    return _outcome(heard, now=now, waited=waited, exit_code=process.returncode)


def _outcome(heard: Heard, *, now: float, waited: float | None, exit_code: int) -> Probed:
    report = heard.report()
    code = exit_code if waited is None else None
    if report is not None:
        return Probed(measured=read_report(report), lost="", exit_code=code)
    if heard.world_size == 1:
        raise InputError("the launcher started a single rank, which has nobody to talk to; start two or more")
    if not heard.ranks:
        what = f"the launcher ended with exit code {code}" if waited is None else f"{waited:.0f} s passed"
        raise InputError(
            f"{what} before any rank was heard; its own words are above. Try the same launcher with a program of "
            "yours, and let it pass on the standard output of ranks"
        )
    if 0 not in heard.ranks and heard.is_spread and all(rank.last_word == "done" for rank in heard.ranks.values()):
        return Probed(measured=None, lost="", exit_code=code)
    lost = why_lost(heard, now=now, waited_s=waited, exit_code=code)
    return Probed(measured=None, lost=lost, exit_code=code)


def _arguments(request: ProbeRequest, *, token: str) -> Sequence[str]:
    with socket.socket() as free:
        free.bind(("", 0))
        port = free.getsockname()[1]
    return (
        *("--token", token),
        *("--port", str(port)),
        *(("--sizes", ",".join(map(str, request.sizes))) if request.sizes else ()),
        *("--seconds", f"{request.seconds:g}"),
        *("--patience", f"{request.patience_s:g}"),
    )


def _start(words: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 (the user's own launcher)
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        raise InputError(f"{words[0]} cannot be run: {error.strerror}") from error


def _listen(stream: IO[bytes], heard: Heard) -> None:
    """Take the ranks' words, and pass on what else is said."""
    with stream:
        for line in stream:
            text = line.decode(errors="replace")
            if not heard.take(text, now=time.monotonic()) and sys.stderr is not None:
                with suppress(OSError):
                    sys.stderr.write(text)


def _wait(
    process: subprocess.Popen[bytes], heard: Heard, *, patience_s: float, show: Callable[[str], None]
) -> float | None:
    """Return how long nothing had moved when the run was given up; None where the launcher ended by itself."""
    while process.poll() is None:
        time.sleep(_LOOK_S)
        show(heard.stage)
        still_s = time.monotonic() - heard.moved_at
        if still_s > (patience_s if heard.ranks else _LAUNCHER * patience_s):
            return still_s
    return None


def _end(process: subprocess.Popen[bytes], *, token: str) -> None:
    """End the launcher, and every rank on this machine that it left behind; on others, ranks end without launcher."""
    if process.poll() is None:
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
    _kill_ranks(token, spared=process.pid)
    if process.poll() is None:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LAST_GRACE_S)
    if process.poll() is None:
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _kill_ranks(token: str, *, spared: int) -> None:
    """Kill what has this run's token on its command line: a launcher may have died before its ranks."""
    for entry in _PROC.iterdir():
        if not entry.name.isdecimal() or int(entry.name) == spared:
            continue
        with suppress(OSError):
            if token.encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                os.kill(int(entry.name), signal.SIGKILL)
