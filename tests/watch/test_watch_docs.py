"""What documents say of the watch is what it does: thresholds, times, sizes and the numbers that options begin with."""

from __future__ import annotations

import re

from documents import SPELLED, telling, words
from test_judge_noise import IN_TIME_S

from gapfinder.analysis.compare_hosts import SLOW_OWN
from gapfinder.cli import watch_options
from gapfinder.cli.app import commands
from gapfinder.training.startup._gapfinder_hook import recorder, step_stream, window
from gapfinder.units import NS_PER_S
from gapfinder.watch import capturing, examine, judge, levels, rank_levels, record, stalls, supervise
from gapfinder.watch.policy import CapturePolicy
from gapfinder.watch.rules import Rules

RULES, POLICY = Rules(), CapturePolicy()
BLOCK_S = RULES.sustained_ns / NS_PER_S / levels._PARTS
DRIFT, LAG = f"{100 * RULES.drift:.0f} %", f"{100 * RULES.lag:.0f} %"
STALL_S = f"{RULES.stall_least_ns / NS_PER_S:.0f} s"
A_SECOND = {5: "five times a second"}
PAUSE = {300: "five minutes"}
AGAIN = {1.5: "half as much again"}
QUARTERS = {0.75: "three quarters"}
MANY_BLOCKS = [n for n in (2 * levels._PARTS, 4 * levels._PARTS, 8 * levels._PARTS) if n <= levels._MOST_BLOCKS]
TIMES_MIB = record._LARGEST_TIMES / 2**20

TOLD = [
    ("docs/long-runs.md", f"from the {RULES.skip + 1}th step of a process on"),
    ("docs/long-runs.md", f"gathered into blocks of {BLOCK_S:.0f} s (a longer step is a block by itself)"),
    (
        "docs/long-runs.md",
        (
            f"The first {SPELLED[levels._FEWEST_LEARNT]} blocks, of {levels._FEWEST_LEARNT_STEPS} steps at least, give a "
            f"first level, and the first {levels._MOST_LEARNT} ({levels._MOST_LEARNT * BLOCK_S:.0f} s) the level that stays"
        ),
    ),
    ("docs/long-runs.md", f"| drift | each rank's step time, against what is usual for it | {DRIFT} more, on more"),
    ("docs/long-runs.md", f"other ranks' | {LAG} more, and {100 * rank_levels._NOTICEABLE_SHARE:.0f} % of the step |"),
    (
        "docs/long-runs.md",
        (
            f"over {RULES.stall_factor:.0f} times p99, over {STALL_S}, and over {'twice' * (stalls._OVER_LONGEST == 2)} the "
            "longest step so far"
        ),
    ),
    ("docs/long-runs.md", f"must last for {RULES.sustained_ns / NS_PER_S:.0f} s and {RULES.sustained_steps} steps"),
    (
        "docs/long-runs.md",
        f"waits for up to {judge._PATIENCE_NS // 10**9} s (or {judge._PATIENCE_STEPS} steps) while some rank may lag",
    ),
    ("docs/long-runs.md", f"The last {SPELLED[levels._PARTS]} blocks ({SPELLED[levels._BLOCKS]} where longer steps"),
    (
        "docs/long-runs.md",
        f"on average by {QUARTERS[levels._LEAST]} of the {DRIFT} and by {SPELLED[levels._ERRORS]} standard errors",
    ),
    ("docs/long-runs.md", f"too much for that, {' or '.join(map(str, MANY_BLOCKS))} of them must be"),
    ("docs/long-runs.md", f"{DRIFT} more on a calm machine are found within {IN_TIME_S} s"),
    ("docs/long-runs.md", f"A checkpoint of more than {STALL_S} looks like a stall"),
    ("docs/long-runs.md", f"is taken once from step {RULES.healthy_at:,} on"),
    (
        "docs/long-runs.md",
        (
            f"spends at most {POLICY.most_captures} captures and {POLICY.most_bytes // 10**9} GB, with "
            f"{PAUSE[POLICY.cool_down_ns / NS_PER_S]} between two"
        ),
    ),
    ("docs/long-runs.md", f"waits for these {PAUSE[POLICY.cool_down_ns / NS_PER_S]} to pass"),
    ("docs/long-runs.md", f"which must last for {RULES.sustained_ns / NS_PER_S:.0f} s, and hold slow steps only"),
    ("docs/commands.md", f"One of a stall lasts {capturing._STALL_S:.0f} s |"),
    ("docs/json.md", f"a row for each rank about every {supervise._RECORD_S:.0f} s"),
    ("docs/json.md", f"has grown to {TIMES_MIB:.0f} MiB, rows are merged two by two"),
    ("docs/json.md", f"in how many steps that is over {SLOW_OWN}, of how many"),
    ("docs/annotate.md", f"into a file of {step_stream.FILE_BYTES / 1000:.0f} kB per process"),
    ("docs/design.md", f"the last time round, {step_stream.ENTRIES:,} steps ago"),
    ("docs/design.md", f"is looked at, every {recorder._WRITING_NS // 10**6} ms"),
    ("docs/design.md", f"step times are read {A_SECOND[round(1 / supervise._LOOK_S)]} meanwhile"),
    ("docs/design.md", f"(`SCHED_IDLE`, nice {examine._LOWEST})"),
    (
        "docs/design.md",
        (
            f"{SPELLED[levels._PARTS].capitalize()} blocks of {BLOCK_S:.0f} s answer within {IN_TIME_S} s where little "
            f"varies; {' and '.join(map(str, MANY_BLOCKS))} average"
        ),
    ),
    ("docs/design.md", f"{SPELLED[levels._ERRORS].capitalize()} standard errors keep a week"),
    ("docs/design.md", f"in which a rise of {DRIFT} and the way back"),
    ("docs/design.md", f"{AGAIN[levels._LASTING_NOISE]} as their points make it"),
    ("docs/design.md", f"**Means without the longest {'tenth' * (rank_levels._ONE_IN == 10)}**"),
    ("docs/design.md", f"{STALL_S} is well below the ten minutes after which NCCL ends"),
]


@telling(TOLD)
def test_documents_tell_the_numbers_of_the_watch(name, sentence):
    assert sentence in words(name)


def test_the_options_begin_with_what_the_rules_begin_with():
    given = {one.name: one.default for one in commands.commands["watch"].params}
    names = watch_options.WatchWanted.__dataclass_fields__
    wanted = watch_options.WatchWanted(
        **{
            name: given[name] if isinstance(given.get(name), int | float | str) else ()
            for name in names
            if name != "every"
        },
        every=None,
    )
    assert (wanted.rules(), wanted.policy()) == (RULES, POLICY)


def test_a_place_is_marked_as_often_in_a_window_as_is_told():
    told = re.search(
        r"beginning of steps: (\w+) times or more in a window of `--steps` \(at every", words("docs/annotate.md")
    )
    for length in range(1, 200):
        spacing = window.Window(10, 10 + length, is_per_process=False).mark_spacing()
        marked = sum(number % spacing == 0 for number in range(10, 10 + length))
        assert marked >= min(length, next(number for number, word in SPELLED.items() if word == told[1]))
