"""One test for each known pitfall of reading an export."""

# ruff: noqa: S311 - random inputs, no secrets

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from databases import (
    MARK,
    START_END,
    Call,
    Copy,
    Gpu,
    Graph,
    Kernel,
    Range,
    global_pid,
    global_tid,
    nsys_database,
    write_database,
)
from pandas.testing import assert_frame_equal

from gapfinder.errors import InputError
from gapfinder.load import load_profile
from gapfinder.tables import KERNELS, MEMSET

if TYPE_CHECKING:
    from pathlib import Path

KERNEL_COLUMNS = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "demangledName")
STRINGS = (("id INTEGER PRIMARY KEY", "value TEXT"), [(1, "gemm")])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rank3.sqlite"


def test_p01_missing_tables_are_empty_frames(path: Path) -> None:
    profile = load_profile(nsys_database(path, ranges=[Range(start=0, end=5, name="step")]))
    assert_frame_equal(profile.kernels, KERNELS.empty(), check_categorical=False)
    assert len(profile.copies) == len(profile.graphs) == len(profile.read_calls()) == len(profile.devices) == 0
    assert (profile.has_nvtx, profile.has_calls, profile.has_os_calls) == (True, False, False)
    assert profile.notes == ("no CUDA API calls were captured",)


def test_p02_empty_tables_are_missing_tables(tmp_path: Path) -> None:
    call_columns = ("start", "end", "globalTid", "correlationId", "nameId")
    event_columns = ("start", "end", "eventType", "text TEXT", "globalTid", "textId", "domainId")
    empty = {
        "CUPTI_ACTIVITY_KIND_KERNEL": (KERNEL_COLUMNS, []),
        "CUPTI_ACTIVITY_KIND_MEMCPY": (KERNEL_COLUMNS, []),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (call_columns, []),
        "NVTX_EVENTS": (event_columns, []),
        "OSRT_API": (("start", "end"), []),
        "DIAGNOSTIC_EVENT": (("severity", "text TEXT"), []),
    }
    with_empty = load_profile(nsys_database(tmp_path / "a.sqlite", tables=empty))
    without = load_profile(nsys_database(tmp_path / "b.sqlite"))
    for name in ("kernels", "copies", "graphs", "ranges", "marks", "devices"):
        assert_frame_equal(getattr(with_empty, name), getattr(without, name), check_categorical=False)
    assert_frame_equal(with_empty.read_calls(), without.read_calls(), check_categorical=False)
    assert with_empty.notes == without.notes
    assert (with_empty.has_nvtx, with_empty.has_calls, with_empty.has_os_calls) == (False, False, False)


def test_p04_both_styles_of_range_names_are_one_name(path: Path) -> None:
    profile = load_profile(
        nsys_database(
            path,
            ranges=[Range(start=0, end=5, name="step"), Range(start=6, end=9, name="step", is_registered=True)],
        )
    )
    names = profile.ranges["name"]
    assert (names.tolist(), names.cat.categories.tolist()) == (["step", "step"], ["step"])


def test_p04_a_schema_without_text_ids_is_read(path: Path) -> None:
    events = (("start", "end", "eventType", "text TEXT", "globalTid"), [(1, 2, 59, "step", global_tid(5))])
    ranges = load_profile(nsys_database(path, tables={"NVTX_EVENTS": events})).ranges
    assert ranges[["name", "domain"]].to_numpy().tolist() == [["step", ""]]


def test_p05_only_ranges_are_ranges_and_only_marks_are_marks(path: Path) -> None:
    kinds = (33, 34, 39, 59, 60, 70, 71, 76, 97, 98, 99)
    events = [Range(start=kind, end=None if kind < 50 else 200, name=f"e{kind}", event_type=kind) for kind in kinds]
    profile = load_profile(nsys_database(path, ranges=events))
    assert profile.ranges["start"].tolist() == [59, 60, 70, 71]
    assert profile.marks["name"].tolist() == ["e34"]


