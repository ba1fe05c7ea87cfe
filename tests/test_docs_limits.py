"""Exit codes, limits of reading, runs and trainings, formulas of the estimate: documents tell those of the code."""

from __future__ import annotations

import json
import re
import tomllib
from inspect import signature
from math import ceil, log2

import click
import pytest
from click.testing import CliRunner
from documents import ROOT, telling, words

from gapfinder import errors, settings, units
from gapfinder.analysis import idle_causes
from gapfinder.capture import launch, outcome, space
from gapfinder.capture.session import DEFAULT_WINDOW
from gapfinder.cli import INTERRUPTED, collectives_output, terminal
from gapfinder.cli.app import commands
from gapfinder.cluster import memory
from gapfinder.compare.reference import DEFAULT_RUNS
from gapfinder.cost import Algorithm, Operation, exact_factor, hops
from gapfinder.estimate.memory import Dtype, Model, states
from gapfinder.estimate.strategies import Strategy
from gapfinder.estimate.transfers import _SHARE_OF_COMPUTE, Behind
from gapfinder.load import texts, times, unpack
from gapfinder.load.limits import DEFAULT_LIMITS
from gapfinder.settings import Settings
from gapfinder.training import StepTimer, crash_guard, self_check
from gapfinder.upload import sending

GB = 10**9
GOOD, USAGE, INCONCLUSIVE, NSYS = (
    0,
    errors.InputError.exit_code,
    errors.InconclusiveError.exit_code,
    errors.NsysError.exit_code,
)
FAILED = errors.RegressionError.exit_code
TOOL = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHON = TOOL["requires-python"].removeprefix(">=")
SHARES = {1 / 3: "a third", 2 / 3: "two thirds"}
MINUTES = {60.0: "a minute", 120.0: "two minutes", 600.0: "ten minutes"}
YEAR_NS = 365.25 * 86_400 * 10**9
MILLION = {1 << 20: "a million"}
ROWS = f"{memory.rows_at_once(memory.MOST_MEMORY) / 1e6:.1f} million rows"


def default(function: object, name: str) -> int | float:
    """What holds where an argument is not given."""
    return signature(function).parameters[name].default


