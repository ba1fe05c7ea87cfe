"""Batches and learning rates when the number of cards changes."""

import pytest

from gapfinder.errors import InputError
from gapfinder.training import LinearScaling, accumulation_for, global_batch


def test_the_global_batch():
    assert global_batch(per_card=8, cards=16) == 128
    assert global_batch(per_card=8, cards=16, accumulation=4) == 512


def test_micro_steps_keep_the_global_batch():
    assert accumulation_for(512, per_card=8, cards=16) == 4
    assert accumulation_for(512, per_card=8, cards=64) == 1


@pytest.mark.parametrize(
    ("cards", "told"),
    [(24, "take a batch that 24 cards can share"), (128, "take 4 per card")],
)
def test_a_global_batch_that_cannot_be_kept_is_refused_with_advice(cards, told):
    with pytest.raises(InputError, match=told):
        accumulation_for(512, per_card=8, cards=cards)


def test_the_rate_doubles_with_the_batch_after_a_warm_up():
    scaling = LinearScaling(base_lr=2e-4, base_batch=256, batch=512, warmup_steps=1000)
    assert scaling.peak_lr == pytest.approx(4e-4)
    assert scaling.lr(1000) == scaling.lr(10**6) == scaling.peak_lr
    assert 0 < scaling.lr(0) < 1e-6
    assert scaling.lr(499) == pytest.approx(2e-4, rel=0.01)
    rates = [scaling.lr(step) for step in range(1001)]
    assert rates == sorted(set(rates))


def test_no_warm_up_where_the_batch_did_not_grow():
    scaling = LinearScaling(base_lr=2e-4, base_batch=256, batch=128, warmup_steps=0)
    assert scaling.lr(0) == pytest.approx(1e-4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"warmup_steps": 0},
        {"warmup_steps": -1},
        {"batch": 0},
        {"base_batch": -256},
        {"base_lr": 0.0},
        {"base_lr": float("nan")},
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError):
        LinearScaling(**({"base_lr": 2e-4, "base_batch": 256, "batch": 512, "warmup_steps": 1000} | wrong))


@pytest.mark.parametrize("wrong", [{"per_card": 0}, {"cards": -1}, {"accumulation": 0}])
def test_a_batch_of_nothing_is_refused(wrong):
    with pytest.raises(InputError):
        global_batch(**({"per_card": 8, "cards": 2} | wrong))
