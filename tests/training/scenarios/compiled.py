"""Exports a module that steps an optimizer, which raises where the hook breaks the graph, and prints how much it does.

Then trains compiled modules and prints how many graphs were compiled; fullgraph raises where the hook breaks one.

Then compiles an optimizer's step, in which torch itself breaks the graph, and prints why it is broken.
"""

import sys

import torch
from torch import nn
from torch._dynamo.functional_export import dynamo_graph_capture_for_export
from torch._dynamo.utils import counters


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, values):
        return self.layers(values).sum()


class Descent(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            for one in group["params"]:
                one.data.mul_(group["shrink"])


class Step(nn.Module):
    def forward(self, values):
        descent.step()
        return values + values


descent = Descent([nn.Parameter(torch.ones(1))], {"shrink": 0.5})
exported = dynamo_graph_capture_for_export(Step())(torch.ones(1))
sys.stdout.write(f"{sum(node.op.startswith('call') for node in exported.graph.nodes)}\n")
descent = None  # gone, so that the one below is alone
counters.clear()

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
