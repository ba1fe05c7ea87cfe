"""Trains with DistributedDataParallel on samples that are slow to make, in a loader without worker processes.

gapfinder should find: data loading as the largest phase of every step (`--item-ms` for each sample of the batch), and
on GPUs idle holes that the host explains with it. `--workers 4` is the remedy.
"""

import time

import torch
from template import network, parser, resume, samples, start
from torch import optim
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset


class SlowToMake(Dataset[tuple[torch.Tensor, ...]]):
    """Another dataset's samples, each after a pause, as if it were read from a far disk or decoded."""

    def __init__(self, fast: Dataset[tuple[torch.Tensor, ...]], *, item_ms: float) -> None:
        self.fast, self.item_ms = fast, item_ms

    def __len__(self) -> int:
        return len(self.fast)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, ...]:
        time.sleep(self.item_ms / 1000)
        return self.fast[index]


def main() -> None:
    """Train."""
    options = parser(__doc__)
    options.add_argument("--item-ms", type=float, default=1.0, help="time that each sample takes")
    options.set_defaults(workers=0)
    training = start(options.parse_args())
    model = DistributedDataParallel(network(training))
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    resume(training, model, optimizer)
    for inputs, targets in training.batches(SlowToMake(samples(training.options), item_ms=training.options.item_ms)):
        loss = cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        training.step_done(loss)


if __name__ == "__main__":
    main()
