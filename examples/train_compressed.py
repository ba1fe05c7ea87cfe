"""Trains with DistributedDataParallel and a communication hook that sends gradients in bfloat16, with error feedback.

What rounding takes from a gradient is added to the next step's, so that it comes late and is not lost; these residuals
are part of the checkpoint. gapfinder should find: all-reduces of bf16 with half the bytes of train_ddp.py, and about
half of their time where it is the link's bandwidth that they take it for.
"""

import torch
import torch.distributed as dist
from template import network, parser, resume, start
from torch import nn, optim
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from train_ddp import bucket_mb


class Feedback:
    """What was rounded off this rank's gradients, by the parameter's name, for DDP regroups its buckets."""

    def __init__(self, model: nn.Module, residuals: dict[str, torch.Tensor]) -> None:
        self.names = {parameter: name for name, parameter in model.named_parameters()}
        self.residuals = residuals


def send_rounded(feedback: Feedback, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Start the all-reduce of a bucket in bfloat16; the future brings the averages in the gradients' own type."""
    gradients = bucket.buffer()
    pairs = [(feedback.names[p], g) for p, g in zip(bucket.parameters(), bucket.gradients(), strict=True)]
    for name, gradient in pairs:
        if name in feedback.residuals:
            gradient.add_(feedback.residuals[name])
    world_size = dist.get_world_size()
    sent = (gradients / world_size).bfloat16()
    gradients -= sent * world_size
    for name, left in pairs:  # `left` is a part of `gradients`, in place
        feedback.residuals[name] = left.clone()
    future = dist.all_reduce(sent, async_op=True).get_future()
    return future.then(lambda done: gradients.copy_(done.value()[0]))


def main() -> None:
    """Train."""
    training = start(parser(__doc__).parse_args())
    plain = network(training)
    model = DistributedDataParallel(plain, bucket_cap_mb=bucket_mb(plain))
    model.register_comm_hook(Feedback(plain, training.extra), send_rounded)
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
