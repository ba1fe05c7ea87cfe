from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from contextlib import closing
from fnmatch import fnmatch
from pathlib import Path

import pytest

from gapfinder.capture.nsys import _ROOTS, _USUAL_PLACES, find_nsys
from gapfinder.errors import InputError, NsysError
from gapfinder.export import export_report
from gapfinder.export.cache import remove_half_made
from gapfinder.export.report_version import REPORT_MAGIC, report_version

# Answers --version; `export` counts its calls and copies a database, or does what $BEHAVIOUR says.
_STUB = """#!/bin/sh
here=$(dirname "$0")
if [ "$1" = --version ]; then echo "NVIDIA Nsight Systems version {version}-abc123v0"; exit 0; fi
for argument in "$@"; do
    case $argument in --output=*) output=${{argument#--output=}} ;; esac
    report=$argument
done
echo "$report" >> "$here/calls"
{behaviour}
cp "$here/database.sqlite" "$output"
"""


def stub(folder: Path, *, version: str = "2025.5.2.266", behaviour: str = "") -> Path:
    """An nsys in `folder`/bin."""
    program = folder / "bin" / "nsys"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(_STUB.format(version=version, behaviour=behaviour))
    program.chmod(0o755)
    with closing(sqlite3.connect(program.parent / "database.sqlite")) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS META_DATA_EXPORT (name TEXT, value TEXT)")
    return program


def calls(program: Path) -> list[str]:
    record = program.parent / "calls"
    return record.read_text().splitlines() if record.exists() else []


@pytest.fixture
def nsys(tmp_path, monkeypatch):
    """Use a stub nsys and an empty cache."""
    program = stub(tmp_path)
    monkeypatch.setenv("GAPFINDER_NSYS", str(program))
    monkeypatch.setenv("GAPFINDER_CACHE", str(tmp_path / "cache"))
    return program


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "reports" / "run.nsys-rep"
    path.parent.mkdir()
    path.write_bytes(b"a report")
    return path


def left_in(cache: Path) -> list[str]:
    return [path.name for path in cache.iterdir() if path.suffix != ".lock"]


def test_an_export_is_made_once_for_one_content(nsys, report, tmp_path):
    first = export_report(report)
    copy = tmp_path / "elsewhere.nsys-rep"
    copy.write_bytes(report.read_bytes())
    assert first.read_bytes().startswith(b"SQLite format 3\0")
    assert export_report(report) == first == export_report(copy)
    assert len(calls(nsys)) == 1


def test_a_report_of_the_same_size_and_time_with_other_content_is_exported_again(nsys, report):
    before = report.stat()
    first = export_report(report)
    report.write_bytes(b"b report")
    os.utime(report, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert export_report(report) != first
    assert len(calls(nsys)) == 2


def test_another_nsys_exports_again(nsys, report, tmp_path):
    first = export_report(report)
    stub(tmp_path, version="2026.1.1.20")
    assert export_report(report) != first
    assert len(calls(nsys)) == 2


def test_the_folder_of_the_report_is_left_alone_and_the_cache_is_private(nsys, report, tmp_path):
    report.parent.chmod(0o555)
    try:
        exported = export_report(report)
    finally:
        report.parent.chmod(0o755)
    assert [path.name for path in report.parent.iterdir()] == ["run.nsys-rep"]
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    assert stat.S_IMODE(exported.stat().st_mode) == 0o600
    assert calls(nsys) == [str(report)]


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (
            "echo 'Exportation error: Section Table Reference magic number mismatch.' >&2; exit 1",
            "magic number mismatch",
        ),
        (
            (
                "printf 'Exportation error: Report was created in Nsight Systems version (2026.3.1),\\n"
                "newer than your current version (2026.2.1).\\n' >&2; exit 1"
            ),
            "version (2026.3.1), newer than your current version (2026.2.1)",
        ),
        (
            (
                "printf 'Exportation error: /a/b.cpp(73): Throw in function void f()\\n"
                "std::exception::what: ProtobufParseException\\n' >&2; exit 1"
            ),
            ": ProtobufParseException (exit code 1)",
        ),
        (
            (
                ": > \"$output\"; printf 'Failed to close\\n[QuadDCommon::tag_message*] = database or disk is full\\n' >&2;"
                " exit 0"
            ),
            ": database or disk is full (exit code 0)",
        ),
        ("exit 0", "it said nothing (exit code 0)"),
        ("kill -9 $$", "it said nothing (exit code -9)"),
        ('head -c 4096 "$here/database.sqlite" > "$output"; exit 0', "half an export"),
        ('echo text > "$output"; exit 0', "half an export"),
    ],
)
def test_p61b_what_nsys_says_is_told_in_one_line_and_nothing_is_kept(nsys, report, tmp_path, behaviour, words):
    stub(tmp_path, behaviour=behaviour)
    with pytest.raises(NsysError) as caught:
        export_report(report)
    assert words in str(caught.value)
    assert str(report) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert left_in(tmp_path / "cache") == []


