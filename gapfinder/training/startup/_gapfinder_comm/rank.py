"""One rank: meets the others, does what the first one orders, and tells how it goes."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from .conducting import conduct
from .meeting import meet, own_facts
from .telling import Teller
from .transfers import Transfers

if TYPE_CHECKING:
    from .meeting import Board

_WAITS = 10  # times the patience of gapfinder, which ends a hanging run and says who hangs, before ranks give up


class Wanted(NamedTuple):
    """What gapfinder asks for; see comm_probe.py."""

    port: int
    sizes: list[int]
    seconds: float
    patience: float


def run(place: Any, *, wanted: Wanted) -> int:
    """Return the exit code of the rank at `place`."""
    teller, host = Teller(place.rank), os.uname().nodename
    teller.start_beating()
    # torchrun on several nodes is started on each of them, and each passes on only its own ranks' words
    groups = os.environ.get("GROUP_WORLD_SIZE", "1")
    teller.say("hello", world_size=place.world_size, host=host, pid=os.getpid(), is_spread=groups != "1")
    try:
        _measure(place, host=host, wanted=wanted, teller=teller)
    except Exception as error:  # noqa: BLE001 - whatever it is, gapfinder has to say whose it was
        teller.failed(error)
        return 1
    teller.say("done")
    return 0


def _measure(place: Any, *, host: str, wanted: Wanted, teller: Teller) -> None:
    rank, size, patience = place.rank, place.world_size, _WAITS * wanted.patience
    if size < 2:  # noqa: PLR2004
        return
    teller.stage("importing torch")
    import torch
    import torch.distributed as dist

    teller.stage("looking for GPUs")
    facts = own_facts(torch, host=host, local_rank=place.local_rank)
    teller.stage("meeting the other ranks")
    board = meet(dist, rank=rank, world_size=size, port=wanted.port, patience=patience)
    board.put(f"facts/{rank}", facts)
    everyone = [board.get(f"facts/{other}") for other in range(size)]
    backend = "gloo" if any(one["device"] is None for one in everyone) else "nccl"
    teller.stage(f"connecting with {backend}")
    device = torch.device("cpu" if backend == "gloo" else f"cuda:{facts['device']}")
    if backend == "nccl":
        torch.cuda.set_device(device)
    store = dist.PrefixStore(backend, board.store)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timedelta(seconds=patience))
    transfers = Transfers(torch, rank=rank, world_size=size, device=device)
    if rank:
        _follow(board, rank=rank, transfers=transfers, teller=teller)
    else:
        started = time.monotonic()
        hosts = [one["host"] for one in everyone]
        orders = conduct(hosts, backend=backend, sizes=wanted.sizes, seconds=wanted.seconds)
        report = _lead(orders, board=board, ranks=size, transfers=transfers, teller=teller)
        report.update(backend=backend, ranks=everyone, seconds=time.monotonic() - started)
        teller.result(report)
    dist.destroy_process_group()


def _lead(orders: Any, *, board: Board, ranks: int, transfers: Transfers, teller: Teller) -> dict[str, Any]:
    """Give the orders, take part, and return the report that the last answers lead to."""
    answers, number = None, 0
    while True:
        try:
            order = orders.send(answers)
        except StopIteration as end:
            board.put(f"order/{number}", None)
            report: dict[str, Any] = end.value
            return report
        board.put(f"order/{number}", order)
        _obey(order, board=board, number=number, rank=0, transfers=transfers, teller=teller)
        taking_part = [rank for pair in order["pairs"] for rank in pair] if "pairs" in order else list(range(ranks))
        teller.stage(_name(order))
        answers = board.gather(f"answer/{number}", taking_part)
        number += 1


def _follow(board: Board, *, rank: int, transfers: Transfers, teller: Teller) -> None:
    number = 0
    while True:
        order = board.get(f"order/{number}")
        if order is None:
            return
        _obey(order, board=board, number=number, rank=rank, transfers=transfers, teller=teller)
        number += 1


def _obey(  # noqa: PLR0913 (what a rank has)
    order: dict[str, Any], *, board: Board, number: int, rank: int, transfers: Transfers, teller: Teller
) -> None:
    """Do what an order says, and put the answer where the first rank looks for it."""
    if "pairs" in order:
        own = next((pair for pair in order["pairs"] if rank in pair), None)
        if own is None:
            return
        teller.stage(f"pair of ranks {own[0]} and {own[1]}")
        answer: object = transfers.pair(own, size=order["bytes"], repeats=order["repeats"])
    else:
        teller.stage(_name(order))
        answer = transfers.collective(
            order["operation"], size=order["bytes"], repeats=order["repeats"], at_once=order["at_once"]
        )
    board.put(f"answer/{number}/{rank}", answer)


def _name(order: dict[str, Any]) -> str:
    if "pairs" not in order:
        return f"{order['operation']} of {order['bytes']} bytes"
    named = " and ".join(f"{one}-{other}" for one, other in order["pairs"])
    return f"pair of ranks {named}" if len(order["pairs"]) > 1 else "pair of ranks {} and {}".format(*order["pairs"][0])
