"""A copy has every number of the report and nothing that tells whose machine it was."""

from __future__ import annotations

import gzip
import json
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest
from databases import Call, Copy, Gpu, Kernel, Range, global_pid, global_tid, nsys_database, write_database

from gapfinder.analysis import analyze
from gapfinder.errors import InputError
from gapfinder.load import load_profile
from gapfinder.render import render_json
from gapfinder.scrub import scrub
from gapfinder.settings import Settings

SAMPLES = sorted((Path(__file__).parents[2] / "sample_profiles").glob("*.sqlite"))
MARK, DOMAIN = 34, 75
SENTINEL = "SENTINEL"
NCCL_SCHEMA, OWN_SCHEMA = 16777221, 99
ENTRIES = ("domainId", "schemaId", "idx", "flags", "type", "name TEXT", "description TEXT", "offset")


def rows(path: Path, query: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def measured(path: Path, **choices: object) -> dict:
    return json.loads(render_json(analyze([load_profile(path)], settings=Settings(**choices))))


def without_files(value: object) -> object:
    """JSON without names of files, which are the copy's own."""
    if isinstance(value, dict):
        return {key: without_files(v) for key, v in value.items() if key not in ("file", "files")}
    return [without_files(v) for v in value] if isinstance(value, list) else value


def blob(schema: int, payload: bytes) -> bytes:
    return struct.pack("<4Q", 2, schema, len(payload), 0x4C454E49544E4553) + payload


def training(path: Path, *, tables: dict | None = None, ranges: list[Range] = ()) -> Path:
    """A short report of two GPUs, with work, calls and ranges."""
    at = [100, 300, 500, 700]
    return nsys_database(
        path,
        kernels=[Kernel(start=t, end=t + 90, name="gemm<1>(int)", correlation=t, device=t // 300) for t in at],
        copies=[Copy(start=t + 90, end=t + 120, device=t // 300, correlation=t + 1) for t in at],
        calls=[Call(start=t - 60, end=t - 50, correlation=t, name="cudaLaunchKernel_v7000") for t in at],
        ranges=[*(Range(start=t - 70, end=t + 100, name=f"step {t // 200}") for t in at), *ranges],
        gpus=[Gpu(pid=100, device=d, gpu=d, name="NVIDIA H100 80GB HBM3") for d in (0, 1, 2)],
        duration=1000,
        start_utc=1_700_000_000_000_000_000,
        tables=tables,
    )


def planted(path: Path) -> Path:
    """The same report with a sentinel in every place that P30 names, and in others."""
    tables = {
        "META_DATA_CAPTURE": (
            ("name TEXT", "value TEXT"),
            [
                ("PROCESS_0:ENVIRONMENT_VARIABLE", "API_TOKEN=SENTINEL-env"),
                ("PROCESS_0:ENVIRONMENT_VARIABLE", "USER=usersentinel"),
                ("PROCESS_0:COMMAND_LINE", "python /home/SENTINEL/train.py --key SENTINEL"),
            ],
        ),
        "TARGET_INFO_SYSTEM_ENV": (
            ("globalVid", "devStateName TEXT", "name TEXT", "nameEnum", "value TEXT"),
            [
                (1, "SENTINEL (CLI)", "Hostname", 619, "hostsentinel"),
                (1, "x", "DeviceEnvironment", 610, "HOME=/opt/SENTINEL\0LOGNAME=othersentinel\0A=SENTINEL"),
            ],
        ),
        "META_DATA_EXPORT": (
            ("name TEXT", "value TEXT"),
            [
                ("EXPORT_PRODUCT_VERSION", "2026.2.1.210"),
                ("EXPORT_SCHEMA_VERSION", "3.25.0 /SENTINEL"),
                ("EXPORT_HOST", "SENTINEL"),
                ("EXPORT_INPUT_PATH_ABS", "/home/SENTINEL/a.nsys-rep"),
            ],
        ),
        "TARGET_INFO_SESSION_START_TIME": (
            ("utcEpochNs", "utcTime TEXT", "localTime TEXT"),
            [(1_700_000_000_000_000_000, "SENTINEL", "SENTINEL")],
        ),
        "TARGET_INFO_GPU": (
            ("vmId", "id", "name TEXT", "busLocation TEXT", "uuid TEXT", "chipName TEXT", "ctxswDevPath TEXT"),
            [(1, d, "NVIDIA H100 80GB HBM3", "SENTINEL", f"SENTINEL-{d}", "SENTINEL", "/SENTINEL") for d in (0, 1, 2)],
        ),
        "TARGET_INFO_CUDA_DEVICE": (
            ("gpuId", "cudaId", "pid", "uuid TEXT"),
            [(d, d, 100, f"SENTINEL-{d}") for d in (0, 1, 2)],
        ),
        "TARGET_INFO_NIC_INFO": (("name TEXT",), [("SENTINEL",)]),
        "PROCESSES": (("globalPid", "pid", "name TEXT"), [(global_pid(100), 100, "/home/SENTINEL/python")]),
        "ThreadNames": (("nameId", "priority", "globalTid"), [(901, 20, global_tid(100))]),
        "ProcessStreams": (("globalPid", "filenameId", "contentId"), [(global_pid(100), 901, 902)]),
        "DIAGNOSTIC_EVENT": (
            ("timestamp", "severity", "text TEXT"),
            [(1, 2, "cannot open /SENTINEL/x"), (2, 2, "Dropped some events."), (3, 3, "usersentinel was denied")],
        ),
        "OSRT_API": (
            ("start", "end", "globalTid", "nameId", "argumentsId"),
            [(120, 130, global_tid(100), 903, 902)],
        ),
        "NVTX_PAYLOAD_SCHEMA_ENTRIES": (
            ENTRIES,
            [
                (2, NCCL_SCHEMA, 0, None, 18, "NCCL communicator ID", "SENTINEL", 0),
                (2, NCCL_SCHEMA, 1, None, 18, "SENTINEL", "SENTINEL", 8),
                (2, OWN_SCHEMA, 0, None, 18, "SENTINEL", None, 0),
            ],
        ),
        "SENTINEL_TABLE": (("SENTINEL_COLUMN TEXT",), [("SENTINEL",)]),
    }
    texts = [
        Range(start=110, end=115, name="read /data/SENTINEL/a.bin"),
        Range(start=116, end=118, name="host=SENTINEL", event_type=MARK),
        Range(start=119, end=120, name="for usersentinel and OTHERSENTINEL on hostsentinel.lan", is_registered=True),
        Range(start=121, end=122, name="ncclAllReduce", payload=blob(NCCL_SCHEMA, struct.pack("<Q8s", 7, b"SENTINEL"))),
        Range(start=123, end=124, name="mine", payload=blob(OWN_SCHEMA, b"SENTINEL")),
        Range(start=125, end=126, name="odd", payload=b"SENTINEL"),
        Range(start=127, end=128, name="SENTINEL", event_type=39),
    ]
    training(path, tables=tables, ranges=texts)
    with closing(sqlite3.connect(path)) as connection:
        for number, text in ((901, "SENTINEL"), (902, "open(/SENTINEL)"), (903, "read"), (904, "SENTINEL")):
            connection.execute("INSERT INTO StringIds VALUES (?, ?)", (number, text))
        connection.execute("ALTER TABLE NVTX_EVENTS ADD COLUMN jsonText TEXT")
        connection.execute("""UPDATE NVTX_EVENTS SET jsonText = '{"SENTINEL": 1}'""")
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("CREATE TABLE gone (text TEXT)")
        connection.executemany("INSERT INTO gone VALUES (?)", [("SENTINEL" * 2000,)] * 20)
        connection.execute("CREATE INDEX SENTINEL_INDEX ON OSRT_API (start)")
        connection.commit()
        connection.execute("DROP TABLE gone")
        connection.commit()
        assert connection.execute("PRAGMA freelist_count").fetchone()[0] > 50
    return path


def test_no_sentinel_is_in_the_bytes_of_the_copy(tmp_path):
    report, copy = planted(tmp_path / "a.sqlite"), tmp_path / "b.sqlite"
    assert report.read_bytes().lower().count(b"sentinel") > 40_000
    done = scrub(report, copy)
    assert b"sentinel" not in copy.read_bytes().lower()
    assert b"sentinel" not in copy.read_bytes().decode("utf-16-le", errors="ignore").lower().encode()
    assert {"META_DATA_CAPTURE", "TARGET_INFO_SYSTEM_ENV", "SENTINEL_TABLE", "ThreadNames"} <= {*done.left_out_tables}
    assert {"PROCESSES.name", "NVTX_EVENTS.jsonText", "OSRT_API.argumentsId"} <= {*done.left_out_columns}
    assert done.strings_left_out == 3
    assert rows(copy, "PRAGMA freelist_count") == [(0,)]
    assert rows(copy, "PRAGMA integrity_check") == [("ok",)]


def test_numbers_of_the_planted_report_stay(tmp_path):
    report, copy = planted(tmp_path / "a.sqlite"), tmp_path / "b.sqlite"
    scrub(report, copy)
    before, after = measured(report, min_gap_ns=1), measured(copy, min_gap_ns=1)
    assert [lane["gpu_name"] for lane in before["lanes"]] == ["NVIDIA H100 80GB HBM3"] * 3
    assert before["source"].pop("export_schema_version") == "3.25.0 /SENTINEL"  # no version, so it does not stay
    assert after["source"].pop("export_schema_version") is None
    shown, told = before["coverage"]["notes"].pop(0), after["coverage"]["notes"].pop(0)
    assert (
        shown == 'nsys recorded 3 distinct warnings while capturing: "usersentinel was denied"; "Dropped some events."'
    )
    assert told == 'nsys recorded 3 distinct warnings while capturing: "Dropped some events."'
    assert without_files(after) == without_files(before)
    assert load_profile(copy).read_payloads()[0]["communicator"].tolist() == [7]
    assert load_profile(copy).read_payloads()[1] == load_profile(report).read_payloads()[1] == 1
    assert rows(copy, "SELECT uuid FROM TARGET_INFO_GPU ORDER BY id") == [("<id-1>",), ("<id-2>",), ("<id-3>",)]
    assert rows(copy, "SELECT uuid FROM TARGET_INFO_CUDA_DEVICE ORDER BY cudaId") == [
        ("<id-1>",),
        ("<id-2>",),
        ("<id-3>",),
    ]


def test_a_user_s_own_words_are_taken_out(tmp_path):
    report, copy = training(tmp_path / "a.sqlite"), tmp_path / "b.sqlite"
    done = scrub(report, copy, words=["gemm"])
    assert {name for (name,) in rows(copy, "SELECT value FROM StringIds")} == {
        "<word-1><1>(int)",
        "<word-1>",
        "cudaLaunchKernel_v7000",
    }
    assert done.taken_out == {"word": 1}


@pytest.mark.parametrize("sample", SAMPLES[::2], ids=lambda path: path.stem)
def test_the_analysis_of_a_copy_is_that_of_the_report(tmp_path, sample):
    copy = tmp_path / sample.name
    done = scrub(sample, copy)
    before = measured(sample)
    assert {process["host"] for process in before["processes"]} == {"node0"}
    before["processes"] = [{**process, "host": "<host-1>"} for process in before["processes"]]
    assert measured(copy) == before
    assert done.taken_out == {"host": 1}
    assert (
        done.rows["CUPTI_ACTIVITY_KIND_KERNEL"] == rows(sample, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL")[0][0]
    )


LANE = ("window", "kernels", "ops", "busy_ns", "idle_ns", "compute_ns", "communication_ns", "hidden_ns", "exposed_ns")


@pytest.mark.parametrize("sample", SAMPLES[1::6], ids=lambda path: path.stem)
def test_lanes_in_a_window_are_those_of_the_report(tmp_path, sample):
    window = measured(sample)["lanes"][0]["window"]
    span = window["end_ns"] - window["start_ns"]
    cut = (window["start_ns"] + 3 * span // 10, window["start_ns"] + 6 * span // 10)
    copy = tmp_path / sample.name
    scrub(sample, copy, window=cut)
    before, after = measured(sample, window=cut), measured(copy, window=cut)
    keys = (*LANE, "gaps", "holes", "causes", "rank")
    assert [{key: lane[key] for key in keys} for lane in after["lanes"]] == [
        {key: lane[key] for key in keys} for lane in before["lanes"]
    ]
    assert after["total"] == before["total"]
    assert copy.stat().st_size < 0.7 * sample.stat().st_size


def test_a_window_keeps_what_touches_it_whole(tmp_path):
    mark = Range(start=1, end=None, name="rank=3 world_size=4", domain=5, event_type=MARK)
    other = Range(start=2, end=None, name="other", event_type=MARK)
    report = training(tmp_path / "a.sqlite", ranges=[mark, other])
    copy = tmp_path / "b.sqlite"
    scrub(report, copy, window=(350, 520))
    assert rows(copy, "SELECT start, end FROM CUPTI_ACTIVITY_KIND_KERNEL") == [(300, 390), (500, 590)]
    assert rows(copy, "SELECT start FROM CUPTI_ACTIVITY_KIND_MEMCPY") == [(390,)]
    # the first launch of work in the window began at 240, so the host is kept from there on
    assert rows(copy, "SELECT start FROM CUPTI_ACTIVITY_KIND_RUNTIME") == [(240,), (440,)]
    assert rows(copy, "SELECT text FROM NVTX_EVENTS ORDER BY start") == [
        ("rank=3 world_size=4",),
        ("step 1",),
        ("step 2",),
    ]


def test_a_window_without_anything_is_an_error(tmp_path):
    report = training(tmp_path / "a.sqlite")
    with pytest.raises(InputError, match=r"a\.sqlite: nothing was captured between 0\.000005 s and 0\.000006 s"):
        scrub(report, tmp_path / "b.sqlite", window=(5000, 6000))


def test_compressed_reports_are_read(tmp_path):
    report = training(tmp_path / "a.sqlite")
    packed = tmp_path / "a.sqlite.gz"
    packed.write_bytes(gzip.compress(report.read_bytes()))
    scrub(report, tmp_path / "b.sqlite")
    scrub(packed, tmp_path / "c.sqlite")
    assert (tmp_path / "b.sqlite").read_bytes() == (tmp_path / "c.sqlite").read_bytes()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"CUPTI_ACTIVITY_KIND_KERNEL": (("start TEXT", "end", "deviceId"), [(1, 2, 0), ("SENTINEL", 2, 0)])},
            "KERNEL row 1: start is text, expected an integer",
        ),
        ({"OSRT_API": (("start", "end", "nameId BLOB"), [(1, 2, b"SENTINEL")])}, "OSRT_API row 1: nameId is blob"),
        ({"TARGET_INFO_GPU": (("id", "name BLOB"), [(1, 7)])}, "TARGET_INFO_GPU.name has a number, expected a text"),
        (
            {"NVTX_EVENTS": (("start", "end", "eventType", "doubleValue TEXT"), [(1, 2, 59, "SENTINEL")])},
            "NVTX_EVENTS.doubleValue has a text, expected a number",
        ),
    ],
)
def test_a_text_where_a_number_belongs_is_refused(tmp_path, table, message):
    report = write_database(tmp_path / "a.sqlite", table)
    with pytest.raises(InputError) as caught:
        scrub(report, tmp_path / "b.sqlite")
    assert message in str(caught.value)
    assert "SENTINEL" not in str(caught.value)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW META_DATA_CAPTURE AS SELECT 'SENTINEL' AS name",
        "CREATE TRIGGER t AFTER INSERT ON StringIds BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE TARGET_INFO_SYSTEM_ENV USING fts5(name, value)",
    ],
)
def test_what_nsys_never_writes_is_refused(tmp_path, statement):
    report = training(tmp_path / "a.sqlite")
    with closing(sqlite3.connect(report)) as connection:
        connection.execute(statement)
        connection.commit()
    with pytest.raises(InputError, match=r"a\.sqlite: .* (not an ordinary table|has a trigger)"):
        scrub(report, tmp_path / "b.sqlite")
