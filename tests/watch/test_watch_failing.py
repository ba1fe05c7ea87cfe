"""A watch whose analyses fail: each capture says so, the watch goes on, and the training's exit code is its own."""

from __future__ import annotations

from watched_stand_ins import COPY, Stage, make_quick

from gapfinder.watch.following import FollowedRecord
from gapfinder.watch.model import CaptureState
from gapfinder.watch.rules import Rules


def test_an_export_that_fails_and_an_analysis_that_is_killed(tmp_path, monkeypatch):
    make_quick(monkeypatch)
    monkeypatch.chdir(tmp_path)
    reports = [tmp_path / "first", tmp_path / "second"]
    for report in reports:
        report.write_text(f"{report}")
    export = f"""case $last in
*/001/*) echo "error: disk of the agent is full" >&2; exit 3;;
*) kill -9 $PPID;;
esac; {COPY}"""
    stage = Stage(place=tmp_path, reports=reports, export=export, on={"capture 2 failed": "end", "capture 2:": "end"})
    watched = stage.watch(rules=Rules(healthy_at=None, at_steps=(20, 60)))
    assert watched.exit_code == watched.state.training_exit_code == 7
    failed, killed = watched.state.captures
    assert {one.state for one in (failed, killed)} == {CaptureState.FAILED}
    assert failed.trouble.startswith("nsys failed on ")
    assert failed.trouble.endswith(": disk of the agent is full (exit code 3)")
    assert killed.trouble == (
        "the analysis was ended by SIGKILL; watch.log may say why, and "
        "`gapfinder analyze captures/002/report.nsys-rep` tries again"
    )
    for one in (failed, killed):
        assert one.end_step - one.first_step >= 5
        assert (watched.folder / one.folder / "report.nsys-rep").is_file()
    events = [event.text for event in FollowedRecord(watched.folder).read("").events]
    assert events == stage.told[-len(events) :]
    assert [text for text in events if "failed" in text] == [
        f"capture {one.number} failed: {one.trouble}" for one in (failed, killed)
    ]
