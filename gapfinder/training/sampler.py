"""A distributed sampler that knows how much of its epoch was trained on, and goes on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict, TypeVar

from gapfinder.errors import InputError
from gapfinder.training.ranks import own_ranks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sized

    from torch.utils.data import DataLoader

_Batch = TypeVar("_Batch")


class SamplerState(TypedDict):
    """Where a sampler is, and of what; the same on every rank.

    Attributes:
        consumed: samples of the epoch's order that all ranks together have trained on.
    """

    epoch: int
    consumed: int
    samples: int
    seed: int
    shuffle: bool


class ResumableDistributedSampler:
    """Gives each rank its share of every epoch's order, as torch's DistributedSampler does, from any offset.

    Only batches that `batches` handed out count, not those that loader processes have fetched ahead. The offset is
    kept over all ranks, so another number of ranks, or another batch size, goes on with exactly the samples left.

    Args:
        dataset: anything with a length; give the loader the same one.
        batch_size: samples per batch of one rank; give the loader the same one.
        seed: of the order of every epoch; the same on every rank.
        shuffle: whether epochs have an order of their own; else all have the dataset's.
        drop_last: whether samples that do not divide among the ranks are left out; else some are given twice.
    """

    def __init__(  # noqa: PLR0913 (all by name)
        self,
        dataset: Sized,
        *,
        batch_size: int,
        seed: int = 0,
        shuffle: bool = True,
        drop_last: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
    ) -> None:
        own = own_ranks()
        self.rank = own.rank if rank is None else rank
        self.world_size = own.world_size if world_size is None else world_size
        if not 0 <= self.rank < self.world_size:
            raise InputError(f"rank {self.rank} of {self.world_size} ranks is none; ranks count from 0")
        if batch_size < 1:
            raise InputError(f"a batch of {batch_size} samples is none; give at least 1")
        self._samples, self._batch_size = len(dataset), batch_size
        self._seed, self._shuffle, self._drop_last = seed, shuffle, drop_last
        self.epoch = 0
        self._consumed = self._start = 0

    def __iter__(self) -> Iterator[int]:
        """Return this rank's samples of the rest of the epoch."""
        order = self._order()
        rest = order[self._start :]
        odd = len(rest) % self.world_size
        if odd and self._drop_last:
            rest = rest[: len(rest) - odd]
        elif odd:
            missing = self.world_size - odd
            rest += (order * -(-missing // len(order)))[:missing]
        return iter(rest[self.rank :: self.world_size])

    def __len__(self) -> int:
        """Return how many samples of the epoch this rank had left when it was begun or resumed."""
        rest = self._samples - self._start
        return rest // self.world_size if self._drop_last else -(-rest // self.world_size)

    def batches(self, loader: DataLoader[_Batch]) -> Iterator[_Batch]:
        """Yield the batches of the rest of the epoch and count each as consumed; then begin the next epoch.

        The loader's own draw from torch's random generator, one for each time it begins, is taken back: a resumed
        epoch has one more of them.
        """
        if loader.sampler is not self or loader.batch_size != self._batch_size:
            raise InputError(
                f"this loader takes batches of {loader.batch_size} from {type(loader.sampler).__name__}; "
                f"build it with this sampler and batch_size={self._batch_size}"
            )
        import torch

        self._start = self._consumed
        if not self._start and not len(loader):
            raise InputError(f"a rank's share of {self._samples} samples has no batch of {self._batch_size}; take less")
        if len(loader):
            drawn = torch.get_rng_state()
            iterator = iter(loader)
            torch.set_rng_state(drawn)
            for batch in iterator:
                self.advance()
                yield batch
        self.set_epoch(self.epoch + 1)

    def advance(self, batches: int = 1) -> None:
        """Count batches as consumed on every rank; `batches` does this for you."""
        self._consumed = min(self._consumed + batches * self._batch_size * self.world_size, self._samples)

    def set_epoch(self, epoch: int) -> None:
        """Begin `epoch` from its first sample; the epoch that is under way goes on from where it is."""
        if epoch != self.epoch:
            self.epoch, self._consumed, self._start = epoch, 0, 0

    def state_dict(self) -> SamplerState:
        """Return where the sampler is."""
        return {
            "epoch": self.epoch,
            "consumed": self._consumed,
            "samples": self._samples,
            "seed": self._seed,
            "shuffle": self._shuffle,
        }

    def load_state_dict(self, state: SamplerState) -> None:
        """Go on from `state`, with any number of ranks; another dataset or order is refused."""
        own = self.state_dict()
        differences = [
            f"{name} {own[name]} now and {state[name]} then"
            for name in ("samples", "seed", "shuffle")
            if own[name] != state[name]
        ]
        if differences:
            raise InputError(f"another order of samples cannot be resumed: {', '.join(differences)}; train on the same")
        self.epoch = state["epoch"]
        self._consumed = self._start = state["consumed"]

    def _order(self) -> list[int]:
        if not self._shuffle:
            return list(range(self._samples))
        import torch

        order: list[int] = torch.randperm(
            self._samples, generator=torch.Generator().manual_seed(self._seed + self.epoch)
        ).tolist()
        return order
