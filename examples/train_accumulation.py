"""Trains with DistributedDataParallel and gradients of several micro-steps, sent only in the last (`no_sync`).

gapfinder should find: `--accumulate` micro-steps in a step, and all-reduces during the last one's backward only.
"""

from contextlib import nullcontext

from template import network, parser, resume, start
from torch import optim
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel


def main() -> None:
    """Train."""
    options = parser(__doc__)
    options.add_argument("--accumulate", type=int, default=4, help="micro-steps in a step")
    training = start(options.parse_args())
    accumulate = training.options.accumulate
    model = DistributedDataParallel(network(training))
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    resume(training, model, optimizer)
    for micro_step, (inputs, targets) in enumerate(training.batches(), start=1):
        last = micro_step % accumulate == 0
        with nullcontext() if last else model.no_sync():  # forward too: it decides what backward will send
            loss = cross_entropy(model(inputs), targets) / accumulate
            loss.backward()
        if last:
            optimizer.step()
            optimizer.zero_grad()
            training.step_done(loss)


if __name__ == "__main__":
    main()
