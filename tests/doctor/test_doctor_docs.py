"""What documents say of `gapfinder doctor` is what it does: limits of its checks, sizes, repeats and times of --comm."""

from __future__ import annotations

import ast
import re

import pytest
from comm_values import measured, probed, rank
from documents import ROOT, SPELLED, telling, words

from gapfinder.capture import nsys as capture_nsys
from gapfinder.cli import doctor_comm, doctor_comm_text, doctor_text
from gapfinder.cost import Operation, bus_factor
from gapfinder.doctor import Status, gpus, limits, network, nsys, nvidia_smi, variables, zero
from gapfinder.doctor.comm import checks, checks_of, judge, session, slow
from gapfinder.doctor.comm.measured import PairTime
from gapfinder.training.startup._gapfinder_comm import conducting, transfers
from gapfinder.training.startup._gapfinder_comm import telling as telling_lines

MB = 10**6
GLOO, NCCL = (conducting._SIZES[backend] for backend in ("gloo", "nccl"))
PAIR_MB = {backend: size // MB for backend, size in conducting._PAIR_BYTES.items()}
HALF = {0.5: "half"}
TENTH = {10: "a tenth"}
SIZES = f"{GLOO[0] // 1000} kB to {GLOO[-1] // MB} MB"
SECONDS, PATIENCE = doctor_comm._SECONDS, doctor_comm._PATIENCE

TOLD = [
    ("docs/doctor.md", f"for {nvidia_smi.SECONDS} s (torch"),
    ("docs/doctor.md", f"nsys {capture_nsys._ANSWER_SECONDS} s), and what it would have told"),
    ("docs/doctor.md", f"above {nsys._SAMPLING_LEVEL}, and without CAP_PERFMON or CAP_SYS_ADMIN"),
    ("docs/doctor.md", f"slows down: {gpus._CLOSE_C} °C or less is a warning"),
    ("docs/doctor.md", f"below {network._SLOW_MBPS:,} Mb/s is a failure"),
    ("docs/doctor.md", f"{TENTH[network._FAR_BELOW]} or less is a failure, less a warning"),
    ("docs/doctor.md", f"below {limits._FEWEST_FILES:,} is a failure, below {limits._FEW_FILES:,} a warning"),
    (
        "docs/doctor.md",
        (
            f"below {zero._SMALL_BUCKET / 1e6:.0f}e6 elements many small collectives, above "
            f"{zero._LARGE_BUCKET / 1e9:.0f}e9 a late start"
        ),
    ),
    ("docs/doctor.md", f"small sizes first: {SIZES} with gloo, to {NCCL[-1] // 10**9} GB with NCCL, or `--sizes`"),
    ("docs/doctor.md", f"as the median of up to {conducting._MOST}, after one to warm up"),
    ("docs/doctor.md", f"All pairs of ranks: {PAIR_MB['gloo']} MB with gloo, {PAIR_MB['nccl']} MB with NCCL"),
    ("docs/doctor.md", f"half of what {transfers._SMALL} bytes need there and back"),
    (
        "docs/doctor.md",
        (
            f"Pairs that are {conducting._SUSPECT} times slower than the best of their kind are measured again, alone, up to "
            f"{SPELLED[conducting._AGAIN]} times, {HALF[conducting._APART_S]} a second apart"
        ),
    ),
    ("docs/doctor.md", f"Nothing new begins after `--seconds` ({SECONDS:.0f})."),
    (
        "docs/doctor.md",
        f"for `--patience` ({PATIENCE.removesuffix('s')} s; {SPELLED[session._LAUNCHER]} times that before the first rank",
    ),
    ("docs/doctor.md", f"Below {HALF[checks._OF_LINK]} of it is a failure"),
    (
        "docs/doctor.md",
        f"**Slow** is {judge.RATIOS['nccl']} times slower with NCCL and {judge.RATIOS['gloo']:.0f} times",
    ),
    ("docs/doctor.md", f"More slow links than one in {SPELLED[slow._RARE]} are taken for how the machine is built"),
    ("docs/commands.md", f"sizes of the collectives; {SIZES} when not given, to {NCCL[-1] // 10**9} GB with NCCL"),
    ("docs/commands.md", f"after these nothing new is measured; {SECONDS:.0f} when not given"),
    ("docs/commands.md", f"give up when nothing moves for so long; `{PATIENCE}` when not given"),
    ("docs/design.md", f"a thread of it says every {'second' * (telling_lines._BEAT_S == 1)} that it lives"),
    ("docs/design.md", f"wider limit than NCCL** ({judge.RATIOS['gloo']:.0f} and {judge.RATIOS['nccl']})"),
    ("docs/design.md", f"is measured up to {SPELLED[conducting._AGAIN]} times more"),
]


@telling(TOLD)
def test_documents_tell_the_numbers_of_the_doctor(name, sentence):
    assert sentence in words(name)


@pytest.mark.parametrize("option", ["seconds", "patience"])
def test_the_help_tells_what_holds_when_an_option_is_not_given(option):
    from gapfinder.cli.app import commands

    (told,) = (one.help for one in commands.commands["doctor"].params if one.name == option)
    usual = {"seconds": f"{SECONDS:.0f}", "patience": PATIENCE}[option]
    assert re.findall(r"(\S+) when not given", told) == [usual]


@pytest.mark.parametrize("operation", [Operation.ALL_REDUCE, Operation.ALL_GATHER])
def test_the_bus_bandwidth_is_that_of_the_formula(operation):
    (formula,) = re.findall(rf"([0-9]?)\(n-1\)/n for {operation}", words("docs/doctor.md"))
    for ranks in (2, 3, 8):
        assert bus_factor(operation, ranks) == pytest.approx(int(formula or 1) * (ranks - 1) / ranks)


def test_the_slow_card_of_the_example_is_told_as_measured():
    """The speeds are those of the measurement in the document; what is made of them comes from the code."""
    text = (ROOT / "docs" / "long-runs.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```text\n(pairs .*?)```", text, re.DOTALL)
    told = re.search(r"hosts +([0-9.]+) MB/s +([0-9.]+) MB/s +([0-9.]+) GB/s +([0-9.]+) µs", shown)
    slowest, median, fastest = float(told[1]), float(told[2]), 1000 * float(told[3])

    def pair(one: int, other: int, back: float) -> PairTime:
        size = conducting._PAIR_BYTES["gloo"]
        times = {name: round(1000 * size / mb_s) for name, mb_s in {"there_ns": fastest, "back_ns": back}.items()}
        latency = round(1000 * float(told[4]))
        return PairTime(
            ranks=(one, other), size_bytes=size, latency_ns=latency, is_within=False, times=conducting._AGAIN, **times
        )

    result = measured(
        "012",
        backend="gloo",
        ranks=tuple(rank(number, f"node{number}") for number in range(3)),
        pairs=(pair(0, 1, fastest), pair(0, 2, slowest), pair(1, 2, median)),
    )
    printed = doctor_comm_text.render_measured(result) + doctor_text.render_checks(checks_of(probed(result), link=None))
    lines = [line for line in shown.splitlines() if line]
    assert [line for line in lines if line not in printed.splitlines()] == []


def test_every_variable_is_described_with_its_values_and_what_it_costs():
    section = (ROOT / "docs" / "doctor.md").read_text(encoding="utf-8").partition("| variable | when | costs |")[2]
    rows = re.findall(r"^\| `([A-Z_0-9]+)` \| ([^|]+) \| ([^|]+) \|$", section.partition("\n\n")[0], re.MULTILINE)
    settings = (*variables.TRANSPORTS, *variables.PINNED, *variables.DEBUGGING, *variables.WATCHDOG)
    assert rows == [
        (
            one.name,
            " or ".join(f"`{value}`" for value in one.values) or "set at all",
            one.why + " (a failure)" * (one.status is Status.FAILURE),
        )
        for one in settings
    ]


def test_the_program_of_the_ranks_is_for_the_python_that_is_told():
    (told,) = re.findall(r"standard library of the training's Python \(3\.([0-9]+) or newer\)", words("docs/doctor.md"))
    folder = ROOT / "gapfinder" / "training" / "startup"
    programs = [folder / "comm_probe.py", *sorted((folder / "_gapfinder_comm").glob("*.py"))]
    assert len(programs) > 5
    for program in programs:
        ast.parse(program.read_text(encoding="utf-8"), feature_version=(3, int(told)))
