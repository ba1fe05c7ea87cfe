"""Trains with optimizers whose classes are as older torch leaves them once it compiles: without its own hooks."""

import torch


def unhook(kind):
    """Do to a class what it does when a first module is compiled."""
    if getattr(kind.step, "hooked", False):
        kind.step = kind.step.__wrapped__
    kind.step.hooked = True


net = torch.nn.Linear(4, 1)
for kind, moment in ((torch.optim.SGD, "before"), (torch.optim.Adam, "after")):
    if moment == "before":
        unhook(kind)
    optimizer = kind(net.parameters(), lr=0.1)
    if moment == "after":
        unhook(kind)
    for _ in range(3):
        net(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    del optimizer
