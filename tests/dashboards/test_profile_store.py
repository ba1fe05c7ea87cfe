"""The store: profiles by content, labels, several servers, and what is left of whoever died."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dashboards.store import identity
from dashboards.store.leftovers import sweep
from dashboards.store.places import default_folder
from dashboards.store.records import JobState
from dashboards.store.store import Store
from dashboards.store.work import Work
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "store")
    yield store
    store.close()


def file(path: Path, content: str = "content") -> Path:
    path.write_text(content)
    return path


def test_the_folder_is_its_owners_alone(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir(mode=0o755)
    Store(folder).close()
    folders = [folder, *(path for path in folder.iterdir() if path.is_dir())]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}


@pytest.mark.parametrize(
    ("base", "folder"), [("/data", "/data"), ("relative", "~/.local/share"), ("", "~/.local/share")]
)
def test_the_usual_folder(monkeypatch, base, folder):
    monkeypatch.setenv("XDG_DATA_HOME", base)
    assert default_folder() == Path(folder).expanduser() / "gapfinder" / "dashboard"


def test_a_folder_that_cannot_be_used_is_told(tmp_path):
    with pytest.raises(InputError, match=r"cannot use the dashboard's folder .*; name another one with --store"):
        Store(file(tmp_path / "file") / "store")
    with pytest.raises(InputError, match=r"file: File exists; name another one with --store"):
        Store(tmp_path / "file")


@pytest.mark.parametrize("content", [b"no database at all, but rather long" * 9, None])
def test_a_database_of_somebody_else_is_left_alone(tmp_path, content):
    path = tmp_path / "dashboard.db"
    if content is None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE TABLE mine (x)")
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"dashboard\.db .*name another --store"):
        Store(tmp_path)
    assert path.read_bytes()[100:] == before[100:]


def test_a_database_of_a_newer_gapfinder_is_refused(tmp_path, store):
    with store.ledger.transaction() as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(InputError, match="newer gapfinder"):
        Store(store.places.folder)


def test_the_same_content_is_the_same_profile_wherever_it_lies(store, tmp_path):
    first = store.add([file(tmp_path / "a.sqlite"), file(tmp_path / "b.sqlite", "other")], name="both")
    moved = store.add([file(tmp_path / "c.sqlite", "other"), file(tmp_path / "d.sqlite")])
    assert (moved.id, moved.name, len(store.profiles())) == (first.id, "both", 1)
    assert [path.name for path in moved.files] == ["c.sqlite", "d.sqlite"]
    assert store.add([tmp_path / "a.sqlite"]).id != first.id
    assert store.add([tmp_path / "a.sqlite", tmp_path / "a.sqlite"]).files == (tmp_path / "a.sqlite",)


def test_profiles_are_newest_first_with_their_newest_job(store, tmp_path):
    old, new = (store.add([file(tmp_path / f"{name}.sqlite.zst", name)]) for name in ("old", "new"))
    work = Work(store)
    work.cancel(work.submit(old.id).id)
    newest = work.submit(old.id)
    assert [profile.name for profile in store.profiles()] == ["new", "old"]
    assert store.profile(new.id).job is None
    assert store.profile(old.id).job == store.profiles()[1].job == newest
    assert [job.state for job in store.jobs()] == [JobState.QUEUED, JobState.CANCELLED]


def test_names_and_labels_are_the_readers(store, tmp_path):
    profile = store.add([file(tmp_path / "a.sqlite")]).id
    store.rename(profile, name="<b>run</b>\x1b 3\n")
    store.label(profile, labels=["slow", " before  fix ", "slow", ""])
    stored = store.profile(profile)
    assert (stored.name, stored.labels) == ("<b>run</b>\\x1b 3", ("before fix", "slow"))
    with pytest.raises(InputError, match="may not be empty"):
        store.rename(profile, name=" ")
    with pytest.raises(InputError, match="51 labels"):
        store.label(profile, labels=[str(number) for number in range(51)])
    assert store.profile(profile) == stored


def test_no_such_profile_is_told(store):
    for ask in (store.profile, store.remove, lambda profile: store.rename(profile, name="x")):
        with pytest.raises(InputError, match="no such profile"):
            ask("../../etc")


def test_a_file_that_changed_or_went_is_told_and_another_one_is_not(store, tmp_path):
    kept, path = file(tmp_path / "kept.sqlite", "kept"), file(tmp_path / "a.sqlite")
    stored = [store.add([kept]), store.add([path])]
    assert [profile.trouble for profile in stored] == [None, None]
    path.write_text("later content")
    assert "changed since it was added" in store.profile(stored[1].id).trouble
    path.unlink()
    assert "is no longer there" in store.profile(stored[1].id).trouble
    assert store.profile(stored[0].id).trouble is None


def test_a_file_is_read_again_only_when_it_changed(store, tmp_path, monkeypatch):
    path = file(tmp_path / "a.sqlite")
    first = store.add([path])
    with monkeypatch.context() as patch:
        patch.setattr("dashboards.store.store.identify", pytest.fail)
        assert store.add([path]).id == first.id
    path.write_text("later content")
    assert store.add([path]).id != first.id


def test_a_file_that_is_written_to_is_not_taken(store, tmp_path, monkeypatch):
    path = file(tmp_path / "a.sqlite")
    digest = identity.hashlib.file_digest

    def meanwhile(stream: object, name: str) -> object:
        with path.open("a") as other:
            other.write("more")
        return digest(stream, name)

    monkeypatch.setattr(identity.hashlib, "file_digest", meanwhile)
    with pytest.raises(InputError, match="changed while it was read"):
        store.add([path])
    assert store.profiles() == []


def test_removing_keeps_the_users_files(store, tmp_path):
    path = file(tmp_path / "a.sqlite")
    profile = store.add([path])
    profile.folder.mkdir()
    file(profile.folder / "columns")
    Work(store).submit(profile.id)
    store.remove(profile.id)
    assert (store.profiles(), store.jobs(), path.exists(), profile.folder.exists()) == ([], [], True, False)
    assert list(store.places.trash.iterdir()) == []


def test_leftovers_go_and_what_belongs_to_somebody_stays(store, tmp_path):
    profile = store.add([file(tmp_path / "a.sqlite")])
    job = Work(store).submit(profile.id)
    claim = Work(store).claim(most=1)
    places = store.places
    for folder in (places.prepared, places.scratch, places.files, places.locks):
        file(folder / "left-over")
    profile.folder.mkdir()
    (places.scratch / job.id).mkdir()
    (places.trash / "x").mkdir()
    sweep(store)
    claim.lock.close()
    left = {
        path.relative_to(places.folder).as_posix()
        for folder in places.folder.iterdir()
        if folder.is_dir()
        for path in folder.iterdir()
    }
    assert left == {f"prepared/{profile.id}", f"scratch/{job.id}", f"locks/{job.id}"}


def test_many_threads_of_two_servers_write_at_once(store, tmp_path):
    other = Store(store.places.folder)
    failures: list[BaseException] = []

    def add(place: Store, number: int) -> None:
        try:
            for part in range(3):
                profile = place.add([file(tmp_path / f"{number}-{part}.sqlite", f"{number} {part}")])
                place.label(profile.id, labels=[str(number)])
        except InputError as error:
            failures.append(error)

    threads = [threading.Thread(target=add, args=((store, other)[number % 2], number)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(store.profiles()) == len(other.profiles()) == 18
    assert {profile.labels for profile in other.profiles()} == {(str(number),) for number in range(6)}
    other.close()


ENDLESS = """
import sys
from pathlib import Path
from dashboards.store.store import Store
store = Store(Path(sys.argv[1]))
profile = store.add([Path(sys.argv[2])]).id
with store.ledger.transaction() as database:
    database.table("profiles").update(profile, {"name": "half of a change"})
    print("ready", flush=True)
    sys.stdin.read()
"""


def test_a_server_killed_in_the_middle_of_a_change_leaves_the_state_before_it(store, tmp_path):
    command = (sys.executable, "-c", ENDLESS, store.places.folder, file(tmp_path / "a.sqlite"))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout.readline() == "ready\n"
        os.kill(process.pid, signal.SIGKILL)
    assert [profile.name for profile in store.profiles()] == ["a"]
    store.rename(store.profiles()[0].id, name="whole")
    assert [profile.name for profile in store.profiles()] == ["whole"]