TOLD = [
    ("docs/exit_codes.md", f"| {GOOD} | good |"),
    ("docs/exit_codes.md", f"| {FAILED} | a check failed |"),
    ("docs/exit_codes.md", f"| {USAGE} | wrong usage, or an input that cannot be used |"),
    ("docs/exit_codes.md", f"| {INCONCLUSIVE} | the input is sound, but cannot answer |"),
    ("docs/exit_codes.md", f"| {NSYS} | nsys is missing or failed |"),
    ("docs/exit_codes.md", f"| {INTERRUPTED} | interrupted by the keyboard |"),
    ("docs/exit_codes.md", f"own code where that is not {GOOD}, and with {GOOD} where training and capture went well"),
    (
        "README.md",
        (
            f"exit code: {USAGE} for wrong usage or bad input, {INCONCLUSIVE} when the input is sound but cannot answer "
            f"(no GPU operation was captured), {NSYS} when nsys is missing or failed"
        ),
    ),
    ("README.md", f"Linux, Python {PYTHON} or newer."),
    ("docs/config.md", f"names file and key (exit code {USAGE})"),
    ("docs/config.md", f"| `top` | number | `{Settings().top}` |"),
    ("docs/config.md", f'| `min-gap` | duration | `"{Settings().min_gap_ns // 1000}us"` |'),
    ("docs/commands.md", f"Where that is {GOOD}, it is {NSYS} when there is no report"),
    ("docs/commands.md", f"Where nothing fits, the exit code is {USAGE} and the nearest codes are named"),
    ("docs/commands.md", f"The exit code is {USAGE} when no watch runs there"),
    ("docs/commands.md", f"that is wrong usage, exit code {USAGE}."),
    (
        "docs/commands.md",
        f"The exit code is {GOOD} whatever changed, and {INCONCLUSIVE} where A and B cannot be compared",
    ),
    ("docs/commands.md", f"rest is printed, and the exit code is {INCONCLUSIVE}. Where none can be measured"),
    ("docs/commands.md", f"(steps, phases, slow ranks), and the exit code is {INCONCLUSIVE}."),
    ("docs/commands.md", f"no steps were found, the exit code is {INCONCLUSIVE}."),
    ("docs/commands.md", f"own, {outcome._SIGNALLED} + n where signal n ended it. It is {NSYS} when nsys is missing"),
    ("docs/diff.md", f"end in exit code {INCONCLUSIVE}, for what then moved would be the job"),
    ("docs/json.md", f"says why, and the exit code is {INCONCLUSIVE};"),
    ("docs/meaning.md", f"are an error, exit code {INCONCLUSIVE}: the reports are hardly of one run"),
    ("docs/scale.md", f"the result is printed, and the exit code is {INCONCLUSIVE}."),
    ("docs/doctor.md", f"**Exit code:** {FAILED} when there is a failure, else {GOOD}."),
    ("docs/doctor.md", f"{USAGE} is a DeepSpeed configuration that cannot be read"),
    ("docs/doctor.md", f"The exit code is {FAILED} when a check fails. It is {USAGE} where the launcher cannot be run"),
    ("docs/run.md", f"A training that signal n ended has exit code {outcome._SIGNALLED} + n"),
    ("docs/run.md", f"the training's; {NSYS} where nobody knows it |"),
    ("docs/run.md", f"how many steps were seen is told | the training's; {NSYS} where that is {GOOD} |"),
    ("docs/run.md", f"a range of yours was never reached | the training's; {NSYS} where that is {GOOD} |"),
    ("docs/run.md", f"its words are above | nsys's own; {NSYS} where that is {GOOD} |"),
    ("docs/commands.md", f"The exit code is {FAILED} when a check fails, and {GOOD} otherwise"),
    ("docs/design.md", f"does not end with {INCONCLUSIVE}** when a capture has no GPU work"),
    ("docs/training.md", f"a line to stderr for every {default(StepTimer, 'every')} steps"),
    ("docs/run.md", f"Where it says nothing for {MINUTES[launch.PATIENCE_S]} after the training has ended"),
    ("docs/run.md", f"opens when training begins and closes when step {DEFAULT_WINDOW.end} begins"),
    ("docs/run.md", f"per rank on this machine and step {space._EVENTS_PER_STEP:,} events"),
    (
        "docs/commands.md",
        (f"N reaches; {collectives_output._TEXT_ROWS} of text and all of the others when not given"),
    ),
    ("docs/commands.md", f"or than {memory.MOST_MEMORY // GB} GB where it is not given, is measured in parts"),
    ("docs/commands.md", f"otherwise it is plain and {terminal._WIDTH} columns wide"),
    ("docs/commands.md", f"Text wraps down to {terminal._NARROWEST} columns"),
    ("docs/commands.md", f"({MINUTES[sending._SLICE_PATIENCE_S]} while it takes a slice;"),
    ("docs/commands.md", f"is tried again for {MINUTES[sending._TRIED_FOR_S]};"),
    ("docs/scale.md", f"A part has {ROWS}, for each of which {memory._PER_ROW} bytes are reckoned"),
    ("docs/scale.md", f"need less than {memory.MOST_MEMORY // GB} GB are measured at once there"),
    ("docs/training.md", f"last `steps` ({default(crash_guard, 'steps')}) steps"),
    ("docs/training.md", f"no step ends within `grace_s` ({default(crash_guard, 'grace_s'):.0f} s)"),
    ("docs/training.md", f"a GPU above `hottest_c` ({default(self_check, 'hottest_c')} °C)"),
    ("docs/training.md", f"less than `free_temporary_bytes` ({default(self_check, 'free_temporary_bytes') // GB} GB)"),
    ("docs/design.md", f"A name keeps {texts.LONGEST_NAME:,} characters"),
    ("docs/design.md", f"More than {MILLION[DEFAULT_LIMITS.max_names]} different names of kernels are refused"),
    ("docs/design.md", f"A settings file of more than {settings._LARGEST_FILE >> 10} KiB is not read"),
    ("docs/design.md", f"Times over {times._FURTHEST / YEAR_NS:.0f} years from zero"),
    ("docs/design.md", f"where that is over {unpack._NOT_SMALL >> 30} GiB and {unpack._MOST_TIMES} times the archive"),
    ("docs/design.md", f"starts more than {idle_causes.LAUNCH_LATENCY_NS // 1000} µs after its launch call returned"),
    (
        "docs/estimate.md",
        (
            f"forward is {SHARES[float(_SHARE_OF_COMPUTE[Behind.FORWARD])]} of it and backward "
            f"{SHARES[float(_SHARE_OF_COMPUTE[Behind.BACKWARD])]}"
        ),
    ),
    ("docs/estimate.md", f"which is {SHARES[float(_SHARE_OF_COMPUTE[Behind.BACKWARD])]} of the compute"),
    *(
        ("docs/estimate.md", f"b is {dtype.bytes_per_parameter} and s is {dtype.optimizer_bytes}")
        for dtype in (Dtype.BF16, Dtype.FP32)
    ),
]