def test_p06_a_domain_number_belongs_to_its_process(path: Path) -> None:
    profile = load_profile(
        nsys_database(
            path,
            domains={(1, 2): "NCCL", (2, 3): "NCCL", (2, 2): "CCCL"},
            ranges=[
                Range(start=1, end=9, name="a", pid=1, tid=77, domain=2),
                Range(start=2, end=9, name="b", pid=2, domain=2),
                Range(start=3, end=9, name="c", pid=2, domain=3),
                Range(start=4, end=9, name="d", pid=2, domain=0),
                Range(start=5, end=None, name="e", pid=2, domain=3, event_type=MARK),
            ],
        )
    )
    assert profile.ranges["domain"].tolist() == ["NCCL", "CCCL", "NCCL", ""]
    assert profile.marks["domain"].tolist() == ["NCCL"]


def test_p07_ranges_that_never_ended_are_open(path: Path) -> None:
    profile = load_profile(
        nsys_database(
            path,
            duration=50,
            ranges=[
                Range(start=10, end=None, name="no end"),
                Range(start=20, end=50, name="cut"),
                Range(start=30, end=49, name="whole"),
            ],
        )
    )
    assert profile.capture_end_ns == 50
    assert profile.ranges["is_open"].tolist() == [True, True, False]
    assert profile.ranges["end"].tolist() == [10, 20, 49]


def test_p08_start_end_ranges_belong_to_the_process(path: Path) -> None:
    events = [Range(start=k, end=9, name="r", event_type=kind) for k, kind in enumerate((59, START_END, 70, 71))]
    profile = load_profile(nsys_database(path, ranges=events))
    assert profile.ranges["is_process_wide"].tolist() == [False, True, False, True]


def test_p10_processes_of_two_machines_with_one_pid_stay_apart(path: Path) -> None:
    far, near = (vm << 48 | 9 << 24 for vm in (2, 1))
    rows = [(1, 2, 0, 1, 7, 3, far + 5, 1), (1, 2, 0, 1, 7, 3, near, 1)]
    tables = {"CUPTI_ACTIVITY_KIND_KERNEL": (KERNEL_COLUMNS, rows), "StringIds": STRINGS}
    profile = load_profile(nsys_database(path, gpus=[Gpu(pid=9, device=0, gpu=0, name="A")], tables=tables))
    assert profile.kernels["process"].tolist() == [far, near]
    assert set(profile.devices["gpu"]) == {-1}, "one GPU number of two machines is not one GPU"


def test_p12_calls_keep_the_thread_and_correlation_number(path: Path) -> None:
    calls = [Call(start=1, end=2, correlation=5, pid=1, tid=70), Call(start=1, end=2, correlation=5, pid=2)]
    frame = load_profile(nsys_database(path, calls=calls)).read_calls()
    assert frame["thread"].tolist() == [global_tid(1, 70), global_tid(2)]
    assert frame["correlation"].tolist() == [5, 5]
    assert frame["name"].tolist() == ["cudaLaunchKernel_v7000"] * 2


def test_p15_an_undeclared_nccl_domain_is_known_by_its_ranges(path: Path) -> None:
    names = [("ncclAllReduce", 3), ("ncclAllReduce", 0), ("other", 3), ("xncclAllReduce", 3)]
    events = [Range(start=k, end=9, name=name, domain=domain) for k, (name, domain) in enumerate(names)]
    profile = load_profile(nsys_database(path, ranges=events))
    assert profile.ranges["domain"].tolist() == ["NCCL", "", "<unnamed>", "<unnamed>"]


@pytest.mark.parametrize("table", ["EXPORT_META_DATA", "META_DATA_EXPORT"])
def test_p16_versions_come_from_either_metadata_table(path: Path, table: str) -> None:
    rows = [
        ("EXPORT_PRODUCT_NAME", "NVIDIA"),
        ("EXPORT_PRODUCT_VERSION", "2022.4.2.1"),
        ("EXPORT_SCHEMA_VERSION", "3.0.0"),
    ]
    profile = load_profile(write_database(path, {table: (("name TEXT", "value TEXT"), rows), "StringIds": STRINGS}))
    assert (profile.nsys_version, profile.export_schema_version) == ("2022.4.2.1", "3.0.0")


