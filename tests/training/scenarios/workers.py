"""Loads data in other processes whose dataset calls a module, as transforms do."""

import sys

import torch
from torch import nn

TRANSFORM = nn.Linear(4, 4)


class Transformed(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return TRANSFORM(torch.ones(4)).detach()


def main():
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for method, workers in (("fork", 2), ("spawn", 1)):
        loader = torch.utils.data.DataLoader(
            Transformed(), batch_size=2, num_workers=workers, multiprocessing_context=method
        )
        for batch in loader:
            net(batch).sum().backward()
            optimizer.step()
    sys.exit(3)


if __name__ == "__main__":
    main()
