"""Trains with DistributedDataParallel while one rank does `--slow-ms` of other work in every step, before its forward.

gapfinder should find: rank `--slow-rank` is slower than the others by about that much per step in its own time (the
step without backward), and on GPUs the other ranks wait for it in their all-reduces.
"""

import time

from template import network, parser, resume, start
from torch import optim
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    """Train."""
    options = parser(__doc__)
    options.add_argument(
        "--slow-rank", type=int, default=1, help="which rank is slow; none where there is no such rank"
    )
    options.add_argument("--slow-ms", type=float, default=20.0, help="by how much it is slower in each step")
    training = start(options.parse_args())
    model = DistributedDataParallel(network(training))
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    resume(training, model, optimizer)
    for inputs, targets in training.batches():
        if training.rank == training.options.slow_rank:
            time.sleep(training.options.slow_ms / 1000)
        loss = cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        training.step_done(loss)


if __name__ == "__main__":
    main()
