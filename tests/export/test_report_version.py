from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapfinder.export.report_version import report_version

_MAGIC = b"NVIDIA Tegra Profiler Report 1.\n"


def field(number: int, value: bytes | int) -> bytes:
    """One protobuf field, with a number and a length below 128 or of two bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def report(details: bytes, *, name: bytes = b"UI Data") -> bytes:
    """A report whose one section holds `details`."""
    body = _MAGIC + details
    section = field(1, name) + field(2, len(_MAGIC)) + field(3, len(details))
    return body + field(1, section) + len(body).to_bytes(8, "little") + b"\x55\x33\x77" + b"[END]"


@pytest.mark.parametrize(
    ("content", "version"),
    [
        (report(field(6, b"2022.4.2.1-df9881f") + field(7, b"2024.1.1.59-a0v0")), "2024.1.1.59"),
        (report(field(7, b"2022.9.1.1") + field(21, b"2022.10.1.1-a")), "2022.10.1.1"),
        (
            report(field(1, b"2030.1.1.1") + field(6, b"2022.4.2.1-a") + field(25, b"nsys profile 2031.1.1.1")),
            "2022.4.2.1",
        ),
        (report(field(300, 7) + field(6, b"2022.4.2.1-a")), "2022.4.2.1"),
        (report(field(6, b"unknown")), None),
        (report(field(6, 2022)), None),
        (report(field(6, b"2022.4.2.1-a"), name=b"Other"), None),
        (report(field(6, b"2022.4.2.1-a"))[:-1], None),
        (report(b"\x32\x7f2022"), None),
        (_MAGIC, None),
        (b"", None),
        (b"text", None),
    ],
)
def test_the_newest_version_in_the_details_is_told(tmp_path, content, version):
    path = tmp_path / "run.nsys-rep"
    path.write_bytes(content)
    assert report_version(path) == version


@given(st.binary(max_size=200), st.binary(max_size=40))
def test_any_bytes_have_a_version_or_none(tmp_path_factory, body, trailer):
    path = tmp_path_factory.getbasetemp() / "any.nsys-rep"
    path.write_bytes(_MAGIC + body + trailer + b"[END]")
    report_version(path)
