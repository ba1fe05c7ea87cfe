"""Where results may be written: over no input, through links, into no device, and by one command at a time."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import databases
import pytest
from click.testing import CliRunner, Result
from databases import Kernel

from gapfinder.cli.app import commands
from gapfinder.cli.output import write_output
from gapfinder.errors import InputError


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "profiles"
    made.mkdir()
    for number, name in enumerate(("a.sqlite", "b.sqlite")):
        databases.nsys_database(made / name, kernels=[Kernel(start=0, end=1_000, pid=100 + number)])
    (made / "a.nsys-rep").write_bytes(b"the report that a.sqlite was made of")
    return made


@pytest.mark.parametrize("name", ["b.sqlite", "a.nsys-rep", "hard link", "link"])
def test_no_profile_of_a_folder_is_an_output(name, folder):
    (folder / "link").symlink_to("a.sqlite")
    (folder / "hard link").hardlink_to(folder / "a.sqlite")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = run("analyze", folder, "--output", folder / name, "--force")
    assert (result.exit_code, "is an input" in result.stderr) == (2, True)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("is_named", [True, False])
def test_the_settings_file_is_no_output(is_named, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "gapfinder.toml"
    settings.write_text("top = 3\n")
    options = ["--config", settings] if is_named else []
    result = run("analyze", folder, "--output", "gapfinder.toml", "--force", *options)
    assert (result.exit_code, "is an input" in result.stderr, settings.read_text()) == (2, True, "top = 3\n")


def test_a_pipe_and_a_device_are_no_outputs(folder, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for output in (pipe, Path(os.devnull)):
        result = run("analyze", folder, "--output", output, "--force")
        assert (result.exit_code, result.stderr) == (
            2,
            f"gapfinder: error: {output} is no regular file; name another output\n",
        )
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_is_followed(folder, tmp_path):
    link, target = tmp_path / "latest", tmp_path / "reports" / "first"
    target.parent.mkdir()
    link.symlink_to("reports/first")
    assert run("analyze", folder, "--output", link).exit_code == 0
    assert (link.is_symlink(), target.read_text().startswith("a.sqlite and b.sqlite")) == (True, True)
    assert run("analyze", folder, "--output", link).exit_code == 2
    target.write_text("old")
    assert run("analyze", folder, "--output", link, "--force").exit_code == 0
    assert (link.is_symlink(), target.read_text() != "old") == (True, True)
    assert [path.name for path in target.parent.iterdir()] == ["first"]


@pytest.mark.parametrize("command", ["analyze", "export"])
def test_a_name_that_is_too_long_is_one_line(command, folder):
    result = run(command, folder / "a.nsys-rep", "--output", folder / ("n" * 300))
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    if command == "export":
        assert result.stderr.endswith(": File name too long\n")


def test_the_longest_name_there_is_can_be_written(folder, tmp_path):
    assert run("analyze", folder, "--output", tmp_path / ("n" * 255)).exit_code == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_one_line(folder, tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    result = run("analyze", folder, "--output", closed / "report")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "no permission to write into" in result.stderr


@pytest.mark.parametrize("has_links", [True, False])
def test_what_another_wrote_at_the_last_moment_stays(has_links, tmp_path, monkeypatch):
    def just_before(call: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
        def late(part: Path, target: Path) -> None:
            if not target.exists():
                target.write_text("theirs")
            call(part, target)

        return late

    def no_links(*_: object) -> None:
        raise PermissionError

    output = tmp_path / "report"
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", just_before(os.link if has_links else no_links))
        patch.setattr(os, "replace", just_before(os.replace))
        with pytest.raises(InputError, match="exists; name another file"):
            write_output(output, write=lambda part: part.write_text("ours"), force=False)
    assert (output.read_text(), list(tmp_path.iterdir())) == ("theirs", [output])


def test_without_links_a_file_is_written_all_the_same(tmp_path, monkeypatch):
    def no_links(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", no_links)
    output = tmp_path / "report"
    write_output(output, write=lambda part: part.write_text("ours"), force=False)
    assert (output.read_text(), list(tmp_path.iterdir())) == ("ours", [output])


def test_a_folder_is_no_report_to_export(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("export", ".")
    assert (result.exit_code, result.stderr) == (2, "gapfinder: error: . is a folder; name a report\n")
