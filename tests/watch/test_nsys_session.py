"""Opening an idle session of nsys, with a stand-in that sets a variable and runs what it is given."""

from __future__ import annotations

import os

import pytest

from gapfinder.capture import registry
from gapfinder.capture.nsys import Nsys
from gapfinder.errors import NsysError
from gapfinder.watch import session as sessions
from gapfinder.watch.nsys_options import SessionOptions

OPTIONS = SessionOptions(launch=("--trace=nvtx",), start=())
RUN = 'shift 3\nTRACED_BY=stub exec "$@"\n'


def opened(folder, script: str):
    path = folder / "nsys"
    path.write_text(f"#!/bin/sh\n{script}")
    path.chmod(0o755)
    nsys = Nsys(path=path, version="2022.4.2.1")
    return sessions.open_session(nsys, options=OPTIONS, log=folder / "log", environment=dict(os.environ))


@pytest.fixture(autouse=True)
def _impatient(tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "_OPENINGS_S", (1.0, 1.0, 4.0))
    monkeypatch.setattr(sessions, "_CLOSING_S", 0.5)
    monkeypatch.setattr(registry, "_TEMPORARY", tmp_path / "tmp")


def test_what_nsys_sets_is_told_and_nothing_else(tmp_path):
    session = opened(tmp_path, RUN)
    assert session.environment == {"TRACED_BY": "stub"}
    assert session.is_alive
    session.close()
    assert not session.is_alive


def test_a_launch_that_hangs_is_tried_twice_more(tmp_path):
    hung = tmp_path / "hung"
    session = opened(tmp_path, f"echo >> {hung}; if [ $(wc -l < {hung}) -lt 3 ]; then exec sleep 60; fi\n{RUN}")
    assert hung.read_text() == "\n" * 3
    assert session.environment == {"TRACED_BY": "stub"}
    session.close()


def test_a_damaged_registry_is_removed_before_the_next_try(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(registry, "_MAKING_S", 0.0)
    file = tmp_path / "NSys-2022.4.2.1"
    file.write_bytes(bytes(8))
    session = opened(tmp_path, f"if [ -e {file} ]; then exec sleep 60; fi\n{RUN}")
    assert session.environment == {"TRACED_BY": "stub"}
    session.close()


def test_where_it_stays_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "_OPENINGS_S", (0.2,))
    monkeypatch.setattr(registry, "_SHARED_MEMORY", tmp_path)
    (tmp_path / "NSys-2022.4.2.1").write_bytes(bytes(8))
    with pytest.raises(NsysError, match=r"End all processes of nsys, remove .*/NSys-2022.4.2.1, and try again"):
        opened(tmp_path, "exec sleep 60\n")


def test_a_launch_that_ends_is_tried_again(tmp_path):
    ended = tmp_path / "ended"
    session = opened(tmp_path, f"echo >> {ended}; if [ $(wc -l < {ended}) -lt 2 ]; then exit 1; fi\n{RUN}")
    assert session.environment == {"TRACED_BY": "stub"}
    session.close()


def test_a_launch_that_hangs_each_time_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(sessions, "_OPENINGS_S", (0.2, 0.2, 1.0))
    with pytest.raises(NsysError, match="did not start a program within 1 s"):
        opened(tmp_path, "echo hanging\nexec sleep 60\n")