def test_p61b_a_failure_after_a_change_never_gives_the_old_export(nsys, report, tmp_path):
    old = export_report(report)
    report.write_bytes(b"changed")
    stub(tmp_path, behaviour="exit 1")
    with pytest.raises(NsysError):
        export_report(report)
    assert left_in(tmp_path / "cache") == [old.name]


def test_a_report_that_changes_meanwhile_is_refused(nsys, report, tmp_path):
    stub(tmp_path, behaviour='echo more >> "$report"')
    with pytest.raises(InputError, match="changed while it was exported"):
        export_report(report)
    assert left_in(tmp_path / "cache") == []


def test_two_at_once_export_once(nsys, report, tmp_path):
    stub(tmp_path, behaviour="sleep 0.3")
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(export_report(report))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3
    assert len(set(found)) == 1
    assert len(calls(nsys)) == 1


def test_a_killed_export_leaves_nothing_that_is_used_later(nsys, report, tmp_path):
    stub(tmp_path, behaviour='head -c 4096 "$here/database.sqlite" > "$output"; sleep 5')
    code = f"from pathlib import Path; from gapfinder.export import export_report; export_report(Path({str(report)!r}))"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2])
    deadline = time.monotonic() + 20
    while not calls(nsys) and time.monotonic() < deadline:
        time.sleep(0.02)
    remove_half_made()
    (half,) = left_in(tmp_path / "cache")  # it is still being made
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert left_in(tmp_path / "cache") == [half]
    stub(tmp_path)
    exported = export_report(report)
    assert exported.read_bytes() == (nsys.parent / "database.sqlite").read_bytes()
    assert left_in(tmp_path / "cache") == [exported.name]


def test_what_killed_processes_left_half_made_is_removed_and_nothing_else(nsys, report, tmp_path):
    exported = export_report(report)
    for name in (f".{exported.name}.abcd1234", ".other.sqlite.abcd1234"):
        (tmp_path / "cache" / name).mkdir()
        (tmp_path / "cache" / name / "half").touch()
    remove_half_made()
    assert sorted(left_in(tmp_path / "cache")) == [".other.sqlite.abcd1234", exported.name]  # no lock, so not ours


def test_p57_an_unfinished_capture_goes_through_the_importer_beside_nsys(nsys, report, tmp_path):
    capture = report.with_suffix(".qdstrm")
    capture.write_bytes(b"events")
    with pytest.raises(NsysError, match="no QdstrmImporter"):
        export_report(capture)
    importer = tmp_path / "host-linux-x64" / "QdstrmImporter"
    importer.parent.mkdir()
    importer.write_text(
        '#!/bin/sh\nread=${1#--input-file=}\ncp "$read" "${2#--output-file=}"\necho of the importer >> "$read"\n'
    )
    importer.chmod(0o755)
    assert export_report(capture).exists()
    assert calls(nsys)[0].endswith("/report.nsys-rep")
    assert sorted(path.name for path in report.parent.iterdir()) == ["run.nsys-rep", "run.qdstrm"]
    assert capture.read_bytes() == b"events"
    assert len(left_in(tmp_path / "cache")) == 1


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("run.sqlite", b"SQLite format 3\0" + bytes(100), "is not a report of nsys"),
        ("run.nsys-rep", b"", "is empty"),
        ("run.nsys-rep", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
    ],
)
def test_what_is_no_report_never_reaches_nsys(nsys, tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        export_report(path)
    assert calls(nsys) == []


def test_a_report_is_known_by_its_content_whatever_its_name(nsys, tmp_path):
    path = tmp_path / "run.nsys-rep.old"
    path.write_bytes(b"NVIDIA Tegra Profiler Report 1.\n")
    assert export_report(path).exists()


def test_a_missing_report_and_a_folder_are_input_errors(nsys, tmp_path):
    folder = tmp_path / "folder.nsys-rep"
    folder.mkdir()
    for path in (tmp_path / "none.nsys-rep", folder):
        with pytest.raises(InputError, match="cannot read"):
            export_report(path)


def test_a_cache_that_cannot_be_made_is_named(nsys, report, tmp_path, monkeypatch):
    monkeypatch.setenv("GAPFINDER_CACHE", str(report / "below-a-file"))
    with pytest.raises(InputError, match="GAPFINDER_CACHE"):
        export_report(report)


def test_the_cache_is_where_the_desktop_says_and_a_relative_place_is_ignored(nsys, report, tmp_path, monkeypatch):
    monkeypatch.delenv("GAPFINDER_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert export_report(report).parent == tmp_path / "xdg" / "gapfinder"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert export_report(report).parent == tmp_path / "home" / ".cache" / "gapfinder"


@pytest.fixture
def no_usual_places(monkeypatch):
    monkeypatch.setattr("gapfinder.capture.nsys._USUAL_PLACES", ())


def test_the_newest_nsys_on_path_wins_and_a_broken_one_is_passed_over(tmp_path, monkeypatch, no_usual_places):
    old = stub(tmp_path / "old", version="2022.4.2.1")
    new = stub(tmp_path / "new", version="2022.10.1.3")
    broken = tmp_path / "broken" / "nsys"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho no licence >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(broken.parent), str(old.parent), str(new.parent), os.environ["PATH"]])
    )
    monkeypatch.delenv("GAPFINDER_NSYS", raising=False)
    found = find_nsys()
    assert (found.path, found.version) == (new, "2022.10.1.3")
    monkeypatch.setenv("GAPFINDER_NSYS", str(old))
    assert find_nsys().version == "2022.4.2.1"
    monkeypatch.setenv("GAPFINDER_NSYS", str(broken))
    with pytest.raises(NsysError, match=r"told no version: no licence \(exit code 3\)"):
        find_nsys()