def test_p16_without_metadata_the_versions_are_unknown(path: Path) -> None:
    profile = load_profile(write_database(path, {"StringIds": STRINGS}))
    assert (profile.nsys_version, profile.export_schema_version, profile.capture_end_ns) == (None, None, None)


def test_p18_only_the_exact_table_counts(path: Path) -> None:
    rows = [(1, 2, 0, 1, 7, 3, 0, 1)]
    others = {
        "ENUM_CUDA_KRENEL_LAUNCH_TYPE": (("id", "name TEXT"), [(1, "x")]),
        "CUPTI_ACTIVITY_KIND_KERNEL_V2": (KERNEL_COLUMNS, rows),
        "cupti_activity_kind_kernel": (KERNEL_COLUMNS, rows),
    }
    assert len(load_profile(nsys_database(path, tables=others)).kernels) == 0


def test_p17_p89_schema_and_product_version_are_two_things(path: Path) -> None:
    nsys_database(path, kernels=[Kernel(start=1, end=2)], schema_version="3.25.0")
    profile = load_profile(path)
    assert profile.export_schema_version == "3.25.0"
    assert profile.nsys_version != profile.export_schema_version


def test_p19_a_table_with_a_suffix_is_not_taken_for_the_one_without(path: Path) -> None:
    nsys_database(path, kernels=[Kernel(start=1, end=2)])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V2 AS SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL")
        connection.commit()
    assert len(load_profile(path).kernels) == 1


def test_p25_graphs_come_from_their_own_table_or_are_not_there(path: Path) -> None:
    nsys_database(path, kernels=[Kernel(start=1, end=2)])
    assert load_profile(path).graphs.empty


def test_p28_a_parquet_export_is_refused_by_name(path: Path) -> None:
    path.write_bytes(b"PAR1" + bytes(200))
    with pytest.raises(InputError, match="neither a SQLite database nor an nsys report"):
        load_profile(path)


def test_p20_names_do_not_depend_on_the_order_of_rows_or_ids(tmp_path: Path) -> None:
    kernels = [Kernel(start=k, end=k + 1, name=name) for k, name in enumerate("cabca")]
    frames = []
    for turn in range(2):
        shuffled = sorted(kernels, key=lambda _: random.Random(turn).random()) if turn == 0 else kernels[::-1]
        profile = load_profile(nsys_database(tmp_path / f"{turn}.sqlite", kernels=shuffled))
        frames.append(profile.kernels.sort_values("start", ignore_index=True))
    assert_frame_equal(frames[0], frames[1])
    assert frames[0]["name"].cat.categories.tolist() == ["a", "b", "c"]


def test_p21_ids_beside_a_null_keep_every_bit(path: Path) -> None:
    threads = [72339225495741551, 72339225495741552, None]
    columns = ("start", "end", "globalTid", "correlationId", "nameId")
    rows = [(1, 2, thread, None if thread is None else 2**53 + 1, 1) for thread in threads]
    tables = {"CUPTI_ACTIVITY_KIND_RUNTIME": (columns, rows), "StringIds": STRINGS}
    frame = load_profile(nsys_database(path, tables=tables)).read_calls()
    assert frame["thread"].tolist() == [72339225495741551, 72339225495741552, 0]
    assert frame["correlation"].tolist() == [2**53 + 1, 2**53 + 1, -1]
    assert str(frame["thread"].dtype) == "int64"


def test_p22_odd_texts(path: Path) -> None:
    events = (
        ("start", "end", "eventType", "text TEXT", "globalTid"),
        [(k, 9, 59, text, 0) for k, text in enumerate((None, "", "a\0b", "<b>"))],
    )
    nsys_database(path, tables={"NVTX_EVENTS": events})
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO NVTX_EVENTS VALUES (4, 9, 59, CAST(x'FFFE41' AS TEXT), 0)")
        db.commit()
    assert load_profile(path).ranges["name"].tolist() == ["<unnamed>", "<unnamed>", "a\0b", "<b>", "\ufffd\ufffdA"]


