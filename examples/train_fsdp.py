"""Trains with FSDP2: parameters, gradients and optimizer states are sharded (as ZeRO-3).

gapfinder should find: per layer and step two all-gathers, one in forward and one in backward, and one reduce-scatter;
those of a layer run while its neighbour computes, so that most is hidden where the network is wide enough.
"""

from sharded import resume_whole, sharded_network
from template import parser, start
from torch import optim
from torch.nn.functional import cross_entropy


def main() -> None:
    """Train."""
    training = start(parser(__doc__).parse_args())
    model = sharded_network(training, reshard_after_forward=True)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3)
    resume_whole(training, model, optimizer)
    for inputs, targets in training.batches():
        loss = cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        training.step_done(loss)


if __name__ == "__main__":
    main()
