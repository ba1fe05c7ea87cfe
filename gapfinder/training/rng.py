"""The states of the random generators that a training draws from: Python's, numpy's, torch's, and CUDA's."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from torch import Tensor


class NumpyState(TypedDict):
    """numpy's global generator, without numpy's types, which a checkpoint does not load."""

    keys: Tensor
    position: int
    has_gauss: int
    cached_gaussian: float


class RngState(TypedDict):
    """The states of all generators of this process; None where numpy or CUDA was not in use.

    Attributes:
        cuda: of every device that this process sees.
        device: which of them is the current one.
    """

    python: tuple[int, tuple[int, ...], float | None]
    numpy: NumpyState | None
    torch: Tensor
    cuda: list[Tensor] | None
    device: int | None


def rng_state() -> RngState:
    """Return the states as they are now."""
    import torch

    is_on_gpu = torch.cuda.is_available() and torch.cuda.is_initialized()
    return {
        "python": random.getstate(),
        "numpy": _numpy_state(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if is_on_gpu else None,
        "device": torch.cuda.current_device() if is_on_gpu else None,
    }


def set_rng_state(state: RngState) -> None:
    """Go on with the generators where `state` was taken.

    Of CUDA's, all are set where the process sees as many devices as before and works on the same; else that of the
    device it works on.
    """
    import torch

    random.setstate(state["python"])
    if (numbers := state["numpy"]) is not None:
        import numpy as np

        keys = numbers["keys"].numpy().view(np.uint32)
        np.random.set_state(  # noqa: NPY002 (the generator that trainings share)
            ("MT19937", keys, numbers["position"], numbers["has_gauss"], numbers["cached_gaussian"])
        )
    torch.set_rng_state(state["torch"])
    states, device = state["cuda"], state["device"]
    if states is None or device is None or not torch.cuda.is_available():
        return
    if len(states) == torch.cuda.device_count() and device == torch.cuda.current_device():
        torch.cuda.set_rng_state_all(states)
    else:
        torch.cuda.set_rng_state(states[device])


def seed_all(seed: int) -> None:
    """Begin all generators anew, each from `seed`."""
    import torch

    random.seed(seed)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)  # CUDA's as well


def _numpy_state() -> NumpyState | None:
    numpy = sys.modules.get("numpy")  # who has not loaded it has not drawn from it
    if numpy is None:
        return None
    import torch

    _, keys, position, has_gauss, cached = numpy.random.get_state(legacy=True)
    return {
        "keys": torch.from_numpy(keys.view("int32")),  # the same bits: older torch has no uint32
        "position": int(position),
        "has_gauss": int(has_gauss),
        "cached_gaussian": float(cached),
    }
