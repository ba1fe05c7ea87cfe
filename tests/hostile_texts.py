"""Hostile texts: markup, control characters, other directions, no Unicode, and names without end, wherever one is shown."""

from __future__ import annotations

from collections.abc import Iterator

from hostile_base import KERNEL, LANE, MEASURED, MEMCPY, NVTX, STRINGS, Case, changed

TEXTS = {
    "markup": b"<img src=x onerror=alert(1)><script>alert(2)</script>",
    "terminal": b"\x1b[31mred\x1b]0;owned\x07\x9b2J\x08\x08\r\n\tnext",
    "directions": "\u202eesrever\u202c \u2066inside\u2069 \u200f\u061c".encode(),
    "no UTF-8": b"\xff\xfe\xc3\x28 \xed\xa0\x80 \xf8\x88\x80\x80\x80",
    "NUL": b"before\0after",
    "nothing": b"",
    "blanks": b" \t\n ",
    "invisible": "\u200b\u2028\u2029\ufeff\U000e0041".encode(),
    "combining": ("a" + "\u0300" * 500).encode(),
    "widths": "漢字👩‍👩‍👧‍👦".encode() * 40,
    "braces": b"{0} {name!r} %s %(x)d [bold]x[/bold] [/] $HOME `id`",
    "formula": b'=HYPERLINK("http://x";"y")',
    "long": b"x" * 1_000_000,
    "long and wide": "漢".encode() * 350_000,
    "templates": b"f" + b"<" * 50_000,
    "brackets": b"(" * 40_000 + b")" * 40_000,
    "backtracking": b"nccl" + b"a" * 60_000 + b"!",
}
_PLACES = {
    "a kernel": f"UPDATE {STRINGS} SET value = CAST(? AS TEXT) WHERE value LIKE 'gemm_2%'",
    "a range": f"UPDATE {NVTX} SET text = CAST(? AS TEXT) WHERE text = 'step 2'",
    "a domain": f"UPDATE {NVTX} SET text = CAST(? AS TEXT) WHERE text = 'NCCL'",
    "a mark": f"UPDATE {NVTX} SET text = CAST(? AS TEXT) WHERE text = 'rank=0'",
    "a call": f"UPDATE {STRINGS} SET value = CAST(? AS TEXT) WHERE value = 'cudaLaunchKernel_v7000'",
    "a system call": f"UPDATE {STRINGS} SET value = CAST(? AS TEXT) WHERE value = 'read'",
    "the GPU": "UPDATE TARGET_INFO_GPU SET name = CAST(? AS TEXT)",
    "the version": "UPDATE META_DATA_EXPORT SET value = CAST(? AS TEXT)",
    "a warning": "UPDATE DIAGNOSTIC_EVENT SET text = CAST(? AS TEXT)",
    "a payload's field": "UPDATE NVTX_PAYLOAD_SCHEMA_ENTRIES SET name = CAST(? AS TEXT)",
    "a metric": "UPDATE TARGET_INFO_GPU_METRICS SET metricName = CAST(? AS TEXT)",
    "a payload": f"UPDATE {NVTX} SET binaryData = ? WHERE binaryData IS NOT NULL",
}
_SHOWN_EVERYWHERE = ("markup", "terminal", "directions", "no UTF-8", "long")
"""What is put into every place; the rest into names of kernels and ranges."""


def cases() -> Iterator[Case]:
    """Yield a file for every text and place."""
    for where, statement in _PLACES.items():
        for what, text in TEXTS.items():
            # A kernel called nccl… communicates: that is no error, and other numbers.
            lane = LANE if (where, what) != ("a kernel", "backtracking") else {}
            if what in _SHOWN_EVERYWHERE or where in ("a kernel", "a range"):
                yield Case(
                    name=f"{what} in the name of {where}",
                    make=changed(statement, parameters=(text,)),
                    codes=MEASURED,
                    lane=lane,
                    lanes=1,
                )
    yield Case(
        name="one long text for everything",
        make=changed(f"UPDATE {STRINGS} SET value = CAST(? AS TEXT)", parameters=(b"y" * 1_000_000,)),
        codes=MEASURED,
        lanes=1,
    )
    huge = "zeroblob(20000000)"
    for table, column in ((STRINGS, "value"), (NVTX, "text"), (NVTX, "binaryData")):
        yield Case(
            name=f"a value of 20 MB in {table}.{column}",
            make=changed(f"UPDATE {table} SET {column} = {huge} WHERE rowid = 2"),
            words="SQLite cannot read it",
        )
    yield Case(
        name="a value of 20 MB in a column that nobody reads",
        make=changed(f"ALTER TABLE {MEMCPY} ADD COLUMN other", f"UPDATE {MEMCPY} SET other = {huge}"),
        codes=MEASURED,
        lane=LANE,
    )
    yield Case(
        name="a number of a name that is not there",
        make=changed(f"UPDATE {KERNEL} SET demangledName = 123456, shortName = 123457 WHERE rowid = 2"),
        codes=MEASURED,
        lane=LANE,
        lanes=1,
    )
