"""Trains with DistributedDataParallel, which sends each bucket of gradients while backward makes the next.

gapfinder should find: three or four all-reduces a step, all but the last hidden behind backward, and no rule that fires
on exposed communication where the network is wide enough (`--width 4096 --depth 16`).
"""

from template import network, parser, resume, start
from torch import nn, optim
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

BUCKETS = 4


def bucket_mb(model: nn.Module) -> float:
    """Return a quarter of the gradients, so that a step has several buckets: one would have nothing to hide behind."""
    return sum(parameter.numel() * parameter.element_size() for parameter in model.parameters()) / BUCKETS / 2**20


def main() -> None:
    """Train."""
    training = start(parser(__doc__).parse_args())
    plain = network(training)
    model = DistributedDataParallel(plain, bucket_cap_mb=bucket_mb(plain))
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    resume(training, model, optimizer)
    for inputs, targets in training.batches():
        loss = cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        training.step_done(loss)


if __name__ == "__main__":
    main()