def test_the_places_that_are_told_hold_those_that_are_looked_at():
    for place in _USUAL_PLACES:
        assert any(fnmatch(place, f"{root}*") for root in _ROOTS)


def test_a_missing_nsys_tells_where_it_was_looked_for(tmp_path, monkeypatch, no_usual_places):
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path), "a name too long to be looked at" * 200]))
    monkeypatch.delenv("GAPFINDER_NSYS", raising=False)
    with pytest.raises(NsysError, match=r"nsys not found on PATH .*install NVIDIA Nsight Systems \(https://") as told:
        find_nsys()
    assert "export" not in str(told.value)
    report = tmp_path / "rank 0.nsys-rep"
    report.write_bytes(REPORT_MAGIC)
    with pytest.raises(NsysError, match=r"or export .*/rank 0\.nsys-rep where nsys is, with `nsys export "):
        export_report(report)
    monkeypatch.setenv("GAPFINDER_NSYS", str(tmp_path / "nowhere"))
    with pytest.raises(NsysError, match=r"GAPFINDER_NSYS is '.*nowhere'"):
        find_nsys()


@pytest.fixture(scope="module")
def real_report(tmp_path_factory):
    """A report of the real nsys, which needs no GPU for it."""
    path = tmp_path_factory.mktemp("real") / "run.nsys-rep"
    command = [
        "nsys",
        "profile",
        "--trace=nvtx",
        "--sample=none",
        "--cpuctxsw=none",
        f"--output={path}",
        "sleep",
        "0.1",
    ]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    return path


@pytest.fixture
def real_nsys(tmp_path, monkeypatch):
    monkeypatch.setenv("GAPFINDER_CACHE", str(tmp_path / "cache"))
    told = subprocess.run(["nsys", "--version"], check=True, capture_output=True, text=True).stdout
    return told.split()[-1].partition("-")[0]


@pytest.mark.nsys
def test_the_real_nsys_exports_and_its_report_tells_its_version(real_nsys, real_report):
    assert report_version(real_report) == real_nsys
    with closing(sqlite3.connect(export_report(real_report))) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    assert {"StringIds", "TARGET_INFO_SYSTEM_ENV"} <= tables


@pytest.mark.nsys
def test_a_report_marked_as_of_a_newer_nsys_is_refused_with_both_versions(real_nsys, real_report, tmp_path):
    newer = tmp_path / "newer.nsys-rep"
    year = real_nsys.partition(".")[0].encode()
    newer.write_bytes(
        real_report.read_bytes().replace(year + b"." + real_nsys[5:].encode(), b"2999" + b"." + real_nsys[5:].encode())
    )
    with pytest.raises(NsysError) as caught:
        export_report(newer)
    assert f"written by nsys 2999.{real_nsys[5:]}, newer than the nsys {real_nsys}" in str(caught.value)


@pytest.mark.nsys
@pytest.mark.parametrize("kept", [10, 3_000, 30_000, -5])
def test_p61b_the_real_nsys_refuses_a_truncated_report_in_its_own_words(real_nsys, real_report, tmp_path, kept):
    cut = tmp_path / "cut.nsys-rep"
    cut.write_bytes(real_report.read_bytes()[:kept])
    assert report_version(cut) is None
    with pytest.raises(NsysError, match=r"nsys failed on .*cut\.nsys-rep: .*\(exit code 1\)"):
        export_report(cut)
