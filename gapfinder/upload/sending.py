"""Sends files to a dashboard, which makes one profile of them, and waits until it is prepared."""

from __future__ import annotations

import hashlib
import socket
import time
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from gapfinder.errors import InputError, visible
from gapfinder.load.checks import file_state, judge_content
from gapfinder.upload.client import PATIENCE_S, BrokenConnectionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from gapfinder.load.checks import FileState
    from gapfinder.upload.client import Answer, Client

    Told = Callable[[str, float | None], None]

Value = TypeVar("Value")

_SLICE_BYTES = 8 << 20
_PAUSES_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0)
_TRIED_FOR_S = 60.0
_SLICE_PATIENCE_S = 120.0
_COMPARED_BYTES_S = 50_000_000  # of a slow disk
_LOOKS_EVERY_S = 0.5


@dataclass(frozen=True, slots=True)
class Sent:
    """A profile that the dashboard made: its id, and the address of its page."""

    profile: str
    page: str


def send_files(files: Sequence[Path], *, client: Client, name: str | None, told: Told) -> Sent:
    """Send files as one run; `told` hears what is sent and how far all of it is, from 0 to 1.

    Sent again after it was interrupted, a run goes on where it ended.

    Raises:
        InputError: a file is no profile or changes, the dashboard refuses it, or does not answer for a minute.
    """
    states = {file: file_state(file) for file in files}
    for file in files:
        judge_content(file)
    run = _run(states)
    whole = sum(state.size for state in states.values())
    before = 0
    for position, (file, state) in enumerate(states.items()):
        stage = f"sending {visible(file.name)}"

        def told_bytes(sent: int, *, stage: str = stage, before: int = before) -> None:
            told(stage, (before + sent) / whole)

        announced = {"name": file.name, "size": state.size, "run": run, "position": position}
        _send(client, file, announced=announced, state=state, told=told_bytes)
        before += state.size
    made = _asked(client, "POST", f"/runs/{run}", body={} if name is None else {"name": name})
    return Sent(profile=made.text("profile"), page=client.url + made.text("page"))


def wait_for_job(sent: Sent, *, client: Client, told: Told) -> None:
    """Return as soon as the profile is prepared; InputError with the reason where it cannot be."""
    while True:
        job = _asked(client, "GET", f"/p/{quote(sent.profile, safe='')}/job")
        state, progress = job.text("state"), job.told.get("progress")
        if state == "done":
            return
        if state in ("failed", "cancelled"):
            message = job.told.get("message")
            why = visible(message) if isinstance(message, str) else "the job was cancelled"
            raise InputError(f"the upload is there, but it was not prepared: {why}")
        told(visible(job.text("stage")), progress if isinstance(progress, float) else None)
        time.sleep(_LOOKS_EVERY_S)


def _send(
    client: Client, file: Path, *, announced: Mapping[str, object], state: FileState, told: Callable[[int], None]
) -> None:
    begun = _asked(client, "POST", "/uploads", body=announced)
    upload, offset = begun.text("id"), begun.number("offset", most=state.size)
    pauses = iter(_PAUSES_S)
    try:
        with file.open("rb") as stream:
            while offset < state.size:
                told(offset)
                stream.seek(offset)
                data = stream.read(_SLICE_BYTES)
                if not data:
                    raise _changed(file)
                before, offset = offset, _sent_slice(client, upload, data=data, offset=offset, size=state.size)
                pauses = iter(_PAUSES_S) if offset > before else pauses
                if offset <= before:
                    _pause(pauses, client=client, why="it takes nothing of what is sent")
            told(offset)
            stream.seek(0)
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    if file_state(file) != state:
        _asked(client, "DELETE", f"/uploads/{quote(upload, safe='')}")
        raise _changed(file)
    place = f"/uploads/{quote(upload, safe='')}/finished"
    patience_s = PATIENCE_S + state.size / _COMPARED_BYTES_S
    _asked(client, "POST", place, body={"sha256": digest}, patience_s=patience_s)


def _sent_slice(client: Client, upload: str, *, data: bytes, offset: int, size: int) -> int:
    """Send a slice; return where the next one begins, which after a broken connection the dashboard is asked for."""
    place, checksum = f"/uploads/{quote(upload, safe='')}", zlib.crc32(data)
    try:
        answer = client.ask(
            "PUT", f"{place}?offset={offset}", body=data, checksum=checksum, patience_s=_SLICE_PATIENCE_S
        )
    except BrokenConnectionError:
        answer = _asked(client, "GET", place)
    return answer.number("offset", most=size)


def _asked(
    client: Client,
    method: str,
    path: str,
    *,
    body: Mapping[str, object] | None = None,
    patience_s: float = PATIENCE_S,
) -> Answer:
    """Ask until there is an answer, for a minute: all that is asked may be asked twice."""
    gives_up_s = time.monotonic() + max(_TRIED_FOR_S, patience_s)
    pauses = iter(_PAUSES_S)
    while True:
        try:
            return client.ask(method, path, body=body, patience_s=patience_s)
        except BrokenConnectionError as error:
            left = pauses if time.monotonic() < gives_up_s else iter(())
            _pause(left, client=client, why=str(error))


def _pause(pauses: Iterator[float], *, client: Client, why: str) -> None:
    """Wait for the next pause, the longer the more there were; InputError after the last one."""
    pause = next(pauses, None)
    if pause is None:
        raise InputError(
            f"{client.url} does not answer ({why}); check the address, or send it again later: what is there is kept "
            "for a day"
        )
    time.sleep(pause)


def _run(states: Mapping[Path, FileState]) -> str:
    """Return the name of a run: the same for the same files of this machine, so that an upload can be resumed."""
    parts = [socket.gethostname()]
    parts += [f"{file.resolve()} {state.size} {state.modified_ns} {state.number}" for file, state in states.items()]
    return hashlib.sha256("\n".join(parts).encode(errors="surrogateescape")).hexdigest()[:32]


def _changed(file: Path) -> InputError:
    return InputError(f"{file} changed while it was sent; wait until the run that writes it has ended")
