"""A whole `gapfinder dashboard` in a process of its own, and clients that mean it no good."""

from __future__ import annotations

import hashlib
import json
import os
import select
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parents[1]
TOKEN = "an-example-of-a-token"  # noqa: S105
STARTS_WITHIN_S = 120
PATIENCE_S = 120
_PIECE = 1 << 20


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict:
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """A running dashboard.

    Attributes:
        said: everything it has written to standard error so far.
    """

    host: str
    port: int
    process: subprocess.Popen[str]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = HTTPConnection(self.host, self.port, timeout=PATIENCE_S)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body=body, headers={"Authorization": f"Bearer {TOKEN}"} | named)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def lives(self) -> bool:
        return self.process.poll() is None and self.ask("GET", "/healthz").json["ok"] is True

    def raw(self, content: bytes) -> socket.socket:
        """A connection on which these bytes were sent."""
        one = socket.create_connection((self.host, self.port), timeout=PATIENCE_S)
        with suppress(OSError):
            one.sendall(content)
        return one

    def memory(self) -> int:
        """Bytes that the server's process holds."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))

    def upload(self, path: Path) -> tuple[str | None, str]:
        """Upload a file; return its profile, and what refused it or how its preparation ended."""
        content, run = path.read_bytes(), os.urandom(8).hex()
        told = self.ask("POST", "/uploads", json.dumps({"name": path.name, "size": len(content), "run": run}).encode())
        if told.status != 201:
            return None, told.json["error"]
        upload = told.json["id"]
        for offset in range(0, len(content), _PIECE):
            data = content[offset : offset + _PIECE]
            checksum = {"X_Checksum": f"{zlib.crc32(data):08x}"}
            put = self.ask("PUT", f"/uploads/{upload}?offset={offset}", data, **checksum)
            if put.status != 200:
                return None, put.json["error"]
        digest = json.dumps({"sha256": hashlib.sha256(content).hexdigest()}).encode()
        self.ask("POST", f"/uploads/{upload}/finished", digest)
        combined = self.ask("POST", f"/runs/{run}", b"{}").json
        return combined["profile"], self.ended(combined["profile"])

    def ended(self, profile: str) -> str:
        """Wait until a profile is prepared; return "done" or why it failed."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            job = self.ask("GET", f"/p/{profile}/job").json
            if job is None or job["state"] == "done":
                return "done"
            if job["state"] not in ("queued", "running"):
                return job["message"]
            time.sleep(0.2)
        raise TimeoutError(f"still {job}")


@contextmanager
def served_dashboard(folder: Path, *options: str) -> Iterator[Served]:
    """Run `gapfinder dashboard` on a store in a folder, with a token; it is killed at the end."""
    log = folder / "log"
    command = (sys.executable, "-m", "gapfinder", "dashboard", "--store", str(folder / "store"), "--port", "0")
    environment = os.environ | {"GAPFINDER_TOKEN": TOKEN, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    with log.open("w") as errors:
        process = subprocess.Popen(
            (*command, *options), stdout=subprocess.PIPE, stderr=errors, text=True, env=environment, cwd=folder
        )
    try:
        ready, _, _ = select.select([process.stdout], [], [], STARTS_WITHIN_S)
        assert ready, f"the dashboard did not say its address: {log.read_text()}"
        place = urlsplit(process.stdout.readline())
        yield Served(place.hostname, place.port, process, log)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
