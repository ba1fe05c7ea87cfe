"""nsys's registry of sessions: one lock for all who use it, and one that is damaged is removed."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from gapfinder.capture import registry
from gapfinder.capture.nsys import Nsys, find_nsys
from gapfinder.watch.nsys_options import SessionOptions
from gapfinder.watch.session import open_session

NSYS = Nsys(path=Path("nsys"), version="2022.4.2.1")
LOCK = "nvidia/nsight_systems/SessionManager-2022.4.2.1.lock"
WHOLE, HALF, DAMAGED = b"\2\0\0\0", b"\1\0\0\0", b"\0\0\xff\xff"


@pytest.fixture
def common(tmp_path, monkeypatch):
    """A folder in place of /tmp."""
    common = tmp_path / "common"
    common.mkdir()
    monkeypatch.setattr(registry, "_TEMPORARY", common)
    return common


@pytest.fixture
def own(tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    return own


@pytest.fixture
def file(tmp_path, common, monkeypatch):
    """A registry in place of nsys's, with the lock beside it."""
    monkeypatch.setattr(registry, "_SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(registry, "_MAKING_S", 0.3)
    lock = common / LOCK
    lock.parent.mkdir(parents=True)
    lock.touch()
    return registry.registry_file(NSYS)


@pytest.mark.parametrize("name", ["TMPDIR", "TMP", "TEMP", "TEMPDIR"])
def test_another_temporary_folder_has_the_same_lock_from_then_on(common, own, name):
    with registry.shared_lock(NSYS, environment={name: str(own)}):
        pass
    assert (own / LOCK).samefile(common / LOCK)
    assert not (own / LOCK).is_symlink()
    for folder in (common, own):  # the next user of this machine must be able to open them
        modes = [path.stat().st_mode & 0o777 for path in ((folder / LOCK).parent.parent, (folder / LOCK).parent)]
        assert modes == [0o777, 0o777]
    assert (own / LOCK).stat().st_mode & 0o777 == 0o666


def test_a_lock_that_nsys_made_before_is_replaced(common, own):
    (own / LOCK).parent.mkdir(parents=True)
    (own / LOCK).touch()
    with registry.shared_lock(NSYS, environment={"TMPDIR": str(own)}):
        assert (own / LOCK).samefile(common / LOCK)
    assert [path.name for path in (own / LOCK).parent.iterdir()] == [(own / LOCK).name]


def test_on_another_file_system_the_lock_is_shared_while_it_lasts(common, own, monkeypatch):
    def refuse(*_words: object) -> None:
        raise OSError

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    environment = {"TMPDIR": str(own)}
    first = registry.shared_lock(NSYS, environment=environment)
    with first, registry.shared_lock(NSYS, environment=environment):
        assert (own / LOCK).readlink() == common / LOCK
    assert not os.path.lexists(own / LOCK)


def test_a_link_stays_while_somebody_uses_it_whoever_ends_first(common, own, monkeypatch):
    def refuse(*_words: object) -> None:
        raise OSError

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    first, second = ExitStack(), ExitStack()
    for use in (first, second):
        use.enter_context(registry.shared_lock(NSYS, environment={"TMPDIR": str(own)}))
    first.close()
    assert (own / LOCK).samefile(common / LOCK)
    second.close()
    assert not os.path.lexists(own / LOCK)


def test_a_link_that_cannot_be_removed_is_left(common, own, monkeypatch):
    def refuse(*_words: object, **_named: object) -> None:
        raise OSError

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    with registry.shared_lock(NSYS, environment={"TMPDIR": str(own)}):
        monkeypatch.setattr(Path, "unlink", refuse)
    assert (own / LOCK).is_symlink()


def test_two_that_link_at_once_leave_nothing_beside_it(common, own, monkeypatch):
    link = Path.hardlink_to

    def at_once(new: Path, lock: Path) -> None:
        link(own / LOCK, lock)  # somebody else's, between our look and ours
        link(new, lock)

    monkeypatch.setattr(Path, "hardlink_to", at_once)
    with registry.shared_lock(NSYS, environment={"TMPDIR": str(own)}):
        assert [path.name for path in (own / LOCK).parent.iterdir()] == [(own / LOCK).name]


def test_what_was_there_before_keeps_its_mode_and_no_link_is_followed(common, own, tmp_path):
    private, never = tmp_path / "private", tmp_path / "never"
    (private / "nsight_systems").mkdir(parents=True)
    private.chmod(0o700)
    (common / "nvidia").symlink_to(private)
    (common / LOCK).symlink_to(never)
    with registry.shared_lock(NSYS, environment={"TMPDIR": str(own)}):
        pass
    assert private.stat().st_mode & 0o777 == 0o700
    assert not never.exists()


@pytest.mark.parametrize("environment", [{}, {"TMPDIR": ""}, {"TMPDIR": "/dev/null/nowhere"}])
def test_no_folder_of_its_own_or_one_that_cannot_be_written_is_left(common, environment):
    with registry.shared_lock(NSYS, environment=environment):
        pass
    assert not any(path.is_symlink() for path in common.rglob("*"))


def test_a_lock_of_somebody_else_that_cannot_be_opened_is_not_shared(common, own, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_words: False)
    with registry.shared_lock(NSYS, environment={"TMPDIR": str(own)}):
        assert not (own / LOCK).exists()


@pytest.mark.parametrize("content", [b"", HALF, DAMAGED])
def test_a_damaged_registry_is_removed(file, content):
    file.write_bytes(content)
    assert registry.mend_registry(NSYS)
    assert not file.exists()


def test_a_damaged_registry_is_removed_where_nobody_has_made_a_lock(file, common):
    (common / LOCK).unlink()
    file.write_bytes(DAMAGED)
    assert registry.mend_registry(NSYS)
    assert not file.exists()


def test_a_whole_registry_stays_and_none_is_none(file):
    file.write_bytes(WHOLE)
    assert not registry.mend_registry(NSYS)
    assert file.read_bytes() == WHOLE
    file.unlink()
    assert not registry.mend_registry(NSYS)


def test_a_registry_that_is_being_made_stays(file):
    file.write_bytes(HALF)
    maker = threading.Timer(0.1, file.write_bytes, (WHOLE,))
    maker.start()
    assert not registry.mend_registry(NSYS)
    maker.join()
    assert file.exists()


_WAITING = """
import fcntl, sys, time
registry, lock = open(sys.argv[1]), open(sys.argv[2], "r+b")
fcntl.lockf(lock, fcntl.LOCK_EX)
if sys.argv[3] == "has found it whole":
    registry.close()
print(flush=True)
time.sleep(60)
"""


@contextmanager
def an_nsys(file: Path, common: Path, *, state: str) -> Iterator[subprocess.Popen[bytes]]:
    """Something that has the lock, as an nsys in this state has it."""
    words = (sys.executable, "-c", _WAITING, file, common / LOCK, state)
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@pytest.mark.parametrize("is_removed_before", [False, True])
def test_an_nsys_that_waits_for_good_with_the_lock_is_ended(file, common, monkeypatch, is_removed_before):
    monkeypatch.setattr(registry, "_LOCK_S", 0.2)
    file.write_bytes(DAMAGED)
    with an_nsys(file, common, state="waits") as waiting:
        if is_removed_before:
            file.unlink()
        assert registry.mend_registry(NSYS)
        assert waiting.wait(5) == -signal.SIGKILL
    assert not file.exists()


@pytest.mark.parametrize(("content", "state"), [(WHOLE, "waits"), (DAMAGED, "has found it whole")])
def test_an_nsys_that_is_only_slow_is_not_ended(file, common, monkeypatch, content, state):
    monkeypatch.setattr(registry, "_LOCK_S", 0.2)
    file.write_bytes(content)
    with an_nsys(file, common, state=state) as slow:
        assert registry.mend_registry(NSYS) == (content == DAMAGED)
        assert slow.poll() is None


@pytest.mark.nsys
def test_nsys_waits_for_the_lock_that_is_shared(tmp_path, own):
    nsys = find_nsys()
    environment = {**os.environ, "TMPDIR": str(own)}
    lock = registry._TEMPORARY / LOCK.replace(NSYS.version, nsys.version)
    with registry.shared_lock(nsys, environment=environment), lock.open("r+b") as held:
        fcntl.lockf(held, fcntl.LOCK_EX)
        threading.Timer(1.0, fcntl.lockf, (held, fcntl.LOCK_UN)).start()
        began = time.monotonic()
        options = SessionOptions(launch=("--trace=nvtx",), start=())
        session = open_session(nsys, options=options, log=tmp_path / "log", environment=environment)
        assert time.monotonic() - began > 1.0
        session.close()
