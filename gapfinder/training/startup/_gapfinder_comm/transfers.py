"""Moves data between ranks, and takes the time."""

from __future__ import annotations

import time
from typing import Any, Callable

_SMALL = 8  # bytes that ask for the latency
_ELEMENT = 4
_PINGS = 5


class Transfers:
    """What one rank sends and receives; every method is called by all who take part."""

    def __init__(self, torch: Any, *, rank: int, world_size: int, device: Any) -> None:
        self._torch = torch
        self._dist = torch.distributed
        self._rank = rank
        self._world_size = world_size
        self._device = device
        self._buffers: dict[str, Any] = {}

    def collective(self, operation: str, *, size: int, repeats: int, at_once: int) -> list[int]:
        """Return how long each of `repeats` took, in ns; in each, `at_once` follow each other and share its time."""
        run = self._all_reduce(size) if operation == "all-reduce" else self._all_gather(size)
        times = [self._timed(run, at_once=at_once) for _ in range(repeats + 1)]
        return times[1:]  # the first one warms up

    def pair(self, pair: list[int], *, size: int, repeats: int) -> dict[str, Any]:
        """Return how long it took to send to the other rank until its answer came, and the latency, in ns."""
        one, other = pair
        peer = other if self._rank == one else one
        payload, small = self._buffer("pair", size // _ELEMENT), self._buffer("small", _SMALL // _ELEMENT)

        def send(tensor: Any) -> None:
            self._pass(self._dist.isend, tensor, peer)
            self._pass(self._dist.irecv, small, peer)

        def answer(tensor: Any) -> None:
            self._pass(self._dist.irecv, tensor, peer)
            self._pass(self._dist.isend, small, peer)

        def times(tensor: Any, *, sender: int, count: int) -> list[int]:
            run = send if self._rank == sender else answer
            taken = [self._timed(lambda: run(tensor), at_once=1) for _ in range(count + 1)]
            return taken[1:]

        there, back = (times(payload, sender=sender, count=repeats) for sender in (one, other))
        pings = times(small, sender=one, count=_PINGS)
        return {"sent": there if self._rank == one else back, "latency": sorted(pings)[_PINGS // 2] // 2}

    def _pass(self, how: Callable[..., Any], tensor: Any, peer: int) -> None:
        # In a batch, NCCL uses the communicator of all ranks; alone, it would make one for every pair.
        for work in self._dist.batch_isend_irecv([self._dist.P2POp(how, tensor, peer)]):
            work.wait()

    def _timed(self, run: Callable[[], None], *, at_once: int) -> int:
        start = time.perf_counter_ns()
        for _ in range(at_once):
            run()
        if self._device.type == "cuda":
            self._torch.cuda.synchronize(self._device)
        return (time.perf_counter_ns() - start) // at_once

    def _all_reduce(self, size: int) -> Callable[[], None]:
        tensor = self._buffer("own", size // _ELEMENT)
        return lambda: self._dist.all_reduce(tensor)

    def _all_gather(self, size: int) -> Callable[[], None]:
        share = size // _ELEMENT // self._world_size
        own, whole = self._buffer("own", share), self._buffer("whole", share * self._world_size)
        if self._device.type == "cuda":
            return lambda: self._dist.all_gather_into_tensor(whole, own)
        parts = list(whole.chunk(self._world_size))  # older versions of gloo gather only into a list
        return lambda: self._dist.all_gather(parts, own)

    def _buffer(self, name: str, elements: int) -> Any:
        """Return so many zeros, whose sums stay zero however often they are reduced."""
        kept = self._buffers.get(name)
        if kept is None or kept.numel() < elements:
            self._buffers[name] = None
            self._buffers[name] = kept = self._torch.zeros(elements, device=self._device)
        return kept[:elements]
