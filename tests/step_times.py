"""Trainings simulated by their step times alone: ranks wait for each other in backward, machines are noisy, faults grow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gapfinder.training.step_stream import RankSteps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gapfinder.watch.judge import Judge
    from gapfinder.watch.model import Trigger

    Noise = Callable[[np.random.Generator, int, int, float], np.ndarray]


class Step(NamedTuple):
    """The reader's step, made four times as fast."""

    number: int
    ended_at_ns: int
    duration_ns: int | None
    apart_ns: int


S = 1_000_000_000
BEGUN = 50 * S
POLL = S // 5


def quiet(rng, steps, ranks, step_s):
    return np.ones((steps, ranks))


def uniform(rng, steps, ranks, step_s):
    """Each step of all ranks ±30 %, and each rank ±5 % of its own."""
    return rng.uniform(0.7, 1.3, (steps, 1)) * rng.uniform(0.95, 1.05, (steps, ranks))


def own(rng, steps, ranks, step_s):
    """Each step of each rank ±30 %, by itself."""
    return rng.uniform(0.7, 1.3, (steps, ranks))


def tails(rng, steps, ranks, step_s):
    """±10 %, and one step in a hundred takes five times as long."""
    return rng.uniform(0.9, 1.1, (steps, ranks)) * np.where(rng.random((steps, 1)) < 0.01, 5.0, 1.0)


def lognormal(rng, steps, ranks, step_s):
    """Skewed, with a standard deviation of 25 %."""
    return np.exp(rng.normal(0.0, 0.25, (steps, 1)) + rng.normal(0.0, 0.03, (steps, ranks)))


def cotenants(rng, steps, ranks, step_s):
    """Two other jobs, each of which works and pauses for 1 s on average, and takes 25 % while it works; ±10 %."""
    shares = np.ones((steps, 1))
    for _ in range(2):
        flips = rng.random(steps) < min(0.5, step_s / 1.0)
        shares += 0.25 * ((rng.integers(2) + np.cumsum(flips)) % 2)[:, None]
    return shares * rng.uniform(0.9, 1.1, (steps, ranks))


def checkpoints(rng, steps, ranks, step_s):
    """±10 %; a checkpoint of 5 steps every 100, an evaluation of 20 every 500, an epoch's first step, GC pauses."""
    noise = rng.uniform(0.9, 1.1, (steps, ranks))
    numbers = np.arange(steps)[:, None]
    for every, longer in ((100, 5.0), (500, 20.0), (250, 3.0), (37, 0.5)):
        noise = noise + np.where(numbers % every == every - 1, longer, 0.0)
    return noise


NOISES = (uniform, own, tails, lognormal, cotenants, checkpoints)


@dataclass(kw_only=True)
class Training:
    """A training of `steps` steps of about `step_s`, of which a third is apart."""

    step_s: float
    steps: int = 1_000
    ranks: int = 2
    noise: Noise = quiet
    seed: int = 0
    slower: dict[int, float] = field(default_factory=dict)
    lags: dict[int, tuple[int, float]] = field(default_factory=dict)
    apart: float = 0.4

    def times(self) -> tuple[np.ndarray, np.ndarray]:
        """The end of each step in ns, and each rank's time outside backward."""
        rng = np.random.default_rng(self.seed)
        noise = self.noise(rng, self.steps, self.ranks, self.step_s)
        for step, factor in self.slower.items():
            noise[step:] *= factor
        apart = self.apart * self.step_s * noise
        for step, (rank, factor) in self.lags.items():
            apart[step:, rank] *= factor
        together = (1 - self.apart) * self.step_s * noise.mean(axis=1)
        durations = apart.max(axis=1) + together
        return BEGUN + np.cumsum(durations * S).astype(int), (apart * S).astype(int)

    def polls(self) -> Iterator[tuple[int, tuple[RankSteps, ...]]]:
        """What the reader returns every fifth of a second."""
        ends, apart = self.times()
        ends_list, apart_list = ends.tolist(), apart.T.tolist()
        poll = max(POLL, round(self.step_s * S / 2))
        edges = np.arange(BEGUN, ends[-1] + poll, poll)
        places = np.searchsorted(ends, edges, side="right").tolist()
        first = 0
        for now, end in zip(edges.tolist(), places, strict=True):
            yield now, tuple(rank_steps(rank, ends_list, times, first, end) for rank, times in enumerate(apart_list))
            first = end


def rank_steps(rank, ends, apart, first, end, *, pid=None, begun=BEGUN, world=2):
    before = [ends[number - 1] if number else None for number in range(first, end)]
    durations = [None if last is None else ended - last for last, ended in zip(before, ends[first:end], strict=True)]
    steps = tuple(map(Step, range(first, end), ends[first:end], durations, apart[first:end]))
    return RankSteps(
        pid=pid or 100 + rank, host="h", rank=rank, local_rank=rank, world_size=world, begun_at_ns=begun,
        steps=steps, total=end, missed=0,
    )  # fmt: skip


def captures(judge: Judge, training: Training, *, capture_s: float = 2.0) -> list[tuple[Trigger, int]]:
    """Run the training; whatever triggers is captured for some seconds. Returns triggers and when they came."""
    taken: list[tuple[Trigger, int]] = []
    until = None
    for now, ranks in training.polls():
        judge.see(ranks, now_ns=now)
        if until is not None and now >= until:
            judge.disturbed(taken[-1][1], now)
            judge.after_capture(taken[-1][0])
            until = None
        if until is None and (trigger := judge.trigger(now)):
            taken.append((trigger, now))
            judge.disturbed(now, None)
            until = now + round(capture_s * S)
    return taken
