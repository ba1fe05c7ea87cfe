"""The resumable sampler: torch's order, any offset, what loader processes fetched ahead, other numbers of ranks."""

from __future__ import annotations

from itertools import islice

import pytest
import torch
from torch.utils.data import DataLoader, DistributedSampler

from gapfinder.errors import InputError
from gapfinder.training import ResumableDistributedSampler

DATA = list(range(50))


def sampler(*, rank: int = 0, world_size: int = 1, batch_size: int = 4, data=DATA, **options):
    return ResumableDistributedSampler(data, batch_size=batch_size, rank=rank, world_size=world_size, **options)


def loader(own: ResumableDistributedSampler, *, batch_size: int = 4, **options) -> DataLoader:
    return DataLoader(DATA, batch_size=batch_size, sampler=own, **options)


def taken(batches) -> list[list[int]]:
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize("world_size", [1, 3, 7])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("drop_last", [True, False])
@pytest.mark.parametrize("samples", [1, 5, 21, 50])
def test_the_order_is_that_of_torch(world_size, shuffle, drop_last, samples):
    options = {"shuffle": shuffle, "drop_last": drop_last, "seed": 11}
    data = range(samples)
    for rank in range(world_size):
        known = DistributedSampler(data, num_replicas=world_size, rank=rank, **options)
        own = sampler(rank=rank, world_size=world_size, data=data, **options)
        for epoch in (0, 1, 5):
            known.set_epoch(epoch)
            own.set_epoch(epoch)
            assert list(own) == list(known)
            assert len(own) == len(known)


@pytest.mark.parametrize("drop_last", [True, False])
@pytest.mark.parametrize("workers", [0, 2])
def test_an_epoch_goes_on_after_any_batch(drop_last, workers):
    options = {"num_workers": workers, "drop_last": drop_last, "multiprocessing_context": "fork" if workers else None}
    places = [{"rank": rank, "world_size": 3, "seed": 2} for rank in range(3)]
    for place in places[: 1 if workers else 3]:
        own = sampler(**place)
        whole = [taken(own.batches(loader(own, **options))) for _ in range(2)]
        assert own.epoch == 2
        for used in (1, 2, len(whole[0])) if workers else range(1, len(whole[0]) + 1):
            begun, again = sampler(**place), sampler(**place)
            batches = begun.batches(loader(begun, **options))
            first = taken(islice(batches, used))
            again.load_state_dict(begun.state_dict())
            assert len(loader(again, **options)) == len(whole[0]) - used
            rest = taken(again.batches(loader(again, **options)))
            assert first + rest == whole[0]
            assert taken(again.batches(loader(again, **options))) == whole[1]


def test_what_is_fetched_ahead_is_not_counted():
    own = sampler()
    batches = own.batches(loader(own, num_workers=2, prefetch_factor=4, multiprocessing_context="fork"))
    next(batches)
    assert own.state_dict()["consumed"] == 4


def test_beginning_draws_nothing_from_the_random_generator():
    own = sampler()
    before = torch.get_rng_state()
    next(own.batches(loader(own)))
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize(("before", "after"), [(2, 3), (3, 2), (4, 1), (1, 5)])
def test_another_number_of_ranks_takes_exactly_the_samples_that_are_left(before, after):
    begun = [sampler(rank=rank, world_size=before) for rank in range(before)]
    first = [taken(islice(own.batches(loader(own)), 3)) for own in begun]
    (state,) = {tuple(own.state_dict().items()) for own in begun}
    rest = []
    for rank in range(after):
        own = sampler(rank=rank, world_size=after, batch_size=1)
        own.load_state_dict(dict(state))
        rest.append([number for batch in taken(own.batches(loader(own, batch_size=1))) for number in batch])
    used = [number for batches in first for batch in batches for number in batch]
    left = [number for numbers in rest for number in numbers]
    assert len(used) == len(set(used)) == 12 * before
    assert set(left) >= set(DATA) - set(used)
    given_twice = -(50 - len(used)) % after  # as torch does where samples do not divide among the ranks
    assert len(left) == 50 - len(used) + given_twice


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"data": range(49)}, "samples 49 now and 50 then"),
        ({"seed": 1}, "seed 1 now and 0 then"),
        ({"shuffle": False}, "shuffle False now and True then"),
    ],
)
def test_another_order_is_refused(other, told):
    state = sampler().state_dict()
    sampler().load_state_dict(state)
    with pytest.raises(InputError, match=told):
        sampler(**other).load_state_dict(state)


def test_a_loader_that_does_not_fit_is_refused():
    own = sampler()
    with pytest.raises(InputError, match="takes batches of 5"):
        next(own.batches(loader(own, batch_size=5)))
    with pytest.raises(InputError, match="from SequentialSampler"):
        next(own.batches(DataLoader(DATA, batch_size=4)))


def test_an_epoch_without_a_batch_is_refused():
    own = sampler(batch_size=60)
    with pytest.raises(InputError, match="has no batch of 60"):
        next(own.batches(loader(own, batch_size=60, drop_last=True)))


@pytest.mark.parametrize("wrong", [{"rank": 1}, {"rank": -1}, {"batch_size": 0}, {"world_size": 0}])
def test_wrong_places_are_refused(wrong):
    with pytest.raises(InputError):
        sampler(**wrong)
