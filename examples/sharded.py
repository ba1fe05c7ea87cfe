"""What the two examples of sharding share: a network sharded by FSDP2, and its states made whole for a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from template import Training, network, resume
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

if TYPE_CHECKING:
    from torch import nn, optim

_WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True)


def sharded_network(training: Training, *, reshard_after_forward: bool) -> nn.Module:
    """Return the network with each linear layer's parameters, gradients and optimizer state split over all ranks."""
    model = network(training)
    mesh = init_device_mesh(training.device.type, (training.world_size,))
    for layer in model:
        if any(True for _ in layer.parameters()):
            fully_shard(layer, mesh=mesh, reshard_after_forward=reshard_after_forward)
    fully_shard(model, mesh=mesh, reshard_after_forward=reshard_after_forward)
    return model


class WholeModel:
    """A sharded model's parameters, made whole for a checkpoint: on rank 0, on the CPU. Every rank must ask."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state on rank 0, and nothing on the others."""
        return get_model_state_dict(self.model, options=_WHOLE)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Give each rank its part."""
        set_model_state_dict(self.model, state, options=_WHOLE)


class WholeOptimizer:
    """The state of its optimizer, in the same way."""

    def __init__(self, model: nn.Module, optimizer: optim.Optimizer) -> None:
        self.model, self.optimizer = model, optimizer

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state on rank 0, and nothing on the others."""
        return get_optimizer_state_dict(self.model, self.optimizer, options=_WHOLE)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Give each rank its part."""
        set_optimizer_state_dict(self.model, self.optimizer, state, options=_WHOLE)


def resume_whole(training: Training, model: nn.Module, optimizer: optim.Optimizer) -> None:
    """Go on from a checkpoint of the whole states."""
    resume(training, WholeModel(model), WholeOptimizer(model, optimizer), is_gathered=True)
