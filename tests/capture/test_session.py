"""What comes of a run, with an nsys that does what nsys was once seen to do."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from nsys_stub import nsys_stub

from gapfinder.capture import registry
from gapfinder.capture.command import CaptureOptions, CaptureRange
from gapfinder.capture.launch import launch
from gapfinder.capture.nsys import Nsys
from gapfinder.capture.outcome import Outcome, outcome_of, outcome_sentences
from gapfinder.capture.proc import is_alive
from gapfinder.capture.session import Captured, RunRequest, dry_run, run_training
from gapfinder.errors import InputError
from gapfinder.training.environment import CaptureWindow


@pytest.fixture
def stub(tmp_path, monkeypatch):
    """A stub nsys, in an empty working folder and with an empty temporary folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(registry, "_TEMPORARY", tmp_path / "tmp")
    return nsys_stub(tmp_path / "bin")


def request(script: str, **given: object) -> RunRequest:
    wanted = {
        "training": ("sh", "-c", f"sleep 0.2; {script}"),
        "name": "train",
        "window": None,
        "is_annotated": False,
        "is_per_rank": False,
        "options": CaptureOptions(environment={}),
    }
    return RunRequest(**{**wanted, **given})


def nsys_at(stub: Path) -> Nsys:
    return Nsys(path=stub, version="2025.5.2.266")


def run(wanted: RunRequest, stub: Path, *, told: list[str] | None = None) -> Captured:
    said = [] if told is None else told
    return run_training(wanted, nsys=nsys_at(stub), output=Path("run"), announce=lambda _: None, tell=said.append)


def names(captured: Captured) -> list[str]:
    return sorted(path.name for path in captured.folder.iterdir() if path.is_file())


@pytest.mark.parametrize(
    ("script", "code", "told"),
    [
        ("exit 0", 0, ()),
        ("exit 7", 7, ("the training ended with exit code 7",)),
        ("kill -KILL $$", 137, ("the training ended with exit code 137 (SIGKILL)",)),
    ],
)
def test_p52_the_exit_code_is_the_trainings_and_the_report_is_judged_apart(stub, script, code, told):
    captured = run(request(script), stub)
    assert (captured.launched.exit_code, names(captured)) == (code, ["report.nsys-rep"])
    assert outcome_of(captured, request=request(script)) is Outcome.CAPTURED
    assert outcome_sentences(captured, request=request(script)) == told


def test_output_is_passed_on_byte_for_byte(capfdbinary):
    words = ("sh", "-c", r"printf 'a\rb\377\n\n'; printf 'no end' >&2; exit 3")
    launched = launch(words, environment={}, is_nsys=False, tell=lambda _: None)
    assert launched.exit_code == 3
    assert capfdbinary.readouterr() == (b"a\rb\xff\n\n", b"no end")


def test_p53_a_report_that_is_older_than_the_run_is_never_taken(stub, monkeypatch):
    monkeypatch.setenv("STUB", "stale")
    stale = stub.parent / "stale.nsys-rep"
    stale.write_bytes(b"of yesterday")
    os.utime(stale, (time.time() - 60, time.time() - 60))
    captured = run(request("exit 0"), stub)
    assert (captured.reports, stale.read_bytes()) == ((), b"of yesterday")
    assert outcome_of(captured, request=request("")) is Outcome.NO_REPORT
    assert "no report" in outcome_sentences(captured, request=request(""))[0]


def test_an_empty_report_is_none(stub, monkeypatch):
    monkeypatch.setenv("STUB", "empty")
    captured = run(request("exit 0"), stub)
    assert (captured.reports, names(captured)) == ((), [])
    assert outcome_of(captured, request=request("")) is Outcome.NO_REPORT


def test_p53_p54_a_report_that_nsys_wrote_elsewhere_is_fetched(stub, monkeypatch, tmp_path):
    monkeypatch.setenv("STUB", "elsewhere")
    captured = run(request("exit 0"), stub)
    assert names(captured) == ["report.nsys-rep"]
    assert not list((tmp_path / "tmp").glob("*.nsys-rep"))


def test_p56_each_capture_of_a_repeated_range_is_a_session(stub, monkeypatch):
    monkeypatch.setenv("STUB", "sessions")
    captured = run(request("exit 0"), stub)
    assert [(one.path.name, one.session) for one in captured.reports] == [
        (f"report.{number}.nsys-rep", number) for number in (1, 2, 3)
    ]


