"""A launcher as torchrun is: each rank in a network namespace of its own, which has a name and a network card.

    python namespaces.py --ranks 4 --slow 2=20mbit program...
    python namespaces.py --ranks 4 --slow-link 1-3=20mbit program...

The cards (veth) meet in a bridge; a slow one has a token bucket in front. A slow link is a way around the bridge for
two of them. It needs root, `ip`, `tc` and `unshare`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

NAME = f"gf{os.getpid() % 10_000}"  # an interface's name has 15 characters at most


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def can_shape() -> bool:
    """Whether this machine lets a namespace with a shaped card be made."""
    if os.geteuid() != 0:
        return False
    try:
        build(1, {0: "20mbit"}, {})
    except (OSError, subprocess.CalledProcessError):
        return False
    finally:
        clear(1)
    return True


def build(ranks: int, slow: dict[int, str], slow_links: dict[tuple[int, int], str]) -> None:
    ip("link", "add", f"{NAME}br", "type", "bridge")
    ip("link", "set", f"{NAME}br", "up")
    for rank in range(ranks):
        space, card, plug = f"{NAME}n{rank}", f"{NAME}c{rank}", f"{NAME}p{rank}"
        ip("netns", "add", space)
        ip("link", "add", card, "type", "veth", "peer", "name", plug)
        ip("link", "set", plug, "master", f"{NAME}br", "up")
        ip("link", "set", card, "netns", space)
        ip("-n", space, "addr", "add", f"{address(rank)}/24", "dev", card)
        ip("-n", space, "link", "set", card, "up")
        ip("-n", space, "link", "set", "lo", "up")
        if rank in slow:
            shape(space, card, slow[rank])
    for (one, other), rate in slow_links.items():
        ends = ((one, other, f"{NAME}x"), (other, one, f"{NAME}y"))
        ip("link", "add", f"{NAME}x", "type", "veth", "peer", "name", f"{NAME}y")
        for here, there, card in ends:
            space = f"{NAME}n{here}"
            ip("link", "set", card, "netns", space)
            ip("-n", space, "link", "set", card, "up")
            ip("-n", space, "route", "add", f"{address(there)}/32", "dev", card, "src", address(here))
            shape(space, card, rate)


def address(rank: int) -> str:
    return f"10.77.0.{rank + 1}"


def shape(space: str, card: str, rate: str) -> None:
    bucket = ["tbf", "rate", rate, "burst", "64kbit", "latency", "100ms"]
    inside = ["ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", card, "root"]
    subprocess.run([*inside, *bucket], check=True, capture_output=True)


def clear(ranks: int) -> None:
    for rank in range(ranks):
        subprocess.run(["ip", "netns", "del", f"{NAME}n{rank}"], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", f"{NAME}p{rank}"], check=False, capture_output=True)
    subprocess.run(["ip", "link", "del", f"{NAME}br"], check=False, capture_output=True)


def start(rank: int, ranks: int, program: list[str]) -> subprocess.Popen:
    environment = os.environ | {
        "RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": address(0),
        "MASTER_PORT": "29500",
        "GLOO_SOCKET_IFNAME": f"{NAME}c{rank}",
    }
    named = ["unshare", "--uts", "sh", "-c", f'hostname node{rank}; exec "$@"', "sh"]
    return subprocess.Popen(["ip", "netns", "exec", f"{NAME}n{rank}", *named, *program], env=environment)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--slow", action="append", default=[], help="RANK=RATE")
    parser.add_argument("--slow-link", action="append", default=[], help="RANK-RANK=RATE")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    slow = {int(rank): rate for rank, rate in (word.split("=") for word in given.slow)}
    links = {tuple(map(int, pair.split("-"))): rate for pair, rate in (word.split("=") for word in given.slow_link)}
    try:
        build(given.ranks, slow, links)
        running = [start(rank, given.ranks, given.program) for rank in range(given.ranks)]
        return max(abs(process.wait()) for process in running)
    finally:
        clear(given.ranks)


if __name__ == "__main__":
    sys.exit(main())
