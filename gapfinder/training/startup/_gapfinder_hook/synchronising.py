"""Tells whether the backward pass that follows a forward pass will synchronise gradients."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Optional

_Answer = Callable[[], Optional[bool]]


class Synchronising:
    """Asks the data-parallel module in or around a model; finding it is done once per model."""

    def __init__(self) -> None:
        self._answers: dict[int, tuple[weakref.ref[Any], _Answer]] = {}

    def tells(self, model: Any) -> bool | None:
        """Return whether `model` synchronises gradients now; None where nothing in it does at all."""
        known = self._answers.get(id(model))
        if known is None or known[0]() is not model:
            known = self._answers[id(model)] = (weakref.ref(model), _find_answer(model))
        return known[1]()


def _find_answer(model: Any) -> _Answer:
    for module in model.modules():
        for name in ("require_backward_grad_sync", "_sync_gradients"):  # DDP, FSDP
            if name in module.__dict__:
                return _attribute(weakref.ref(module), name)
        if hasattr(type(module), "set_requires_gradient_sync"):  # fully_shard
            return _reduces(weakref.ref(module))
    return _nothing


def _nothing() -> None:
    return None


def _attribute(module: weakref.ref[Any], name: str) -> _Answer:
    return lambda: getattr(module(), name, None)


def _reduces(reference: weakref.ref[Any]) -> _Answer:
    def answer() -> bool | None:
        module: Any = reference()
        state = module._get_fsdp_state()  # noqa: SLF001 - there is no public way to ask
        groups = getattr(state, "_fsdp_param_groups", None) or [getattr(state, "_fsdp_param_group", None)]
        return getattr(groups[0], "reduce_grads", None)

    return answer