def test_p22_kernel_names_fall_back_and_merge(path: Path) -> None:
    strings = [(1, "gemm<float>"), (2, "gemm"), (3, "gemm"), (9, "_Z4gemm")]
    columns = ("start", "end", "demangledName", "shortName", "mangledName")
    rows = [(0, 1, 1, 2, 9), (1, 2, None, 2, 9), (2, 3, 77, 3, 9), (3, 4, None, None, 9), (4, 5, None, None, None)]
    tables = {"CUPTI_ACTIVITY_KIND_KERNEL": (columns, rows), "StringIds": (STRINGS[0], strings)}
    names = load_profile(nsys_database(path, tables=tables)).kernels["name"]
    assert names.tolist() == ["gemm<float>", "gemm", "gemm", "_Z4gemm", "<unnamed>"]
    assert names.cat.categories.tolist() == ["<unnamed>", "_Z4gemm", "gemm", "gemm<float>"]


def test_p26_columns_of_other_versions_do_not_matter(path: Path) -> None:
    columns = ("streamId", "newInTheFuture TEXT", "end", "start", "globalPid")
    tables = {"CUPTI_ACTIVITY_KIND_KERNEL": (columns, [(7, "x" * 200, 5, 2, global_pid(3))])}
    row = load_profile(nsys_database(path, tables=tables)).kernels.iloc[0].to_dict()
    assert row == {
        "start": 2, "end": 5, "process": global_pid(3), "device": -1, "context": -1, "stream": 7, "correlation": -1,
        "name": "<unnamed>",
    }  # fmt: skip


def test_p30_nothing_of_the_environment_is_kept(path: Path) -> None:
    secret = "SENTINEL-123"  # noqa: S105 - it stands for one
    warnings = [
        "Not all CUDA events might have been collected.",
        f"cannot open /home/{secret}/x",
        f"TOKEN={secret}",
        "node17 is gone",
        "at 10.0.0.12",
    ]
    tables = {
        "META_DATA_CAPTURE": (("name TEXT", "value TEXT"), [("PROCESS_0:ENVIRONMENT_VARIABLE", f"X={secret}")]),
        "TARGET_INFO_SYSTEM_ENV": (("name TEXT", "value TEXT"), [("DeviceEnvironment", secret)]),
        "DIAGNOSTIC_EVENT": (
            ("severity", "text TEXT"),
            [(2, text) for text in (*warnings, warnings[0])] + [(1, "fine")],
        ),
    }
    profile = load_profile(nsys_database(path, kernels=[Kernel(start=0, end=1)], tables=tables))
    assert secret not in repr(profile)
    assert profile.notes[0] == (
        'nsys recorded 5 distinct warnings while capturing: "Not all CUDA events might have been collected."'
    )


def test_rows_with_null_times_become_unusable(path: Path) -> None:
    rows = [(None, 9, 0, 1, 7, 1, 0, 1), (3, None, 0, 1, 7, 1, 0, 1), (3, 9, 0, 1, 7, 1, 0, 1)]
    tables = {"CUPTI_ACTIVITY_KIND_KERNEL": (KERNEL_COLUMNS, rows), "StringIds": STRINGS}
    kernels = load_profile(nsys_database(path, tables=tables)).kernels
    assert kernels[["start", "end"]].to_numpy().tolist() == [[0, 0], [0, 0], [3, 9]]


def test_copies_memsets_and_graphs(path: Path) -> None:
    profile = load_profile(
        nsys_database(
            path,
            copies=[
                Copy(
                    start=1, end=2, kind=10, size=64, source_device=0, target_device=3, source_memory=3, target_memory=3
                ),
                Copy(start=5, end=6, kind=MEMSET, size=8, device=2, target_memory=3, correlation=4),
            ],
            graphs=[Graph(start=7, end=8, graph=5, device=1)],
            start_utc=1_700_000_000_000_000_000,
        )
    )
    columns = [
        "start",
        "kind",
        "bytes",
        "source_device",
        "target_device",
        "source_memory",
        "target_memory",
        "correlation",
    ]
    assert profile.copies[columns].to_numpy().tolist() == [[1, 10, 64, 0, 3, 3, 3, -1], [5, -1, 8, -1, 2, -1, 3, 4]]
    assert profile.graphs[["start", "device", "graph"]].to_numpy().tolist() == [[7, 1, 5]]
    assert profile.start_utc_ns == 1_700_000_000_000_000_000
