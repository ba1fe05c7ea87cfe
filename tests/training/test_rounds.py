"""Which call of which optimizer ends a step."""

from gapfinder.training.startup._gapfinder_hook.rounds import OptimizerRound


class _Optimizer:
    """Something that weak references can point to."""


def _step(optimizers, optimizer):
    """Return whether a step of `optimizer` ends the training step, and begin the next one if so."""
    assert optimizers.enter(optimizer)
    assert optimizers.leave(optimizer)
    is_complete = optimizers.is_complete
    if is_complete:
        optimizers.begin()
    return is_complete


def test_one_that_steps_twice_no_longer_waits_for_the_idle_one():
    optimizers, leader, idle = OptimizerRound(), _Optimizer(), _Optimizer()
    optimizers.add(idle)
    assert [_step(optimizers, leader) for _ in range(3)] == [False, True, True]


def test_a_new_optimizer_with_the_id_of_one_that_is_gone_is_no_leader(monkeypatch):
    ids = {}
    monkeypatch.setattr(
        "gapfinder.training.startup._gapfinder_hook.rounds.id", lambda one: ids.get(type(one), 0), raising=False
    )
    old, new, waited = (type(name, (), {}) for name in ("Old", "New", "Waited"))
    ids.update({old: 1, new: 1, waited: 2})
    optimizers, leader, other = OptimizerRound(), old(), waited()
    optimizers.add(other)
    assert [_step(optimizers, leader) for _ in range(2)] == [False, True]
    del leader
    replacement = new()
    assert [_step(optimizers, replacement), _step(optimizers, other)] == [False, True]
