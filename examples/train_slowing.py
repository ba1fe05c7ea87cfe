"""Trains with DistributedDataParallel; from some step on batches take longer to load, later one rank is slower as well.

`gapfinder watch` should take a capture for each: one after step `--slow-data-at` that finds steps waiting for data, and
one after step `--slow-rank-at` that names rank `--slow-rank`. docs/long-runs.md walks through it.
"""

import time

import torch
from template import Training, network, parser, resume, samples, start
from torch import optim
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset


class Slowing(Dataset[tuple[torch.Tensor, ...]]):
    """Another dataset's samples, each after a pause from some step on, as if their disk were shared by then."""

    def __init__(self, fast: Dataset[tuple[torch.Tensor, ...]], *, training: Training) -> None:
        self.fast, self.training = fast, training

    def __len__(self) -> int:
        return len(self.fast)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, ...]:
        options = self.training.options
        if self.training.step >= options.slow_data_at:
            time.sleep(options.slow_data_ms / options.batch / 1000)
        return self.fast[index]


def main() -> None:
    """Train."""
    options = parser(__doc__)
    options.add_argument("--slow-data-at", type=int, default=300, help="step from which batches take longer to load")
    options.add_argument("--slow-data-ms", type=float, default=20.0, help="by how much, per batch")
    options.add_argument("--slow-rank-at", type=int, default=900, help="step from which one rank is slower")
    options.add_argument("--slow-rank", type=int, default=1, help="which one")
    options.add_argument("--slow-rank-ms", type=float, default=30.0, help="by how much, before each forward pass")
    options.add_argument("--device-ms", type=float, default=20.0, help="pause in each forward, as if a device worked")
    options.set_defaults(steps=1200, width=64, depth=3, log_every=300)
    options.set_defaults(workers=0)  # a process that loads would not know the step
    training = start(options.parse_args())
    model = DistributedDataParallel(network(training))
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    resume(training, model, optimizer)
    for inputs, targets in training.batches(Slowing(samples(training.options), training=training)):
        if training.rank == training.options.slow_rank and training.step >= training.options.slow_rank_at:
            time.sleep(training.options.slow_rank_ms / 1000)
        time.sleep(training.options.device_ms / 1000)
        loss = cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        training.step_done(loss)


if __name__ == "__main__":
    main()
