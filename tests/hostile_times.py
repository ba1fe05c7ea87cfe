"""Hostile events: out of order, inside out, too far off, all at once, and very many of what is few."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from databases import Copy, Graph, Kernel, global_pid, nsys_database
from hostile_base import ALL_REDUCE, KERNEL, LANE, MEASURED, MS, NOTHING, NVTX, STRINGS, Case, Make, changed, made

_FAR = 1 << 61
_NOW = 1_767_000_000_000_000_000


def cases() -> Iterator[Case]:
    """Yield a file for each."""
    yield from _intervals()
    yield from _extremes()
    yield from _ranges()
    yield from _metadata()
    yield from _many()


def _of(*kernels: tuple[int, int], name: str = "gemm", more: Sequence[Copy] = (), graphs: Sequence[Graph] = ()) -> Make:
    rows = [Kernel(start=start, end=end, name=name) for start, end in kernels]
    return made(lambda path: nsys_database(path, kernels=rows, copies=more, graphs=graphs))


def _lane(*, ops: int, window: tuple[int, int], compute: int, dropped: int = 0, **more: object) -> dict[str, object]:
    start, end = window
    return {
        "ops": ops,
        "dropped_ops": dropped,
        "window": {"start_ns": start, "end_ns": end, "duration_ns": end - start},
        "compute_ns": compute,
        "idle_ns": end - start - compute,
        **more,
    }


def _intervals() -> Iterator[Case]:
    nested = _of((1, 100), (2, 99), (3, 98), (2, 99), (1, 100))
    yield Case(
        name="all inside one another", make=nested, codes=MEASURED, lane=_lane(ops=5, window=(1, 100), compute=99)
    )
    chain = _of(*((10 * k, 10 * k + 15) for k in range(1, 101)))
    yield Case(
        name="each over the next", make=chain, codes=MEASURED, lane=_lane(ops=100, window=(10, 1_015), compute=1_005)
    )
    turned = _of((50, 60), (90, 80), (70, 75), (10**12, 5))
    yield Case(
        name="two that end before they start",
        make=turned,
        codes=MEASURED,
        lane=_lane(ops=2, window=(50, 75), compute=15, dropped=2),
    )
    yield Case(name="all end before they start", make=_of((9, 5), (8, 1)), codes=NOTHING, words="nothing to measure")
    yield Case(name="all at one instant", make=_of(*[(77, 77)] * 50_000), codes=NOTHING, words="nothing to measure")
    same = _of(*[(77, 78)] * 50_000)
    yield Case(
        name="all in one nanosecond", make=same, codes=MEASURED, lane=_lane(ops=50_000, window=(77, 78), compute=1)
    )
    zero = _of((0, 0), (0, 0), (5, 8))
    yield Case(
        name="times that were not collected",
        make=zero,
        codes=MEASURED,
        lane=_lane(ops=1, window=(5, 8), compute=3, dropped=2),
    )
    before = _of((-50, -40), (-10, 10))
    yield Case(
        name="before the clock's zero", make=before, codes=MEASURED, lane=_lane(ops=2, window=(-50, 10), compute=30)
    )
    both = nsys_mixed()
    yield Case(
        name="compute, communication, copy and graph at once",
        make=both,
        codes=MEASURED,
        lane=_lane(
            ops=4,
            window=(10, 30),
            compute=20,
            communication_ns=20,
            hidden_ns=20,
            exposed_ns=0,
            graph_only_ns=0,
            copy_only_ns=0,
        ),
    )


def nsys_mixed() -> Make:
    """A kernel, a collective, a copy and a graph in [10, 30) of one lane."""
    kernels = [Kernel(start=10, end=30), Kernel(start=10, end=30, name=ALL_REDUCE, stream=9)]
    return made(
        lambda path: nsys_database(
            path, kernels=kernels, copies=[Copy(start=10, end=30)], graphs=[Graph(start=10, end=30, stream=11)]
        )
    )


def _extremes() -> Iterator[Case]:
    edge = _of((_FAR - 10, _FAR))
    yield Case(
        name="as far off as can be", make=edge, codes=MEASURED, lane=_lane(ops=1, window=(_FAR - 10, _FAR), compute=10)
    )
    for what, times in {
        "a nanosecond too far off": (1, _FAR + 1),
        "the largest number": (1, 2**63 - 1),
        "almost the smallest number": (-(2**63) + 1, 5),
    }.items():
        yield Case(name=what, make=_of((1, 2), times), words="has a time of")
    yield Case(name="too long together", make=_of(*[(-(2**60), 2**60)] * 3), words="has durations of")
    span = 2**62
    whole = _of((-_FAR, -_FAR + 1), (_FAR - 1, _FAR))
    yield Case(
        name="a window of 146 years",
        make=whole,
        codes=MEASURED,
        lane=_lane(ops=2, window=(-_FAR, _FAR), compute=2, busy_ns=2, idle_ns=span - 2),
    )
    many = _of(*((_NOW + 10 * k, _NOW + 10 * k + 5) for k in range(1_000)))
    yield Case(
        name="a clock of 1970",
        make=many,
        codes=MEASURED,
        lane=_lane(ops=1_000, window=(_NOW, _NOW + 9_995), compute=5_000),
    )
    processes = made(
        lambda path: nsys_database(path, kernels=[Kernel(start=1, end=5), Kernel(start=11, end=15, pid=200)], calls=())
    )
    yield Case(name="two processes without a call", make=processes, codes=MEASURED, lanes=2)
    untold = changed(
        f"INSERT INTO {KERNEL} (start, end, deviceId, globalPid) VALUES ({20 * MS}, {21 * MS}, 0, {global_pid(300)})",
        f"UPDATE {KERNEL} SET globalPid = NULL WHERE rowid = 1",
    )
    yield Case(name="a kernel of nobody among two processes", make=untold, words="the process (globalPid) is missing")
    device = changed(
        f"INSERT INTO {KERNEL} (start, end, deviceId, globalPid) VALUES ({20 * MS}, {21 * MS}, 1, {global_pid(100)})",
        f"UPDATE {KERNEL} SET deviceId = NULL WHERE rowid = 1",
    )
    yield Case(name="a kernel of no device among two", make=device, words="the device (deviceId) is missing")


def _ranges() -> Iterator[Case]:
    thread = f"(SELECT globalTid FROM {NVTX} LIMIT 1)"
    odd = {
        "ranges inside one another": f"1000 + k, 19000000 - k, 59, 'deep', {thread}",
        "steps at one instant": f"5000000, 5000000, 59, 'step ' || k, {thread}",
        "steps with one number": f"500 * k, 500 * k + 400, 59, 'step 7', {thread}",
        "steps that overlap": f"k, 19000000 + k, 60, 'step ' || k, {thread}",
        "ranges that end before they start": f"19000000 - k, k, 59, 'step ' || k, {thread}",
        "ranges of as many threads": f"k, k + 9, 59, 'forward', {thread} + k",
        "ranges of as many processes": f"k, k + 9, 59, 'step ' || k, {thread} + (k << 24)",
        "open ranges": f"k, NULL, 59, 'step ' || k, {thread}",
        "ranks": f"k, NULL, 34, 'rank=' || k, {thread}",
        "domains": f"0, NULL, 75, 'domain' || k, {thread}",
        "kinds of event": f"k, k + 5, k, 'step ' || k, {thread}",
        "steps of endless numbers": f"100 * k, 100 * k + 90, 59, 'step ' || printf('%.*c', 4000, '9') || k, {thread}",
    }
    for what, values in odd.items():
        rows = 200 if "endless" in what else 3_000
        make = _filled(NVTX, f"(start, end, eventType, text, globalTid) SELECT {values} FROM n", rows=rows)
        yield Case(name=f"{rows:,} {what}", make=make, codes=MEASURED, lane=LANE, lanes=1)


def _metadata() -> Iterator[Case]:
    for version in ("", "0", "-1", "99999999.0.0", "3", "3.x.y", "3." * 5_000, "\u0663.\u0661", "2147483648.1.1"):
        yield Case(
            name=f"of version {version[:20]!a}",
            make=changed("UPDATE META_DATA_EXPORT SET value = ?", parameters=(version,)),
            codes=MEASURED,
            lane=LANE,
            lanes=1,
        )
    yield Case(
        name="two tables about the export",
        make=changed("CREATE TABLE EXPORT_META_DATA (name, value)"),
        codes=MEASURED,
        lane=LANE,
    )
    for duration in (0, -1, 1, 17 * MS, 2**62):
        yield Case(
            name=f"a capture of {duration} ns",
            make=changed(f"UPDATE ANALYSIS_DETAILS SET duration = {duration}"),
            codes=MEASURED,
            lane=LANE,
            lanes=1,
        )
    for origin in (0, -(2**63), 2**63 - 1, 10**30):
        yield Case(
            name=f"a clock that began at {origin}",
            make=changed(f"UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = {origin}"),
            codes=MEASURED,
            lane=LANE,
            lanes=1,
        )
    yield Case(
        name="one GPU under a thousand numbers",
        make=_filled("TARGET_INFO_CUDA_DEVICE", "(gpuId, cudaId, pid) SELECT k, 0, 100 FROM n", rows=1_000),
        codes=MEASURED,
        lane=LANE,
        lanes=1,
    )


def _filled(table: str, values: str, *, rows: int) -> Make:
    counted = f"WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {rows})"
    columns, _, query = values.partition(" SELECT ")
    return changed(f"INSERT INTO {table} {columns} {counted} SELECT {query}")


def _many() -> Iterator[Case]:
    yield Case(name="5,000 lanes", make=lanes(5_000), words="5,000 (process, device) pairs")
    yield Case(name="300 lanes", make=lanes(300), codes=MEASURED, lanes=300)
    yield Case(
        name="100,000 names",
        make=names(100_000),
        codes=MEASURED,
        lanes=1,
        lane={"kernels": 100_000, "compute_ns": 100_000 * 5},
        is_rest=True,  # the test of very many has them
    )
    yield Case(
        name="100,000 streams",
        make=streams(100_000),
        codes=MEASURED,
        lanes=1,
        lane={"kernels": 100_000, "compute_ns": 100_000 * 5},
    )
    warnings = _filled("DIAGNOSTIC_EVENT", "(severity, text) SELECT 3, 'warning of kind ' || k FROM n", rows=50_000)
    yield Case(name="50,000 warnings", make=warnings, codes=MEASURED, lane=LANE, lanes=1)
    samples = _filled(
        "GPU_METRICS", "(timestamp, typeId, metricId, value) SELECT k, 5497558139648, 9, k FROM n", rows=50_000
    )
    yield Case(name="50,000 samples of a clock", make=samples, codes=MEASURED, lane=LANE, lanes=1)


def lanes(count: int) -> Make:
    """As many devices and processes as kernels."""
    return made(
        lambda path: _kernels(path, f"10 * k, 10 * k + 5, k & 7, 1, k & 7, k, {1 << 48} | ((k >> 3) << 24), 1", count)
    )


def names(count: int) -> Make:
    """As many names as kernels."""

    def build(path: Path) -> Path:
        _kernels(path, f"10 * k, 10 * k + 5, 0, 1, 7, k, {global_pid(100)}, k", count)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("PRAGMA synchronous = OFF")
            database.execute(
                f"INSERT OR IGNORE INTO {STRINGS} SELECT start / 10, 'a kernel of its own ' || start FROM {KERNEL}"
            )
        return path

    return made(build)


def streams(count: int) -> Make:
    """As many streams as kernels."""
    return made(lambda path: _kernels(path, f"10 * k, 10 * k + 5, 0, 1, k, k, {global_pid(100)}, 1", count))


def _kernels(path: Path, values: str, count: int) -> Path:
    columns = "start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA journal_mode = OFF")
        database.execute(f"CREATE TABLE {KERNEL} ({columns.replace(',', ' INTEGER,')} INTEGER)")
        database.execute(f"CREATE TABLE {STRINGS} (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)")
        database.execute(f"INSERT INTO {STRINGS} VALUES (1, 'gemm')")
        database.execute(
            f"WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {count}) "
            f"INSERT INTO {KERNEL} SELECT {values} FROM n"
        )
        database.commit()
    return path