@telling(TOLD)
def test_documents_tell_the_limits_of_the_code(name, sentence):
    assert sentence in words(name)


HELPS = [
    ("check", "history_runs", str(DEFAULT_RUNS)),
    ("collectives", "limit", f"{collectives_output._TEXT_ROWS} of text and all of the others"),
    ("analyze", "min_gap", f"{Settings().min_gap_ns // 1000}us"),
    ("analyze", "top", str(Settings().top)),
    ("run", "steps", f"up to step {DEFAULT_WINDOW.end}"),
]


@pytest.mark.parametrize(("command", "option", "usual"), HELPS, ids=[option for _, option, _ in HELPS])
def test_help_tells_what_holds_when_an_option_is_not_given(command, option, usual):
    (told,) = (one.help for one in commands.commands[command].params if one.name == option)
    assert f"; {usual} when not given." in told


def every_option() -> dict[str, click.Option]:
    """Every option of every command, by both names."""
    found, left = {}, [("", commands)]
    while left:
        path, command = left.pop()
        if isinstance(command, click.Group):
            context = click.Context(command)
            left += [(f"{path} {name}", command.get_command(context, name)) for name in command.list_commands(context)]
        found |= {f"{path} {one.opts[-1]}": one for one in command.params if isinstance(one, click.Option)}
    return found


def test_no_help_tells_another_default_than_the_option_has():
    told = {
        name: (found[1], str(option.default))
        for name, option in every_option().items()
        if (found := re.search(r"(\w+) when not given", option.help or "")) and isinstance(option.default, int | str)
    }
    assert len(told) > 20
    assert {name: pair for name, pair in told.items() if pair[0].lower() not in {pair[1], "none"}} == {}


def test_the_help_tells_the_exit_codes():
    told = " ".join(CliRunner().invoke(commands, ["--help"]).stdout.split())
    assert f"{GOOD} good, {FAILED} a check failed, {USAGE} usage or bad input, {INCONCLUSIVE} the input cannot" in told
    assert f"{NSYS} nsys is missing or failed" in told
    told = " ".join(CliRunner().invoke(commands, ["check", "--help"]).stdout.split())
    assert (
        f"{GOOD} within the limits, {FAILED} worse than allowed, {USAGE} usage or bad input, {INCONCLUSIVE} the" in told
    )


