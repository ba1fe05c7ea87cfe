"""Where the ranks meet: who takes part in a collective, and how long its transfer takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sample_profiles.trace import Cause, Rendezvous

if TYPE_CHECKING:
    from sample_profiles.kernels import Graph, Kernel

_OWN_RANDOM_STREAM = 1_000_003


@dataclass(frozen=True, kw_only=True, slots=True)
class Communicator:
    """A group of ranks that run collectives together, each member all of them in the same order.

    Attributes:
        wait_cause: what a member suffers that waits inside a collective for the others.
    """

    name: str
    members: tuple[int, ...]
    wait_cause: Cause = Cause.WAIT


class Network:
    """Matches the n-th collective of a communicator on each of its members.

    Attributes:
        meetings: by name of the communicator and n.
    """

    def __init__(self, *, seed: int, end_jitter_ns: int = 0) -> None:
        self._rng = np.random.default_rng([seed, _OWN_RANDOM_STREAM])
        self._end_jitter_ns = end_jitter_ns
        self.meetings: dict[tuple[str, int], Rendezvous] = {}
        self._counts: dict[tuple[str, int], int] = {}

    def meet(self, communicator: Communicator, *, rank: int, work: Kernel | Graph) -> Rendezvous:
        """Return the meeting that the rank's next collective of `communicator` belongs to."""
        number = self._counts.get((communicator.name, rank), 0)
        self._counts[communicator.name, rank] = number + 1
        key = (communicator.name, number)
        if key not in self.meetings:
            self.meetings[key] = Rendezvous(
                members=communicator.members,
                transfer=jitter(self._rng, work.usual_ns, permille=60),
                wait_cause=communicator.wait_cause,
            )
        return self.meetings[key]

    def lag(self) -> int:
        """Return how much later than the transfer one member ends, at most `end_jitter_ns`."""
        return int(self._rng.integers(0, self._end_jitter_ns + 1)) if self._end_jitter_ns else 0


def jitter(rng: np.random.Generator, ns: int, *, permille: int) -> int:
    """Return `ns` give or take `permille`, in integers only: floats could round differently elsewhere."""
    return max(1, ns + ns * int(rng.integers(-permille, permille + 1)) // 1000)
