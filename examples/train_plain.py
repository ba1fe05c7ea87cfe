"""Trains on one device, without any communication.

gapfinder should find: steps with forward, backward and optimizer; no communication ("overlap: not measured"). With the
default sizes a GPU is mostly idle, since Python launches kernels slower than the GPU runs them; at `--width 4096
--depth 16` it is busy.
"""

from template import network, parser, resume, start
from torch import optim
from torch.nn.functional import cross_entropy


def main() -> None:
    """Train."""
    training = start(parser(__doc__).parse_args(), distributed=False)
    model = network(training)
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