@pytest.mark.parametrize("stub_does", ["stream", "half"])
def test_p57_an_unfinished_capture_is_kept_and_half_a_report_is_not(stub, monkeypatch, stub_does):
    monkeypatch.setenv("STUB", stub_does)
    captured = run(request("exit 3"), stub)
    assert [(one.path.name, one.is_partial) for one in captured.reports] == [("report.qdstrm", True)]
    assert outcome_of(captured, request=request("")) is Outcome.PARTIAL
    assert captured.launched.exit_code == 3


def test_a_training_that_nsys_never_started_is_told_from_one_that_failed(stub, monkeypatch):
    monkeypatch.setenv("STUB", "refuses")
    captured = run(request("exit 0"), stub)
    assert outcome_of(captured, request=request("")) is Outcome.NOT_STARTED
    assert "before the training started" in outcome_sentences(captured, request=request(""))[0]


def test_a_registry_that_keeps_nsys_from_starting_is_removed_and_nsys_started_again(stub, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(registry, "_MAKING_S", 0.0)
    file = registry.registry_file(nsys_at(stub))
    file.write_bytes(bytes(8))
    stub.write_text(stub.read_text().replace('if stub == "refuses"', f"if pathlib.Path({str(file)!r}).exists()"))
    told: list[str] = []
    captured = run(request("exit 3"), stub, told=told)
    assert (captured.launched.exit_code, names(captured)) == (3, ["report.nsys-rep"])
    assert told == [f"what another nsys left of {file} kept nsys from starting; it is gone, a second try"]


def test_a_training_that_was_too_quick_to_be_seen_is_not_run_twice(stub, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(registry, "_MAKING_S", 0.0)
    registry.registry_file(nsys_at(stub)).write_bytes(bytes(8))
    stub.write_text(stub.read_text().replace('if stub == "refuses":', "if True:\n        sys.exit(0)\n    if False:"))
    told: list[str] = []
    run(request("exit 0"), stub, told=told)
    assert told == []


def test_before_an_nsys_in_each_rank_a_damaged_registry_is_removed(stub, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(registry, "_MAKING_S", 0.0)
    file = registry.registry_file(nsys_at(stub))
    file.write_bytes(bytes(8))
    torchrun = tmp_path / "torchrun"
    torchrun.write_text(f"#!/bin/sh\n[ ! -e {file} ]\n")
    torchrun.chmod(0o755)
    told: list[str] = []
    wanted = replace(request("exit 0"), training=(str(torchrun), "train.py"), is_per_rank=True)
    captured = run(wanted, stub, told=told)
    assert captured.launched.exit_code == 0
    assert told == [f"what another nsys left of {file} is out of the way"]


_AGENT = """
    agent = ("import sys, time; print(flush=True); time.sleep(60)", f"--session-name=profile-sh-{os.getpid()}")
    (here / "nsys-agent").symlink_to(sys.executable)
    agent = subprocess.Popen([here / "nsys-agent", "-c", *agent], stdout=subprocess.PIPE, start_new_session=True)
    agent.stdout.readline()
    (here / "agent.pid").write_text(str(agent.pid))
    os.execlp("sleep", "sleep", "60") if stub == "hangs" else sys.exit(1)
    child = subprocess"""


@pytest.mark.parametrize("what", ["refuses to start", "hangs"])
def test_nothing_of_an_nsys_that_started_no_training_is_left(stub, tmp_path, monkeypatch, what):
    monkeypatch.setenv("STUB", what)
    stub.write_text(stub.read_text().replace("    child = subprocess", _AGENT))
    agent = stub.parent / "agent.pid"

    def twice() -> None:
        while not agent.exists() or not agent.read_text():
            time.sleep(0.05)
        (tmp_path / "tmp" / "of-somebody-else.qdstrm").write_bytes(b"a capture")
        for _ in range(2 if what == "hangs" else 0):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)

    thread = threading.Thread(target=twice)
    thread.start()
    captured = run(request("exit 0"), stub)
    thread.join()
    deadline = time.monotonic() + 5
    while is_alive(int(agent.read_text())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(int(agent.read_text()))
    assert names(captured) == []


def test_ctrl_c_ends_an_nsys_that_never_starts_the_training(stub):
    stub.write_text(
        stub.read_text().replace("child = subprocess", 'os.execlp("sleep", "sleep", "60")\n    child = subprocess')
    )

    def twice() -> None:
        for _ in range(2):
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=twice).start()
    told: list[str] = []
    captured = run(request("exit 0"), stub, told=told)
    assert captured.launched.nsys_killed_by is signal.SIGTERM
    assert captured.launched.signals == (signal.SIGINT,)
    assert told == ["the training has not started yet; Ctrl-C again ends nsys"]
    (sentence,) = outcome_sentences(captured, request=request(""))
    assert sentence == "nsys was ended by SIGTERM before the training started; its own words are above"


def when_started(stub: Path, *, then: object) -> None:
    """Do something once the training runs, from another thread."""
    process = stub.parent / "training.pid"

    def wait() -> None:
        deadline = time.monotonic() + 20
        while not (process.exists() and process.read_text()) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(0.3)
        then()

    threading.Thread(target=wait).start()


def test_ctrl_c_goes_to_the_training_and_the_report_is_still_written(stub):
    told: list[str] = []
    when_started(stub, then=lambda: os.kill(os.getpid(), signal.SIGINT))
    captured = run(request("trap 'exit 9' INT; while :; do sleep 0.05; done"), stub, told=told)
    assert (captured.launched.exit_code, names(captured)) == (9, ["report.nsys-rep"])
    assert captured.launched.signals == (signal.SIGINT,)
    assert told[0].startswith("SIGINT sent to the training")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_grows_stronger_and_nsys_still_writes(stub):
    def thrice() -> None:
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)

    when_started(stub, then=thrice)
    captured = run(request("trap '' INT TERM; while :; do sleep 0.05; done"), stub)
    assert captured.launched.signals == (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    assert (captured.launched.exit_code, names(captured)) == (137, ["report.nsys-rep"])


def test_p60_sigterm_reaches_the_training_alone(stub):
    when_started(stub, then=lambda: os.kill(os.getpid(), signal.SIGTERM))
    captured = run(request("trap 'exit 5' TERM; while :; do sleep 0.05; done"), stub)
    assert (captured.launched.exit_code, names(captured)) == (5, ["report.nsys-rep"])


def test_p60_the_time_that_nsys_takes_to_write_is_shown(stub, monkeypatch):
    monkeypatch.setenv("STUB", "slow")
    told: list[str] = []
    captured = run(request("exit 0"), stub, told=told)
    assert told == ["nsys is writing the report (1 s)"]
    assert names(captured) == ["report.nsys-rep"]


def test_p60_an_nsys_that_stays_silent_is_ended(stub, monkeypatch):
    monkeypatch.setenv("STUB", "silent")
    told: list[str] = []
    words, _ = dry_run(request("exit 0"), nsys=nsys_at(stub), output=Path("run"))
    launched = launch(words, environment={}, is_nsys=True, tell=told.append, patience_s=0.3)
    assert (launched.exit_code, launched.nsys_killed_by) == (None, signal.SIGTERM)
    assert "silent" in told[0]


def test_p52_a_training_whose_nsys_is_killed_is_waited_for_and_its_capture_found(stub):
    def kill_nsys() -> None:
        training = int((stub.parent / "training.pid").read_text())
        parent = Path(f"/proc/{training}/stat").read_text().rpartition(")")[2].split()[1]
        os.kill(int(parent), signal.SIGKILL)

    when_started(stub, then=kill_nsys)
    told: list[str] = []
    script = "sleep 1; echo events > $TMPDIR/nsys-report-1a2b.qdstrm"
    captured = run(request(script), stub, told=told)
    assert (captured.launched.exit_code, captured.launched.nsys_killed_by) == (None, signal.SIGKILL)
    assert told == ["nsys was ended by SIGKILL; the training goes on without it"]
    assert [(one.path.name, one.path.read_text()) for one in captured.reports] == [("report.qdstrm", "events\n")]
    assert outcome_of(captured, request=request("")) is Outcome.PARTIAL


def status(folder: str, rank: int, *, steps: int, opened: bool = False, world: int = 1) -> str:
    """A shell command that leaves what the hook of a process leaves."""
    flag = "true" if opened else "false"
    content = (
        f'{{"pid": {100 + rank}, "host": "h", "rank": {rank}, "local_rank": {rank}, "world_size": {world}, '
        f'"steps": {steps}, "is_window_opened": {flag}, "is_window_closed": {flag}, "opened_at_step": null, '
        f'"annotator": "nvtx", "trouble": null}}'
    )
    return f"echo '{content}' > {folder}/{rank}.json"


@pytest.mark.parametrize(
    ("window", "script", "told"),
    [
        (CaptureWindow(first=None, end=30), "true", "no Python process that imports torch was seen"),
        (CaptureWindow(first=None, end=30), status("run/processes", 0, steps=0), "no optimizer took a step"),
        (CaptureWindow(first=None, end=30), status("run/processes", 0, steps=8), "no mark of a step reached nsys"),
        (
            CaptureWindow(first=50, end=60),
            status("run/processes", 0, steps=8),
            "it opens at step 50; choose earlier steps with --steps, or leave --steps out (seen: rank 0 (pid 100): 8 steps)",
        ),
    ],
)
def test_a_window_that_never_opened_is_explained(stub, monkeypatch, window, script, told):
    monkeypatch.setenv("STUB", "nothing")
    wanted = request(script, window=window, is_annotated=True)
    captured = run(wanted, stub)
    assert outcome_of(captured, request=wanted) is Outcome.NEVER_OPENED
    assert told in " ".join(outcome_sentences(captured, request=wanted))
    assert "--nvtx-capture=gapfinder capture@*" in (stub.parent / "words").read_text().splitlines()


@pytest.mark.parametrize(("steps", "is_told"), [(1, False), (0, True)])
def test_a_capture_without_steps_is_told(stub, steps, is_told):
    wanted = request(status("run/processes", 0, steps=steps, opened=True), is_annotated=True)
    told = " ".join(outcome_sentences(run(wanted, stub), request=wanted))
    assert ("no optimizer of torch took one" in told) is is_told


def test_p59_ranks_that_nobody_reported_are_named(stub):
    script = "; ".join(status("run/processes", rank, steps=8, opened=True, world=8) for rank in (0, 1, 3))
    wanted = request(script, is_annotated=True)
    told = " ".join(outcome_sentences(run(wanted, stub), request=wanted))
    assert "no process reported ranks 2, 4 to 7" in told


def test_a_range_that_was_never_reached_is_named(stub, monkeypatch):
    monkeypatch.setenv("STUB", "nothing")
    options = CaptureOptions(capture_range=CaptureRange.NVTX, nvtx_range="mine@*", environment={})
    wanted = request("exit 0", options=options)
    assert "because mine@* was never reached" in outcome_sentences(run(wanted, stub), request=wanted)[0]


def test_what_is_wrong_with_a_command_shows_before_anything_is_made(stub, tmp_path):
    wanted = request("exit 0", options=CaptureOptions(nsys_args=("--no-such-option=1",), environment={}))
    with pytest.raises(InputError, match="no-such-option"):
        run(wanted, stub)
    assert not (tmp_path / "run").exists()


def test_each_rank_has_a_report_of_its_own(stub, tmp_path):
    launcher = tmp_path / "mpirun"
    launcher.write_text(
        '#!/bin/sh\nshift 2\nfor rank in 0 1 2; do OMPI_COMM_WORLD_RANK=$rank "$@" || exit; done\nexit 4\n'
    )
    launcher.chmod(0o755)
    wanted = request(
        "",
        training=(str(launcher), "-n", "4", "sh", "-c", 'test "$NSYS_NVTX_PROFILER_REGISTER_ONLY" = 0'),
        is_per_rank=True,
    )
    captured = run(wanted, stub)
    assert names(captured) == [f"rank{rank}.nsys-rep" for rank in (0, 1, 2)]
    assert captured.launched.exit_code == 4
    assert "1 of 4 ranks left no report" in outcome_sentences(captured, request=wanted)


def test_p55_a_process_without_a_rank_is_refused(stub, tmp_path, capfd, monkeypatch):
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"):
        monkeypatch.delenv(name, raising=False)
    launcher = tmp_path / "srun"
    launcher.write_text('#!/bin/sh\nexec "$@"\n')
    launcher.chmod(0o755)
    wanted = request("", training=(str(launcher), "sh", "-c", "exit 0"), is_per_rank=True)
    captured = run(wanted, stub)
    assert (captured.launched.exit_code, captured.reports) == (2, ())
    assert "none of RANK, OMPI_COMM_WORLD_RANK" in capfd.readouterr().err
