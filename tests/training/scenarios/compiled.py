"""Trains compiled modules and prints how many graphs were compiled; fullgraph raises where the hook breaks one.

Then compiles an optimizer's step, in which torch itself breaks the graph, and prints why it is broken.
"""

import sys

import torch
from torch import nn
from torch._dynamo.utils import counters


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, values):
        return self.layers(values).sum()


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
compiled = torch.compile(net, backend="eager", fullgraph=True)
for _ in range(3):
    compiled(torch.ones(2, 4)).backward()
    optimizer.step()


@torch.compile(backend="eager", fullgraph=True)
def twice(values):
    return net(values) * 2


for _ in range(2):
    twice(torch.ones(2, 4)).backward()
    optimizer.step()
sys.stdout.write(f"{counters['stats']['unique_graphs']} {sum(counters['graph_break'].values())}")


@torch.compile(backend="eager")
def update():
    optimizer.step()


update()
reasons = {reason.partition("\n")[0] for reason in counters["graph_break"]}
sys.stdout.write(f"\n{'; '.join(sorted(reasons))}")
