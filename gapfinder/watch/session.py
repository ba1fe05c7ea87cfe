"""An idle session of nsys beside a training: it gives the variables that trace it, and captures when told to.

The training is no child of nsys. `nsys launch` runs a holder, which tells what nsys sets in its environment; a program
that is started with the same variables is traced as well, and whatever becomes of nsys, its output and its exit code
are its own.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.capture.proc import agents_of, end_all, is_alive
from gapfinder.capture.registry import mend_registry, registry_file, shared_lock
from gapfinder.errors import NsysError
from gapfinder.watch.holder import __file__ as holder_script

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gapfinder.capture.nsys import Nsys
    from gapfinder.watch.nsys_options import SessionOptions

NSYS_LOG = "nsys.log"
_OPENINGS_S = (10.0, 15.0, 30.0)  # of one try after another
_CLOSING_S = 10.0
_GRACE_S = 3.0
_LOOK_S = 0.05
_AT_ONCE = 65_536
_LAST_WORDS = 300
# a shell on the way sets these, and they are the holder's own
_NOT_OF_NSYS = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})


def open_session(nsys: Nsys, *, options: SessionOptions, log: Path, environment: Mapping[str, str]) -> NsysSession:
    """Return an open session; a next try has more patience. Raises what `NsysSession` does."""
    *tries, last = _OPENINGS_S
    for patience_s in tries:
        with suppress(NsysError):
            return NsysSession(nsys, options=options, log=log, environment=environment, patience_s=patience_s)
        mend_registry(nsys)
    return NsysSession(nsys, options=options, log=log, environment=environment, patience_s=last)


class NsysSession:
    """A session of nsys of its own name, so that two watches on one machine do not meet.

    Attributes:
        environment: what nsys sets in the programs that it traces.
    """

    def __init__(
        self, nsys: Nsys, *, options: SessionOptions, log: Path, environment: Mapping[str, str], patience_s: float
    ) -> None:
        """Open it; what nsys says goes into the file `log`.

        Args:
            nsys: which nsys.
            options: for `nsys launch` and `nsys start`.
            log: is appended to.
            environment: what the training would be started with.
            patience_s: for so long nsys may take.

        Raises NsysError where nsys cannot start a program.
        """
        self.name = f"gapfinder-{os.getpid()}-{os.urandom(4).hex()}"
        self._nsys, self._options, self._log = nsys, options, log
        self._said_before = log.stat().st_size if log.exists() else 0
        self._fifo: int | None = None
        self._launcher: subprocess.Popen[bytes] | None = None
        self._folder = Path(tempfile.mkdtemp(prefix="gapfinder-watch-"))
        self._lock = ExitStack()
        try:
            self._lock.enter_context(shared_lock(nsys, environment=environment))
            fifo = self._folder / "environment"
            os.mkfifo(fifo, 0o600)
            self._fifo = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
            words = (f"--session-new={self.name}", *options.launch, sys.executable, holder_script, str(fifo))
            self._launcher = self._run("launch", *words, environment=environment)
            told = self._told_by_holder(self._fifo, launcher=self._launcher, patience_s=patience_s)
        except BaseException:
            self.close(patience_s=0)
            raise
        self.environment = {
            name: value for name, value in told.items() if environment.get(name) != value and name not in _NOT_OF_NSYS
        }
        self._agents = tuple(agents_of(self.name.__eq__))

    @property
    def is_alive(self) -> bool:
        """Whether captures can be taken."""
        if self._agents:
            return any(map(is_alive, self._agents))
        return self._launcher is not None and self._launcher.poll() is None

    def start(self, report: Path) -> subprocess.Popen[bytes]:
        """Begin a capture into the file `report`; it has begun when the process that is returned has ended with 0."""
        # nsys replaces %p, %h and %q{NAME} in a report's name, and %% by %
        output = f"--output={str(report).replace('%', '%%')}"
        return self._run("start", f"--session={self.name}", output, "--force-overwrite=true", *self._options.start)

    def stop(self) -> subprocess.Popen[bytes]:
        """End the capture; its report is there when the process that is returned has ended."""
        return self._run("stop", f"--session={self.name}")

    def cancel(self) -> subprocess.Popen[bytes]:
        """End the capture that may have begun, without a report."""
        return self._run("cancel", f"--session={self.name}")

    def last_words(self) -> str:
        """Return what nsys said last, in one line."""
        try:
            text = self._log.read_bytes()[self._said_before :][-_LAST_WORDS:].decode(errors="replace")
        except OSError:
            text = ""
        return " ".join("".join(c if c.isprintable() else " " for c in text).split()) or "it said nothing"

    def close(self, *, patience_s: float | None = None) -> None:
        """End the session and everything that nsys started for it, which may take so long before it is killed."""
        if self._fifo is not None:
            os.close(self._fifo)  # which ends the holder, and with it the session
            self._fifo = None
        shutil.rmtree(self._folder, ignore_errors=True)
        with self._lock:
            end_all(self._left, patience_s=_CLOSING_S if patience_s is None else patience_s, grace_s=_GRACE_S)

    def _told_by_holder(self, fifo: int, *, launcher: subprocess.Popen[bytes], patience_s: float) -> dict[str, str]:
        told = b""
        deadline = time.monotonic() + patience_s
        while not told.endswith(b"\n"):
            if launcher.poll() is not None:
                raise self._trouble(f"ended with exit code {launcher.returncode}")
            if time.monotonic() > deadline:
                raise self._trouble(f"did not start a program within {patience_s:.0f} s", is_hanging=True)
            if select.select([fifo], [], [], _LOOK_S)[0]:
                data = os.read(fifo, _AT_ONCE)
                told += data
                if not data:  # nobody has opened it for writing yet
                    time.sleep(_LOOK_S)
        environment: dict[str, str] = json.loads(told)
        return environment

    def _trouble(self, what: str, *, is_hanging: bool = False) -> NsysError:
        registry = registry_file(self._nsys)
        advice = f". End all processes of nsys, remove {registry}, and try again" if registry.exists() else ""
        return NsysError(
            f"nsys launch {what}: {self.last_words()}; the training was not started{advice if is_hanging else ''}"
        )

    def _left(self) -> list[int]:
        """Return what still runs of it."""
        agents, launcher = agents_of(self.name.__eq__), self._launcher
        return agents if launcher is None or launcher.poll() is not None else [launcher.pid, *agents]

    def _run(self, command: str, *words: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a command of nsys; in a session of its own, where no Ctrl-C of the terminal reaches it."""
        try:
            with self._log.open("ab") as log:
                return subprocess.Popen(  # noqa: S603 (nsys)
                    (str(self._nsys.path), command, *words),
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise NsysError(f"nsys {command} cannot be run: {error.strerror}") from error
