"""Asks every rank what it sees before training begins, and refuses to begin where they differ or lack something."""

from __future__ import annotations

import os
import platform
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gapfinder.errors import SelfCheckError
from gapfinder.training.own_facts import GpuFacts, RankFacts, own_facts
from gapfinder.training.ranks import own_ranks
from gapfinder.units import BYTES_PER_GB, format_bytes, format_count, format_numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_HOTTEST_C = 85
_VERSIONS = {"python": "Python", "torch": "torch", "cuda": "CUDA of torch", "nccl": "NCCL"}


@dataclass(frozen=True, kw_only=True, slots=True)
class SelfCheck:
    """What every rank saw, in the order of ranks; the same value on all of them."""

    ranks: tuple[RankFacts, ...]

    @property
    def own(self) -> RankFacts:
        """What this rank saw."""
        return self.ranks[own_ranks().rank]


def self_check(
    *,
    gpus: int | None = None,
    hottest_c: int = _HOTTEST_C,
    free_temporary_bytes: int = BYTES_PER_GB,
    is_strict: bool = True,
) -> SelfCheck:
    """Return what all ranks see of GPUs, versions, hosts and temporary space; call it once the process group is there.

    Every rank gets the same answer, and the same error: no rank begins alone. What a machine does not tell (no
    nvidia-smi, no NCCL) is None, and is a disagreement only where another rank knows it.

    Args:
        gpus: how many each host must have; by default as many as the others.
        hottest_c: a GPU above this is hot before it has begun.
        free_temporary_bytes: less in a folder for temporary files ends a training without a log.
        is_strict: raise; else only return, and let `disagreements` tell.

    Raises:
        SelfCheckError: what differs or is lacking, each with the ranks it is about.
    """
    ranks = own_ranks()
    hosts = sorted({*ranks.gather(platform.node()), os.environ.get("MASTER_ADDR", "")} - {"", "localhost", "127.0.0.1"})
    told = ranks.gather(asdict(own_facts(rank=ranks.rank, hosts=hosts)))
    check = SelfCheck(ranks=tuple(_facts(one) for one in told))
    wrong = disagreements(check, gpus=gpus, hottest_c=hottest_c, free_temporary_bytes=free_temporary_bytes)
    if wrong and is_strict:
        raise SelfCheckError(f"{format_count(len(wrong), 'reason')} not to begin: {'; '.join(wrong)}")
    return check


def disagreements(
    check: SelfCheck, *, gpus: int | None = None, hottest_c: int = _HOTTEST_C, free_temporary_bytes: int = BYTES_PER_GB
) -> tuple[str, ...]:
    """Return what differs among the ranks and what they lack; the arguments are those of `self_check`."""
    return (
        *(told for name, noun in _VERSIONS.items() for told in _differing(check.ranks, name=name, noun=noun)),
        *_drivers(check.ranks),
        *_gpu_numbers(check.ranks, wanted=gpus),
        *_shared_gpus(check.ranks),
        *_hot_gpus(check.ranks, hottest_c=hottest_c),
        *_host_addresses(check.ranks),
        *_full_folders(check.ranks, least=free_temporary_bytes),
    )


def _facts(told: dict[str, object]) -> RankFacts:
    """Return what another rank told, which came as JSON."""
    gpus, addresses = told["gpus"], told["addresses"]
    values = told | {
        "gpus": tuple(GpuFacts(**gpu) for gpu in gpus) if isinstance(gpus, (list, tuple)) else None,
        "addresses": {host: tuple(one) for host, one in addresses.items()} if isinstance(addresses, dict) else {},
    }
    return RankFacts(**values)  # type: ignore[arg-type]


def _differing(ranks: Sequence[RankFacts], *, name: str, noun: str) -> Iterator[str]:
    seen: dict[str | None, list[int]] = {}
    for one in ranks:
        seen.setdefault(getattr(one, name), []).append(one.rank)
    if len(seen) > 1:
        each = ", ".join(f"{value or 'none'} on {_named(numbers)}" for value, numbers in seen.items())
        yield f"{noun} differs: {each}"


def _drivers(ranks: Sequence[RankFacts]) -> Iterator[str]:
    seen = {(one.host, gpu.driver) for one in ranks for gpu in one.gpus or ()}
    if len({driver for _, driver in seen}) > 1:
        yield f"the driver differs: {', '.join(f'{driver} on {host}' for host, driver in sorted(seen))}"


def _gpu_numbers(ranks: Sequence[RankFacts], *, wanted: int | None) -> Iterator[str]:
    seen = {one.host: None if one.gpus is None else len(one.gpus) for one in ranks}
    usual = wanted if wanted is not None else Counter(seen.values()).most_common(1)[0][0]
    for host, number in seen.items():
        if number != usual:
            has = "tells of no GPUs" if number is None else f"has {format_count(number, 'GPU')}"
            yield f"{host} {has}, not {usual if usual is not None else 'none, as the others do'}"


def _shared_gpus(ranks: Sequence[RankFacts]) -> Iterator[str]:
    users: dict[tuple[str, str], list[int]] = {}
    for one in ranks:
        if one.own_gpu is not None:
            users.setdefault((one.host, one.own_gpu), []).append(one.rank)
    for (host, _), numbers in users.items():
        if len(numbers) > 1:
            yield f"{_named(numbers)} work on the same GPU of {host}: set the device from LOCAL_RANK"


def _hot_gpus(ranks: Sequence[RankFacts], *, hottest_c: int) -> Iterator[str]:
    for host, gpus in {one.host: one.gpus or () for one in ranks}.items():
        for gpu in gpus:
            if gpu.temperature_c is not None and gpu.temperature_c > hottest_c:
                yield f"GPU {gpu.index} of {host} has {gpu.temperature_c} °C, over {hottest_c}: look at its cooling"


def _host_addresses(ranks: Sequence[RankFacts]) -> Iterator[str]:
    """Tell hosts that others find at different addresses; what a host calls itself is its own affair."""
    views = {one.host: one.addresses for one in ranks}
    for host in sorted({name for addresses in views.values() for name in addresses}):
        found = {viewer: addresses.get(host, ()) for viewer, addresses in views.items() if viewer != host}
        for viewer in (viewer for viewer, addresses in found.items() if not addresses):
            yield f"{viewer} does not know the host {host}: compare /etc/hosts"
        known = {viewer: addresses for viewer, addresses in found.items() if addresses}
        if known and not set.intersection(*map(set, known.values())):
            each = ", ".join(f"{' and '.join(addresses)} on {viewer}" for viewer, addresses in known.items())
            yield f"the host {host} has several addresses: {each}; compare /etc/hosts"


def _full_folders(ranks: Sequence[RankFacts], *, least: int) -> Iterator[str]:
    folders = {(one.host, one.temporary): one.temporary_free_bytes for one in ranks}
    for (host, folder), free in folders.items():
        if free < least:
            yield f"{folder} of {host} has {format_bytes(free)} free, less than {format_bytes(least)}"


def _named(ranks: list[int]) -> str:
    numbers = format_numbers((rank, rank) for rank in ranks)
    return f"rank {numbers}" if len(ranks) == 1 else f"ranks {numbers}"
