"""What the two examples of sharding share: a network sharded by FSDP2, and its states made whole for a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from template import Training, network
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
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


def read_whole(model: nn.Module, optimizer: optim.Optimizer) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the whole states on rank 0, on the CPU; every rank must call it."""
    return get_state_dict(model, optimizer, options=_WHOLE)


def write_whole(
    model: nn.Module, optimizer: optim.Optimizer, parameters: dict[str, Any], state: dict[str, Any]
) -> None:
    """Give each rank its part of whole states."""
    set_state_dict(model, optimizer, model_state_dict=parameters, optim_state_dict=state, options=_WHOLE)
