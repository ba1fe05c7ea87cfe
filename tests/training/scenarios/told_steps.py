"""A training whose script tells its steps: with an optimizer step each, with none, two at once, nested, as decorator."""

import json
import os
import sys
from pathlib import Path

import torch

from gapfinder.training import step_range


def section(name):
    with Path(os.environ["NVTX_LOG"]).open("a") as file:
        file.write(json.dumps({"kind": "section", "value": name, "domain": None}) + "\n")


model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train():
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()


section("one each")
for _ in range(2):
    with step_range():
        train()
section("two at once")
with step_range():
    train()
    train()
section("none")
with step_range():
    model(torch.ones(1, 2))
section("nested")
with step_range(), step_range():
    train()
section("decorator")


@step_range()
def step():
    train()


step()
step()
section("raising")
try:
    with step_range():
        model(None)
except TypeError:
    pass
section("numbered")
with step_range(8000):
    train()
section("end")
sys.stdout.write("done\n")
