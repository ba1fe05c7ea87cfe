"""The command line of nsys, as a table: versions of nsys and what is wanted, against the words that come out."""

from __future__ import annotations

from pathlib import Path

import pytest
from nsys_stub import OPTIONS

from gapfinder.capture.command import CaptureOptions, CaptureRange, capture_command
from gapfinder.capture.nsys import Nsys
from gapfinder.errors import InputError, NsysError

NEW = frozenset(f"--{name}" for name in OPTIONS)
OLD = NEW - {"--cuda-graph-trace", "--capture-range-end", "--cpuctxsw"}
DEFAULT = ["--trace=cuda,nvtx,osrt", "--sample=none", "--cpuctxsw=none", "--cuda-graph-trace=node"]
BY_RANGE = ["--capture-range=nvtx", "--capture-range-end=stop", "--nvtx-capture=step 3@mine"]


def options(**given: object) -> CaptureOptions:
    return CaptureOptions(**{"environment": {}, **given})


def words(wanted: CaptureOptions, *, version: str = "2022.4.2.1", known: frozenset[str] = NEW) -> list[str]:
    command = capture_command(wanted, nsys=Nsys(path=Path("/opt/nsys"), version=version), known=known)
    program, verb, *rest = command.words(("python", "train.py"), output=Path("runs/report"))
    assert (program, verb, rest[-3:]) == ("/opt/nsys", "profile", ["--output=runs/report", "python", "train.py"])
    return rest[:-3]


@pytest.mark.parametrize(
    ("wanted", "version", "known", "expected"),
    [
        (options(), "2022.4.2.1", NEW, DEFAULT),
        (options(), "2020.3.2.6", OLD, ["--trace=cuda,nvtx,osrt", "--sample=none"]),
        (
            options(capture_range=CaptureRange.NVTX, nvtx_range="step 3@mine"),
            "2026.1.0.1",
            NEW,
            [*DEFAULT, *BY_RANGE],
        ),
        (
            options(capture_range=CaptureRange.CUDA),
            "2026.1.0.1",
            NEW,
            [*DEFAULT, "--capture-range=cudaProfilerApi", "--capture-range-end=stop"],
        ),
        (
            options(nsys_args=("-t", "cuda", "--sample=process-tree")),
            "2022.4.2.1",
            NEW,
            ["--cpuctxsw=none", "--cuda-graph-trace=node", "-t", "cuda", "--sample=process-tree"],
        ),
        (
            options(capture_range=CaptureRange.CUDA, nsys_args=("--capture-range-end=repeat:3",)),
            "2022.4.2.1",
            NEW,
            [*DEFAULT, "--capture-range=cudaProfilerApi", "--capture-range-end=repeat:3"],
        ),
    ],
    ids=["default", "old", "nvtx", "cuda", "overridden", "repeat"],
)
def test_words(wanted, version, known, expected):
    assert words(wanted, version=version, known=known) == expected


def test_p55_a_folder_name_is_taken_as_it_is():
    command = capture_command(options(), nsys=Nsys(path=Path("nsys"), version="2022.4.2.1"), known=NEW)
    assert command.words((), output=Path("%q{RANK}/50%"))[-1] == "--output=%%q{RANK}/50%%"


def test_p50_a_range_opens_although_its_name_is_not_registered():
    command = capture_command(
        options(environment={"A": "b,c"}), nsys=Nsys(path=Path("nsys"), version="2022.4.2.1"), known=NEW
    )
    assert command.environment == {"NSYS_NVTX_PROFILER_REGISTER_ONLY": "0", "A": "b,c"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"capture_range": CaptureRange.NVTX}, "--nvtx-range NAME@DOMAIN"),
        ({"nvtx_range": "x"}, "--capture-range nvtx"),
        ({"nsys_args": ("-o", "x")}, "must not set --output"),
        ({"nsys_args": ("-ox",)}, "must not set --output"),
        ({"nsys_args": ("--output=x",)}, "must not set --output"),
        ({"nsys_args": ("-c", "nvtx")}, "gapfinder's own --capture-range"),
        ({"nsys_args": ("--nvtx-capture=x",)}, "gapfinder's own --nvtx-range"),
        ({"nsys_args": ("-f", "true")}, "must not set --force-overwrite"),
    ],
)
def test_p50_p53_what_would_lose_the_report_is_refused(given, told):
    with pytest.raises(InputError, match=told):
        options(**given)


def test_an_option_that_this_nsys_does_not_know_is_refused_before_the_training():
    with pytest.raises(InputError, match=r"nsys 2022\.4\.2\.1 knows no option --gpu-metrics-devices"):
        words(options(nsys_args=("--gpu-metrics-devices=all",)))


def test_p51_an_nsys_that_would_end_the_training_with_the_capture_is_refused():
    with pytest.raises(NsysError, match=r"nsys 2020\.3\.2\.6 ends the training"):
        words(options(capture_range=CaptureRange.CUDA), version="2020.3.2.6", known=OLD)
