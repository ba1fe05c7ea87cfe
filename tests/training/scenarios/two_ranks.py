"""Trains on the ranks that a launcher started, with two micro-steps, ranges of its own and a checkpoint of all ranks."""

import contextlib
import sys
import time

import nvtx
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn

dist.init_process_group("gloo")
net = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(7):
    with nvtx.annotate("mine", domain="own"):
        for micro_step in range(2):
            with net.no_sync() if micro_step == 0 else contextlib.nullcontext():
                net(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        if step == 3:
            dcp.save({"net": net.state_dict()}, checkpoint_id=sys.argv[1])
        time.sleep(0.02)
del net, optimizer  # a group that dies with its last module joins gloo's thread under the GIL, which may wait for it
dist.destroy_process_group()
