"""Trains for long: checked before it begins, timed, guarded against crashes, and gone on with however often it starts.

Kill it at any moment and start it again with the same command: with `--checkpoint FOLDER` its losses are those of a
training that nobody stopped. SIGTERM ends it when its step is done, with a hot checkpoint to go on from; an exception
leaves a flight log in FOLDER/crashes. gapfinder should find: what it finds in train_ddp.py, in steps that this script
marks.
"""

from pathlib import Path

from template import network, parser, resume, start
from torch import optim
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from gapfinder.training import LinearScaling, StepTimer, crash_guard, global_batch, self_check, step_range


def main() -> None:
    """Train."""
    training = start(parser(__doc__).parse_args())
    self_check()
    batch = global_batch(per_card=training.options.batch, cards=training.world_size)
    scaling = LinearScaling(base_lr=1e-3, base_batch=training.options.batch, batch=batch, warmup_steps=20)
    model = DistributedDataParallel(network(training))
    optimizer = optim.AdamW(model.parameters(), lr=scaling.peak_lr)
    scheduler = optim.lr_scheduler.LambdaLR(optimizer, scaling.factor)
    resume(training, model, optimizer, others={"scheduler": scheduler})
    folder = training.options.checkpoint
    steps = None if folder is None else folder / "steps.jsonl"
    with (
        StepTimer(every=training.options.save_every, path=steps, first_step=training.step) as timer,
        crash_guard((folder or Path()) / "crashes", checkpoint=training.checkpoint) as guard,
    ):
        for inputs, targets in training.batches():
            with step_range():
                loss = cross_entropy(model(inputs), targets)
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()
            training.step_done(loss, count=guard.step_done)
            timer.step_done()


if __name__ == "__main__":
    main()