FORMULAS = {
    "1": lambda _: 1,
    "n-1": lambda n: n - 1,
    "2(n-1)": lambda n: 2 * (n - 1),
    "(n-1)/n": lambda n: (n - 1) / n,
    "2(n-1)/n": lambda n: 2 * (n - 1) / n,
    "log2 n": lambda n: ceil(log2(n)),
    "2 log2 n": lambda n: 2 * ceil(log2(n)),
}
OPERATIONS = re.findall(
    r"^\| (?!operation)([a-z][a-z, -]+) \| ([^|]+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$",
    (ROOT / "docs" / "estimate.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def test_every_operation_has_its_formulas():
    assert sorted(name for names, *_ in OPERATIONS for name in names.split(", ")) == sorted(Operation)


@pytest.mark.parametrize(("names", "factor", "ring", "tree"), OPERATIONS, ids=[names for names, *_ in OPERATIONS])
def test_factors_and_hops_are_those_of_the_table(names, factor, ring, tree):
    for name in names.split(", "):
        for ranks in (2, 3, 8, 13):
            assert float(exact_factor(name, ranks)) == pytest.approx(FORMULAS[factor](ranks))
            assert hops(name, ranks=ranks, algorithm=Algorithm.RING) == FORMULAS[ring](ranks)
            assert hops(name, ranks=ranks, algorithm=Algorithm.TREE) == FORMULAS[tree](ranks)


MEMORY = re.findall(
    r"^\| (no ZeRO|ZeRO-[123])[^|]* \| ([bs]) P/\(([tpd ]+)\) \| ([bs]) P/\(([tpd ]+)\) \| ([bs]) P/\(([tpd ]+)\) \|$",
    (ROOT / "docs" / "estimate.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


@pytest.mark.parametrize("row", MEMORY, ids=[name for name, *_ in MEMORY])
def test_the_memory_of_a_card_is_that_of_the_table(row):
    name, *cells = row
    dtype, cut, parameters = Dtype.BF16, {"t": 2, "p": 3, "d": 5}, 30 * 10**6
    strategy = Strategy(
        tensor=cut["t"], stages=cut["p"], data=cut["d"], zero=int(name[-1]) if name[-1].isdigit() else 0
    )
    held = states(Model(parameters=parameters, dtype=dtype), strategy=strategy)
    each = {"b": dtype.bytes_per_parameter, "s": dtype.optimizer_bytes}
    told = []
    for letter, below in zip(cells[::2], cells[1::2], strict=True):
        pieces = 1
        for one in below.split():
            pieces *= cut[one]
        told.append(each[letter] * parameters // pieces)
    assert told == [held.parameters_bytes, held.gradients_bytes, held.optimizer_bytes]


def test_the_table_of_memory_has_every_way_to_share():
    assert [name for name, *_ in MEMORY] == ["no ZeRO", "ZeRO-1", "ZeRO-2", "ZeRO-3"]


def test_the_speed_ups_that_the_design_tells():
    size, ranks, link, time = re.findall(
        r"; (14 GB) over ([0-9]+) ranks at (40 Gb/s) are ([0-9,]+) ns", words("docs/design.md")
    )[0]
    compute, first, second = re.findall(
        r"with ([0-9]+ s) of compute and [0-9.]+ s of all-reduce the first is ([0-9.]+) times one card and the second "
        r"([0-9.]+)\.",
        words("docs/design.md"),
    )[0]
    given = {"bytes": size, "ranks": ranks, "bandwidth": link, "compute": compute}
    options = [word for name, value in given.items() for word in (f"--{name}", value.replace(" ", ""))]
    printed = CliRunner().invoke(commands, ["estimate", "all-reduce", *options, "--format", "json"])
    estimate = json.loads(printed.stdout)
    assert estimate["time_ns"] == int(time.replace(",", ""))
    assert [f"{one['exposed_speedup']:.2f}" for one in estimate["scaling"]] == [first, second]


def test_units_are_as_large_as_is_told():
    told = re.findall(
        r"such as `([0-9]+)GB` \(1e([0-9]+) bytes each\) or `([0-9]+)MiB` \(2\^([0-9]+) each\)",
        words("docs/commands.md"),
    )
    ((decimal, ten, binary, two),) = [map(int, one) for one in told]
    assert units.parse_bytes(f"{decimal}GB") == decimal * 10**ten
    assert units.parse_bytes(f"{binary}MiB") == binary * 2**two
    assert "K, M, B and T are thousand, million, billion and trillion" in words("docs/commands.md")
    assert [units.parse_count(f"1{letter}") for letter in "KMBT"] == [10**3, 10**6, 10**9, 10**12]
