"""Small reports in which everything happens at random: what a measurement in parts could get wrong."""

# ruff: noqa: S311 - random reports, no secrets

from __future__ import annotations

import itertools
import random
from pathlib import Path

from databases import Call, Copy, Graph, Kernel, Range, global_tid, nsys_database

LAST = 1_500_000
_PIDS = (100, 200)
_NAMES = ("gemm", "relu", "softmax", "ncclDevKernel_AllReduce_Sum_f32_RING_LL")
_CALLS = ("cudaLaunchKernel", "cudaStreamSynchronize", "cudaMalloc", "cudaEventRecord", "cudaMemcpyAsync")
_RANGES = ("batch_wait", "gc", "torch.save", "backward", "forward")
_NAMED = ("start", "end", "globalTid", "nameId")


def random_report(path: Path, *, seed: int) -> Path:
    """Write a report of 4 ms: two processes, three lanes, several threads, rows in no order, on many pages."""
    dice = random.Random(seed)
    kernels, copies, graphs, calls, ranges = [], [], [], [], []
    for pid in _PIDS:
        threads = [pid, pid + 1, pid + 2]
        calls += [_call(dice, pid, threads) for _ in range(dice.randrange(20))]
        for device in range(1 + (pid == _PIDS[0])):
            kernels += _lane(dice, pid=pid, device=device, threads=threads, calls=calls, copies=copies, graphs=graphs)
        edges = sorted(dice.sample(range(LAST), 6))
        ranges += [
            Range(start=start, end=end, name=f"step {n}", pid=pid)
            for n, (start, end) in enumerate(itertools.pairwise(edges))
        ]
        ranges += [_range(dice, pid, threads) for _ in range(10)]
    for rows in (kernels, copies, graphs, calls, ranges):
        dice.shuffle(rows)
    return nsys_database(
        path,
        kernels=kernels,
        copies=copies,
        graphs=graphs,
        calls=calls,
        ranges=ranges,
        page_size=512,
        tables={"OSRT_API": (_NAMED, _host_rows(dice, 40)), "PROFILER_OVERHEAD": (_NAMED, _host_rows(dice, 4))},
    )


def _lane(
    dice: random.Random,
    *,
    pid: int,
    device: int,
    threads: list[int],
    calls: list[Call],
    copies: list[Copy],
    graphs: list[Graph],
) -> list[Kernel]:
    """Return a lane's kernels, and add its other rows where they belong."""
    kernels, time = [], dice.randrange(LAST // 4)
    number = 10_000 * (device + 1)
    while time < LAST:
        time += dice.choice((0, 1, 300, 2_000, 40_000, 200_000))
        end = time + dice.choice((0, 1, 2, 5_000, 20_000, 60_000))
        correlation = dice.choice((number, number, number - 1, None))
        number += dice.choice((1, 1, 3))
        kind = dice.random()
        row = {"start": time, "end": end, "pid": pid, "device": device, "correlation": correlation}
        if kind < 0.75:
            kernels.append(Kernel(**row, name=dice.choice(_NAMES), stream=dice.choice((7, 7, 9))))
        elif kind < 0.95:
            memory = {"source_memory": dice.choice((0, 1)), "target_memory": 2}
            copies.append(Copy(**row, kind=dice.choice((1, 2, 8, -1)), **memory))
        else:
            graphs.append(Graph(**row))
        if correlation is not None and dice.random() < 0.9:
            began = time - dice.choice((-500, 2_000, 30_000, 700_000, 1_500_000))
            name = "cudaGraphLaunch" if dice.random() < 0.1 else "cudaLaunchKernel"
            lasts = dice.choice((0, 900, 50_000, 1_200_000))
            calls.append(
                Call(
                    start=began,
                    end=began + lasts,
                    correlation=correlation,
                    name=name,
                    pid=pid,
                    tid=dice.choice(threads[:2]),
                )
            )
        time = dice.choice((time, end))
    kernels.append(Kernel(start=0, end=0, pid=pid, device=device))
    return kernels


def _call(dice: random.Random, pid: int, threads: list[int]) -> Call:
    start = dice.randrange(LAST)
    return Call(
        start=start,
        end=start + dice.choice((0, 3_000, 90_000, 2_000_000)),
        correlation=dice.randrange(1_000),
        name=dice.choice(_CALLS),
        pid=pid,
        tid=dice.choice(threads),
    )


def _range(dice: random.Random, pid: int, threads: list[int]) -> Range:
    start = dice.randrange(LAST)
    return Range(
        start=start, end=start + dice.randrange(500_000), name=dice.choice(_RANGES), pid=pid, tid=dice.choice(threads)
    )


def _host_rows(dice: random.Random, count: int) -> list[tuple[int, int, int, int]]:
    """Return rows of host events; their names are whatever has the number 1 to 5."""
    starts = [dice.randrange(LAST) for _ in range(count)]
    return [
        (start, start + dice.choice((500, 40_000, 900_000)), _thread(dice), dice.randrange(1, 6)) for start in starts
    ]


def _thread(dice: random.Random) -> int:
    pid = dice.choice(_PIDS)
    return global_tid(pid, pid + dice.randrange(3))
