"""What tells whose machine it was goes out of texts; names of kernels, calls and ranges stay as they are."""

from __future__ import annotations

import time

import pytest

from gapfinder.scrub.redact import Redactor, Revealing, Word

JANE = [
    Word(text="/home/jane", kind=Revealing.PATH),
    Word(text="jane", kind=Revealing.USER),
    Word(text="gpu-node7", kind=Revealing.HOST),
]


def redacted(text: str, *words: Word) -> str:
    return Redactor(words).text(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "step 12",
        "forward/backward",
        "encoder/layer_3/attention",
        "5 GB/s, 3 of 4",
        "void at::native::vectorized_elementwise_kernel<4, at::native::add(float)::{lambda()#1}, a1::b2>(int, T*)",
        "operator/(a, b2::add::c3)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "pthread_cond_wait@@GLIBC_2.3.2",
        "cudaLaunchKernel_v7000",
        "ProfilerStep#5",
        "train.py(12): forward",
        "12:30:59 and 1.2.3",
        "torch.nn.functional.linear",
        "rank=0 local_rank=0 world_size=8",
    ],
)
def test_what_reveals_nothing_stays(text):
    assert redacted(text, *JANE) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("load /data/set/part-1.parquet", "load <path-1>"),
        ("/a/b.py:12 (lambda at /a/b.py:13)", "<path-1>:12 (lambda at <path-1>:13)"),
        ("save:/ckpt", "save:<path-1>"),
        ("~jane/x ../y ./z", "<path-1> <path-2> <path-3>"),
        ("prefix/home/ann/run", "prefix<path-1>"),
        (r"C:\Users\ann\run.py", "<path-1>"),
        (r"\\server\share\a", "<path-1>"),
        ("models/ann/train.py", "<path-1>"),
        ("rank=0 local_rank=0 world_size=2 host=node-3", "rank=0 local_rank=0 world_size=2 host=<host-1>"),
        ("from s3.eu.bucket.internal", "from <host-1>"),
        ("ip-10-0-0-7 and 10.0.0.7", "<host-1> and <address-1>"),
        ("[fe80::1ff:fe23:4567:890a]:80", "[<address-1>]:80"),
        ("3c:ec:ef:12:34:56", "<address-1>"),
        ("mail ann.b@example.org now", "mail <mail-1> now"),
        ("ann@node3", "<mail-1>"),
        ("GET https://ann:pw@example.org/x?y=1", "GET <url-1>"),
        ("token=abc&x", "token=<secret-1>&x"),
        ("hf_abcdefghijklmnopqrst", "<secret-1>"),
        ("GPU-1234abcd-12ab-34cd-56ef-1234567890ab", "GPU-<id-1>"),
    ],
)
def test_patterns(text, expected):
    assert redacted(text) == expected


def test_words_that_the_report_tells():
    text = "JANE's jane_kernel on GPU-NODE7.x, janet, /home/jane/My Files"
    assert redacted(text, *JANE) == "<user-1>'s <user-1>_kernel on <host-1>.x, janet, <path-1> Files"


def test_words_too_short_or_common_are_no_words():
    words = [Word(text=text, kind=Revealing.USER) for text in ("ab", "root", "1000")]
    assert redacted("ab root 1000", *words) == "ab root 1000"


def test_one_thing_has_one_number():
    redactor = Redactor()
    assert [redactor.text(text) for text in (b"/a/b", b"/c/d", b"x /a/b")] == ["<path-1>", "<path-2>", "x <path-1>"]
    assert redactor.taken_out() == {Revealing.PATH: 2}


def test_bytes_that_are_no_text_are_told_as_the_analysis_tells_them():
    assert Redactor().text(b"a\xff /x/y\xfe z") == "a� <path-1> z"


@pytest.mark.parametrize("unit", ["a", "/", "a/", ".", ":", "1.", "a@", "-", "\\", "f:", "a.b/"])
def test_a_long_text_takes_no_longer_than_its_length(unit):
    texts = [(f"{number} " + unit * 5_000).encode() for number in range(20)]
    started = time.process_time()
    for text in texts:
        Redactor(JANE).text(text)
    assert time.process_time() - started < 5
