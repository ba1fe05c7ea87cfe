"""Sizes, bandwidths and counts: read strictly, written short."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapfinder.errors import InputError
from gapfinder.units import format_bandwidth, format_bytes, parse_bandwidth, parse_bytes, parse_count


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0B", 0),
        ("17B", 17),
        ("1kB", 1_000),
        ("14GB", 14_000_000_000),
        (" 1.5 GiB ", 1_610_612_736),
        ("0.001kB", 1),
        ("2TB", 2 * 10**12),
        ("512MiB", 536_870_912),
        ("9007199254740993B", 9_007_199_254_740_993),
    ],
)
def test_a_size_is_read_exactly(text, size):
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("14", "14B"),
        ("14G", "14GB"),
        ("14Gb", "14GB"),
        ("14gb", "14GB"),
        ("14gib", "14GiB"),
        ("1KB", "1kB"),
        ("1.5 MBytes", "1.5MB"),
        ("-1GB", "14GB"),
        ("", "14GB"),
        ("x", "14GB"),
    ],
)
def test_a_wrong_size_is_told_the_right_spelling(text, right):
    with pytest.raises(InputError, match=rf"not a size: {re.escape(repr(text))}; write {right} \(bytes\)"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "bytes_per_s"),
    [
        ("40Gb/s", 5_000_000_000),
        ("100 Gb/s", 12_500_000_000),
        ("5GB/s", 5_000_000_000),
        ("1GiB/s", 1_073_741_824),
        ("8b/s", 1),
        ("0.1Gb/s", 12_500_000),
        ("1Gib/s", 134_217_728),
    ],
)
def test_a_bandwidth_is_bytes_per_second(text, bytes_per_s):
    assert parse_bandwidth(text) == bytes_per_s


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("40Gbps", "40Gb/s"),
        ("40GBps", "40GB/s"),
        ("40gb/s", "40Gb/s"),
        ("40G", "40GB/s"),
        ("40Gbit/s", "40Gb/s"),
        ("5GiB", "5GiB/s"),
        ("5KB/s", "5kB/s"),
        ("fast", "40Gb/s"),
    ],
)
def test_a_wrong_bandwidth_is_told_both_right_spellings(text, right):
    with pytest.raises(InputError, match=rf"not a bandwidth: {re.escape(repr(text))}; write .*{right} ") as caught:
        parse_bandwidth(text)
    assert "(bits a second)" in str(caught.value)
    assert "(bytes a second)" in str(caught.value)


@pytest.mark.parametrize(("text", "number"), [("7B", 7 * 10**9), ("1.5K", 1_500), ("125M", 125 * 10**6), ("12", 12)])
def test_a_count_is_read_exactly(text, number):
    assert parse_count(text) == number


@pytest.mark.parametrize("text", ["", "7b", "7G", "7e9", "-7B", "7 billion", "7BB"])
def test_what_is_no_count_is_refused(text):
    with pytest.raises(InputError, match=rf"not a count: {re.escape(repr(text))}; .* such as 7B"):
        parse_count(text)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_bytes, "1.5B"),
        (parse_bytes, "9300000TiB"),
        (parse_bandwidth, "1b/s"),
        (parse_count, "0.0001K"),
    ],
)
def test_parts_of_a_byte_and_more_than_fits_are_refused(parse, text):
    with pytest.raises(InputError, match=re.escape(repr(text))):
        parse(text)


def test_a_link_without_bandwidth_is_refused():
    with pytest.raises(InputError, match="nothing arrives"):
        parse_bandwidth("0GB/s")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.000 kB"),
        (14 * 10**9, "14.00 GB"),
        (112 * 10**9, "112.0 GB"),
        (999_999, "1.000 MB"),
        (5 * 10**16, "50,000.0 TB"),
        (-1_500, "-1.500 kB"),
    ],
)
def test_a_size_has_four_digits(size, text):
    assert format_bytes(size) == text
    assert format_bandwidth(float(size)) == f"{text}/s"


@given(st.integers(1, 2**62))
def test_what_is_written_reads_back_to_four_digits(size):
    written = format_bytes(size).replace(",", "")
    assert abs(parse_bytes(written) - size) <= size / 1_000
