"""Training processes are what plain SQLite and a moment-by-moment count make of the same file, captured or made up."""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from databases import MARK, START_END, Range, nsys_database
from host_oracle import PHASES, processes_of

from gapfinder.analysis import analyze
from gapfinder.export import export_report
from gapfinder.load import load_profile
from gapfinder.model import Analysis
from gapfinder.processes import Phase

TRAINING = """
import gc, subprocess, sys, threading, time
import nvtx

DOMAIN, STEPS = "gapfinder", 12

def phase(name, ms):
    nvtx.push_range(name, domain=DOMAIN)
    time.sleep(ms / 1000)
    nvtx.pop_range(domain=DOMAIN)

def train(rank):
    nvtx.mark(f"rank={rank} local_rank={rank} world_size=3 host=node-{rank}", domain=DOMAIN)
    for number in range(STEPS):
        step = nvtx.start_range(f"step {number}", domain=DOMAIN)
        phase("data loading", 2)
        for micro in range(2):
            passed = nvtx.start_range(f"micro-step {micro}{' sync' if micro else ''}", domain=DOMAIN)
            phase("forward", (2, 8)[rank])
            nvtx.push_range("backward", domain=DOMAIN)
            engine = threading.Thread(target=phase, args=("garbage collection" if micro else "backward", 2))
            engine.start()
            time.sleep((0.009, 0.003)[rank])
            engine.join()
            nvtx.pop_range(domain=DOMAIN)
            nvtx.end_range(passed)
        with nvtx.annotate("optimizer"):
            time.sleep(0.001)
        ahead = threading.Thread(target=phase, args=("data loading", 3))
        ahead.start()
        ahead.join()
        nvtx.end_range(step)

if len(sys.argv) == 2:
    train(int(sys.argv[1]))
else:
    ranks = [subprocess.Popen([sys.executable, __file__, str(rank)]) for rank in (0, 1)]
    sys.exit(sum(rank.wait(60) for rank in ranks))
"""


def check(analysis: Analysis, path: Path) -> None:
    """Compare every process, step and phase with what the plain count says."""
    expected = processes_of(path)
    assert {one.pid for one in analysis.processes} == set(expected)
    for process in analysis.processes:
        mark, steps = expected[process.pid]
        told = (process.rank, process.local_rank, process.world_size, process.host)
        assert told == ((None,) * 4 if mark is None else (*map(int, mark[:3]), mark[3]))
        items = process.steps.items if process.steps else ()
        assert [(one.number, one.start_ns, one.end_ns, one.micro_steps) for one in items] == [
            (one.number, one.start, one.end, one.micro_steps) for one in steps
        ]
        assert [{phase.value: ns for phase, ns in one.phases.items() if ns} for one in items] == [
            one.phases for one in steps
        ]
        if process.steps is not None and len(steps) > 1:
            lengths = [one.end - one.start for one in steps]
            quantiles = statistics.quantiles(lengths, n=100, method="inclusive")
            assert process.steps.mean_ns == round(statistics.fmean(lengths))
            assert (process.steps.p50_ns, process.steps.p99_ns) == pytest.approx((quantiles[49], quantiles[98]), abs=1)
            assert {phase.value: ns for phase, ns in process.steps.phases.items()} == {
                phase.value: sum(one.phases.get(phase.value, 0) for one in steps) for phase in Phase
            }


@pytest.mark.nsys
def test_a_capture_of_two_ranks(tmp_path: Path) -> None:
    script, report = tmp_path / "training.py", tmp_path / "two.nsys-rep"
    script.write_text(TRAINING)
    options = ["--trace=nvtx", "--sample=none", "--cpuctxsw=none", "--output", str(report)]
    command = ["nsys", "profile", *options, sys.executable, str(script)]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    analysis = analyze([load_profile(report)])
    check(analysis, export_report(report))
    assert [(one.rank, one.host) for one in analysis.processes] == [(0, "node-0"), (1, "node-1")]
    for process in analysis.processes:
        assert process.steps is not None
        assert {step.micro_steps for step in process.steps.items} == {2}
        assert all(process.steps.phases[phase] for phase in Phase if phase is not Phase.CHECKPOINT)
        assert process.steps.phases[Phase.GARBAGE_COLLECTION] >= process.steps.count * 2_000_000
    (slow,) = analysis.slow_ranks
    assert (slow.process, slow.phase) == (1, Phase.FORWARD)
    assert slow.phase_ns == pytest.approx(12_000_000, rel=0.5)
    assert "nothing of rank 2 in this report (world size 3)" in analysis.coverage.notes


@pytest.mark.parametrize("seed", range(12))
def test_ranges_that_lie_anyhow(seed: int, tmp_path: Path) -> None:
    """Two processes with steps that follow one another, and ranges on three threads that nest and cross at random."""
    dice = random.Random(seed)  # noqa: S311
    rows = []
    for pid in (100, 200):
        edges = sorted(dice.sample(range(1_000), 7))
        rows += [
            Range(start=start, end=end, name=f"step {number}", pid=pid, domain=1, event_type=START_END)
            for number, (start, end) in enumerate(pairwise(edges))
        ]
        rows.append(Range(start=edges[-1], end=1_200, name="step 6", pid=pid, domain=1))
        mark = f"rank={pid} local_rank=0 world_size=4 host=a"
        rows.append(Range(start=0, end=None, name=mark, pid=pid, event_type=MARK, domain=pid % 200 // 100))
        rows += [_anything(dice, pid) for _ in range(60)]
    path = nsys_database(
        tmp_path / "made.sqlite", ranges=dice.sample(rows, len(rows)), duration=1_200,
        domains={(100, 1): "gapfinder", (200, 1): "gapfinder", (100, 2): "mine", (200, 2): "NCCL"},
    )  # fmt: skip
    check(analyze([load_profile(path)]), path)


def _anything(dice: random.Random, pid: int) -> Range:
    start = dice.randrange(1_000)
    return Range(
        start=start,
        end=dice.choice([start, start + dice.randrange(1, 300), 1_200]),
        name=dice.choice([*PHASES, *PHASES, "micro-step 0", "micro-step 1 sync", "layer 3"]),
        pid=pid,
        tid=dice.choice([pid, pid, 7, 8]),
        domain=dice.choice([0, 1, 1]),
        event_type=dice.choice([59, 59, 60, 71]),
        is_registered=dice.random() < 0.5,
    )
