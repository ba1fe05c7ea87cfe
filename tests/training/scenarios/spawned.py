"""Trains in two processes that torch.multiprocessing starts, so that no launcher tells ranks."""

import sys

import torch
import torch.distributed as dist
from torch import nn


def train(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    net = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    del (
        net,
        optimizer,
    )  # a group that dies with its last module joins gloo's thread under the GIL, which may wait for it
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.spawn(train, (sys.argv[1],), nprocs=2)
