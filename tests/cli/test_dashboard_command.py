"""`gapfinder dashboard`: what it takes, that it serves, and how it ends."""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from click.testing import CliRunner
from dashboard_watches import state, write_watch

from dashboards.server import Serving, open_dashboard
from dashboards.store.store import Store
from gapfinder.cli.app import commands

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_profiles"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, dict[str, object]]]:
    """What the command asks for, in place of serving."""
    calls: list[tuple[object, dict[str, object]]] = []
    monkeypatch.setattr(
        "dashboards.server.open_dashboard", lambda profiles, **options: calls.append((profiles, options))
    )
    monkeypatch.delenv("GAPFINDER_TOKEN", raising=False)
    return calls


def test_files_are_profiles_and_a_folder_is_one(opened, tmp_path):
    for name in ("rank0.sqlite", "rank1.nsys-rep"):
        (tmp_path / name).touch()
    files = [str(SAMPLES / name) for name in ("healthy.sqlite", "fsdp.sqlite")]
    assert CliRunner().invoke(commands, ["dashboard", *files, str(tmp_path)]).exit_code == 0
    ((profiles, options),) = opened
    ranks = [tmp_path / "rank0.sqlite", tmp_path / "rank1.nsys-rep"]
    assert profiles == [(None, [Path(files[0])]), (None, [Path(files[1])]), (tmp_path.name, ranks)]
    assert (options["store"], options["serving"]) == (None, Serving())


def test_a_folder_of_watches_is_shown_live_and_no_profile(opened, tmp_path):
    runs = tmp_path / "runs"
    watch = write_watch(runs / "train", state())
    usual = tmp_path / "gapfinder-runs"
    usual.mkdir()
    files = [str(SAMPLES / "healthy.sqlite"), str(runs), str(watch), str(usual)]
    assert CliRunner().invoke(commands, ["dashboard", *files]).exit_code == 0
    ((profiles, options),) = opened
    assert profiles == [(None, [Path(files[0])])]
    assert options["watches"] == [runs, watch, usual]


def test_a_folder_without_profiles_and_watches_is_still_refused(opened, tmp_path):
    done = CliRunner().invoke(commands, ["dashboard", str(tmp_path)])
    assert (done.exit_code, opened) == (2, [])
    assert "no profiles in the folder" in done.stderr


@pytest.mark.parametrize(("names_a_profile", "front"), [(False, "/live"), (True, "/")])
def test_the_address_is_that_of_the_live_page_where_only_watches_are_named(
    monkeypatch, tmp_path, names_a_profile, front
):
    served = []
    monkeypatch.setattr("dashboards.server.serve", lambda _, view, **options: served.append((view, options["front"])))
    monkeypatch.chdir(tmp_path)
    profiles = [("a run", [SAMPLES / "healthy.sqlite"])] if names_a_profile else []
    open_dashboard(profiles, watches=[tmp_path / "w"], store=tmp_path / "store", serving=Serving(), told=served.append)
    ((view, address),) = served
    assert address == front
    assert view.watches.roots == (tmp_path / "w", tmp_path / "gapfinder-runs")


def test_options_reach_the_server(opened, tmp_path):
    line = (
        f"--store {tmp_path} --host 0.0.0.0 --port 9 --allow-host a --allow-host b --quota 1GB --jobs 3 --memory 2GiB"
    )
    done = CliRunner(env={"GAPFINDER_TOKEN": "from-the-environment"}).invoke(commands, ["dashboard", *line.split()])
    assert done.exit_code == 0
    ((profiles, options),) = opened
    assert (profiles, options["store"]) == ([], tmp_path)
    assert options["serving"] == Serving(
        host="0.0.0.0",  # noqa: S104
        port=9,
        token="from-the-environment",  # noqa: S106
        names=("a", "b"),
        quota_bytes=10**9,
        jobs=3,
        job_bytes=2**31,
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["/no/such.sqlite"], "no such file or folder"),
        (["--quota", "much"], "not a size"),
        (["--port", "70000"], "70000"),
        (["--jobs", "0"], "0"),
    ],
)
def test_wrong_arguments_are_told_before_anything_is_made(opened, arguments, reason):
    done = CliRunner().invoke(commands, ["dashboard", *arguments])
    assert (done.exit_code, reason in done.stderr, len(done.stderr.splitlines()), opened) == (2, True, 1, [])


def _a_file(folder: Path) -> None:
    folder.write_text("no folder")


def _garbage(folder: Path) -> None:
    folder.mkdir()
    (folder / "dashboard.db").write_bytes(b"garbage" * 999)


def _newer(folder: Path) -> None:
    store = Store(folder)
    with store.ledger.transaction() as database:
        database.execute("PRAGMA user_version = 99")
    store.close()


@pytest.mark.parametrize(
    ("make", "reason"), [(_a_file, "File exists"), (_garbage, "not a database"), (_newer, "newer gapfinder")]
)
def test_a_store_that_cannot_be_used_is_told_in_one_line(tmp_path, make, reason):
    make(tmp_path / "store")
    done = CliRunner().invoke(commands, ["dashboard", "--store", str(tmp_path / "store"), "--port", "0"])
    assert (done.exit_code, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert reason in done.stderr
    assert "--store" in done.stderr


def test_a_missing_extra_is_told(monkeypatch):
    monkeypatch.delitem(sys.modules, "dashboards.server")
    monkeypatch.setitem(sys.modules, "waitress", None)
    monkeypatch.delitem(sys.modules, "waitress.server")
    done = CliRunner().invoke(commands, ["dashboard"])
    pip = f"{shlex.quote(sys.executable)} -m pip"
    told = f"the dashboard needs waitress, which is not installed here; install it with: {pip} install 'gapfinder[dashboard]'"
    assert (done.exit_code, done.stderr) == (2, f"gapfinder: error: {told}\n")


def test_a_dashboard_is_opened_answers_and_is_closed(tmp_path):
    store = tmp_path / "store"
    command = (
        sys.executable,
        "-m",
        "gapfinder",
        "dashboard",
        SAMPLES / "healthy.sqlite",
        "--store",
        store,
        "--port",
        "0",
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, **pipes) as process:
        try:
            assert select.select([process.stdout], [], [], 60)[0], "no address"
            address = process.stdout.readline().strip()
            with urlopen(f"{address}healthz") as answer:  # noqa: S310
                assert json.load(answer)["ok"] is True
            os.kill(process.pid, signal.SIGINT)
            rest, told = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, rest) == (0, "")
    assert told.startswith("gapfinder: the dashboard is here until Ctrl-C:\n")
    kept = Store(store)
    assert [(profile.name, profile.job is not None) for profile in kept.profiles()] == [("healthy", True)]
    kept.close()
