"""Training loops of many kinds in one process, each announced as a section in the log of NVTX calls."""

import contextlib
import gc
import json
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn


def section(name):
    gc.collect()  # optimizers of the section before are gone, as they are in a training of its own
    with Path(os.environ["NVTX_LOG"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"kind": "section", "value": name}) + "\n")


def model():
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))


def sgd(*modules):
    return torch.optim.SGD([weight for module in modules for weight in module.parameters()], lr=0.01)


def run_pass(module):
    module(torch.ones(2, 4)).square().mean().backward()


def plain():
    section("plain")
    data = torch.utils.data.TensorDataset(torch.ones(4, 4))
    net = model()
    optimizer = sgd(net)
    scheduler = torch.optim.lr_scheduler.ConstantLR(optimizer)
    with torch.no_grad():
        for _ in torch.utils.data.DataLoader(data):
            net(torch.ones(1, 4))
    torch.save({}, os.devnull)
    for (batch,) in torch.utils.data.DataLoader(data, batch_size=2):
        loss = nn.MSELoss()(net(batch), torch.ones(2, 1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
    torch.save(net.state_dict(), os.devnull)


def accumulation():
    section("accumulation")
    os.environ.update(MASTER_ADDR="127.0.0.1")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    net = nn.parallel.DistributedDataParallel(model())
    optimizer = sgd(net)
    for _ in range(2):
        for micro_step in range(3):
            with net.no_sync() if micro_step < 2 else contextlib.nullcontext():
                run_pass(net)
        optimizer.step()
    del (
        net,
        optimizer,
    )  # a group that dies with its last module joins gloo's thread under the GIL, which may wait for it
    dist.destroy_process_group()


def two_at_once():
    section("two at once")
    first, second = nn.Linear(4, 4), nn.Linear(4, 1)
    net = nn.Sequential(first, second)
    optimizers = [sgd(first), torch.optim.AdamW(second.parameters())]
    for _ in range(3):
        run_pass(net)
        for optimizer in optimizers:
            optimizer.step()


def adversaries():
    section("adversaries")
    generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    of_critic, of_generator = sgd(critic), sgd(generator)
    for _ in range(3):
        run_pass(nn.Sequential(generator, critic))
        of_critic.step()
        run_pass(nn.Sequential(generator, critic))
        of_generator.step()


def idle_optimizer():
    section("idle optimizer")
    net = model()
    unused, used = sgd(nn.Linear(1, 1)), sgd(net)
    for _ in range(4):
        run_pass(net)
        used.step()
    del unused


def closure():
    section("closure")
    net = model()
    optimizer = torch.optim.LBFGS(net.parameters(), max_iter=2, tolerance_grad=0, tolerance_change=0)

    def evaluate():
        optimizer.zero_grad()
        loss = net(torch.ones(2, 4)).square().mean()
        loss.backward()
        return loss

    for _ in range(2):
        optimizer.step(evaluate)


def overflow():
    section("overflow")
    net = model()
    optimizer = sgd(net)
    scaler = torch.amp.GradScaler("cpu")
    before = net[2].bias.clone()
    for factor in (float("inf"), 1.0):
        scaler.scale(net(torch.ones(2, 4)).mean() * factor).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        assert torch.equal(net[2].bias, before) is (factor != 1.0)


def raising():
    section("raising")
    net = model()
    optimizer = torch.optim.LBFGS(net.parameters())
    with contextlib.suppress(ZeroDivisionError):
        optimizer.step(lambda: 1 // 0)
    with contextlib.suppress(RuntimeError):
        net(torch.ones(2, 5))
    plain_optimizer = sgd(net)
    for _ in range(2):
        run_pass(net)
        plain_optimizer.step()


def second_derivative():
    section("second derivative")
    net = model()
    optimizer = sgd(net)
    for _ in range(2):
        inputs = torch.ones(2, 4, requires_grad=True)
        outputs = net(inputs).sum()
        (slope,) = torch.autograd.grad(outputs, inputs, create_graph=True)
        (outputs + slope.square().sum()).backward()
        optimizer.step()


def late_optimizer():
    section("late optimizer")
    early, late = model(), nn.Linear(4, 4)
    net = nn.Sequential(late, early)
    first, second = sgd(early), None
    for number in range(3):
        run_pass(net)
        first.step()
        if number == 0:
            second = sgd(late)
        second.step()  # the first time, the step is over


def built_inside():
    section("built inside")
    net, built = model(), []
    optimizer = sgd(net)
    for number in range(2):
        run_pass(net)
        optimizer.step((lambda: built.append(sgd(net))) if number == 0 else None)
        for one in built * number:
            one.step()


def scripted():
    section("scripted")
    gc.collect()

    @torch.jit.script
    def slope(values):
        total = (values * values).sum()
        found = torch.autograd.grad([total], [values])[0]
        assert found is not None
        return found

    assert slope(torch.ones(2, requires_grad=True)).tolist() == [2.0, 2.0]


def forked():
    section("forked")
    child = os.fork()
    if child == 0:
        sgd(model()).step()  # no pass: autograd's threads do not survive a fork
        os._exit(0)
    os.waitpid(child, 0)


for scenario in (
    plain,
    accumulation,
    two_at_once,
    adversaries,
    idle_optimizer,
    closure,
    overflow,
    raising,
    second_derivative,
    late_optimizer,
    built_inside,
    scripted,
    forked,
):
    scenario()
section("end")
