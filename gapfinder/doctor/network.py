"""Checks of network cards: their state and speed against what they could do, and how often they had to repeat."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.doctor.check import (
    Area,
    NotCheckedError,
    Question,
    Verdict,
    failure,
    not_checked,
    summed_up,
    warning,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.doctor.machine import Machine

_NET, _INFINIBAND = "/sys/class/net", "/sys/class/infiniband"
_ETHTOOL_SECONDS = 10
_SLOW_MBPS = 1_000
_FAR_BELOW = 10
_MODES = re.compile(r"Supported link modes:((?:\s+[0-9]+base\S+)+)")
_MODE = re.compile(r"([0-9]+)base")
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?) Gb/sec \(([0-9]+)X")
_ERRORS = ("link_downed", "symbol_error", "port_rcv_errors", "local_link_integrity_errors")
_ACTIVE = "ACTIVE"
_REPLACE = "Replace cable or transceiver, try another port of the switch, and accept the machine with nccl-tests."


@dataclass(frozen=True, kw_only=True, slots=True)
class _Card:
    """A network interface of a real card that is up.

    Attributes:
        model: its PCI ids; empty where not told.
        mbps: None where it tells no speed, as virtual cards do.
    """

    name: str
    model: str
    mbps: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Port:
    """A port of an InfiniBand or RoCE card.

    Attributes:
        folder: what the kernel tells of it.
    """

    name: str
    folder: str
    board: str
    layer: str
    state: str
    rate: str
    gbps: float | None
    lanes: int | None


def _cards(machine: Machine) -> list[_Card]:
    found = [_card(machine, name) for name in machine.names(_NET) if _is_real_and_up(machine, name)]
    if not found:
        raise NotCheckedError("no network card of its own is up (a container may hide it)")
    return found


def _is_real_and_up(machine: Machine, name: str) -> bool:
    is_real = "device" in machine.names(f"{_NET}/{name}")
    return is_real and machine.read(f"{_NET}/{name}/operstate") == "up"


def _card(machine: Machine, name: str) -> _Card:
    speed = machine.read(f"{_NET}/{name}/speed") or ""
    ids = (machine.read(f"{_NET}/{name}/device/{part}") or "" for part in ("vendor", "device"))
    return _Card(
        name=name,
        model=":".join(filter(None, ids)),
        mbps=int(speed) if speed.isdigit() and int(speed) else None,
    )


def _speed(machine: Machine) -> Verdict:
    cards = _cards(machine)
    known = {card: card.mbps for card in cards if card.mbps is not None}
    if not known:
        return not_checked(f"{', '.join(card.name for card in cards)}: no speed told, as of a virtual card")
    return summed_up(_slow(known), otherwise=", ".join(f"{card.name} {mbps:,} Mb/s" for card, mbps in known.items()))


def _slow(known: dict[_Card, int]) -> Iterator[Verdict]:
    best: dict[str, int] = defaultdict(int)
    for card, mbps in known.items():
        best[card.model] = max(best[card.model], mbps)
    for card, mbps in known.items():
        if mbps < _SLOW_MBPS:
            yield failure(
                f"{card.name} runs at {mbps} Mb/s",
                advice=f"Every ring through it has its speed, and jobs time out. {_REPLACE}",
            )
        elif card.model and mbps < best[card.model]:
            yield warning(
                f"{card.name} runs at {mbps:,} Mb/s, another card of its model at {best[card.model]:,} Mb/s",
                advice=f"If a training uses it: {_REPLACE[0].lower()}{_REPLACE[1:]}",
            )


def _maximum(machine: Machine) -> Verdict:
    verdicts: list[Verdict] = []
    told: list[str] = []
    for card in _cards(machine):
        ran = machine.run(("ethtool", card.name), _ETHTOOL_SECONDS)
        modes = _MODES.search(ran.output)
        if card.mbps is None or modes is None:
            continue
        most = max(int(mode) for mode in _MODE.findall(modes[1]))
        told.append(f"{card.name} {card.mbps:,} of {most:,} Mb/s")
        if card.mbps * _FAR_BELOW <= most:
            verdicts.append(failure(told[-1], advice=f"The link has negotiated down. {_REPLACE}"))
        elif card.mbps < most:
            verdicts.append(
                warning(told[-1], advice=f"Where the switch offers no more, this is meant. Otherwise: {_REPLACE}")
            )
    if not told:
        return not_checked("ethtool tells no speeds that these cards support")
    return summed_up(verdicts, otherwise=", ".join(told))


def _card_errors(machine: Machine) -> Verdict:
    texts = {card.name: machine.read(f"{_NET}/{card.name}/statistics/rx_crc_errors") or "" for card in _cards(machine)}
    counts = {name: int(text) for name, text in texts.items() if text.isdigit()}
    if not counts:
        return not_checked("no network card counts broken packets")
    verdicts = [
        warning(
            f"{name}: {count:,} packets arrived broken",
            advice=f"What is lost is sent again, and all ranks wait. {_REPLACE}",
        )
        for name, count in counts.items()
        if count
    ]
    return summed_up(verdicts, otherwise=f"none on {', '.join(counts)}")


def _ports(machine: Machine) -> list[_Port]:
    found = [
        _port(machine, card, port)
        for card in machine.names(_INFINIBAND)
        for port in machine.names(f"{_INFINIBAND}/{card}/ports")
    ]
    if not found:
        raise NotCheckedError("no InfiniBand or RoCE card")
    return found


def _port(machine: Machine, card: str, port: str) -> _Port:
    folder = f"{_INFINIBAND}/{card}/ports/{port}"
    rate = machine.read(f"{folder}/rate") or "no rate told"
    parsed = _RATE.match(rate)
    return _Port(
        name=f"{card}:{port}",
        folder=folder,
        board=machine.read(f"{_INFINIBAND}/{card}/board_id") or card,
        layer=machine.read(f"{folder}/link_layer") or "",
        state=(machine.read(f"{folder}/state") or "unknown").partition(": ")[2] or "unknown",
        rate=rate,
        gbps=None if parsed is None else float(parsed[1]),
        lanes=None if parsed is None else int(parsed[2]),
    )


def _port_state(machine: Machine) -> Verdict:
    ports = _ports(machine)
    down = [port for port in ports if port.state != _ACTIVE]
    told = ", ".join(f"{port.name} is {port.state}" for port in down)
    if len(down) == len(ports):
        return failure(told, advice="No port is active: check cables and the subnet manager (`ibstat`).")
    verdicts = (
        [warning(told, advice="If a training uses it: check its cable and switch port (`ibstat`).")] if down else []
    )
    return summed_up(verdicts, otherwise=f"{', '.join(port.name for port in ports)} active")


def _port_rate(machine: Machine) -> Verdict:
    ports = [port for port in _ports(machine) if port.state == _ACTIVE]
    known = [port for port in ports if port.gbps is not None]
    if not known:
        return not_checked("no active InfiniBand or RoCE port tells its rate")
    return summed_up(_slow_ports(known), otherwise=", ".join(f"{port.name} {port.rate}" for port in known))


def _slow_ports(ports: list[_Port]) -> Iterator[Verdict]:
    best: dict[str, float] = defaultdict(float)
    for port in ports:
        best[port.board] = max(best[port.board], port.gbps or 0)
    for port in ports:
        if (port.gbps or 0) < best[port.board]:
            yield failure(
                f"{port.name} at {port.rate}, others of its model at {best[port.board]:g} Gb/s",
                advice=f"Every ring through it has its speed. {_REPLACE}",
            )
        elif port.layer == "InfiniBand" and port.lanes == 1:
            yield failure(f"{port.name} at {port.rate}: one lane of four", advice=_REPLACE)


def _port_errors(machine: Machine) -> Verdict:
    verdicts: list[Verdict] = []
    ports = _ports(machine)
    for port in ports:
        counts = {name: machine.read(f"{port.folder}/counters/{name}") or "" for name in _ERRORS}
        if not any(count.isdigit() for count in counts.values()):
            verdicts.append(not_checked(f"{port.name} tells no counters"))
        told = ", ".join(f"{name} {int(count):,}" for name, count in counts.items() if count.isdigit() and int(count))
        if told:
            advice = f"If they grow during a training, packets are sent again and all ranks wait. {_REPLACE}"
            verdicts.append(warning(f"{port.name}: {told}", advice=advice))
    return summed_up(verdicts, otherwise=f"none on {', '.join(port.name for port in ports)}")


QUESTIONS = tuple(
    Question(code=code, area=Area.NETWORK, title=title, ask=ask)
    for code, title, ask in (
        ("net-speed", "speed of cards", _speed),
        ("net-maximum", "speed against maximum", _maximum),
        ("net-errors", "broken packets", _card_errors),
        ("ib-state", "InfiniBand state", _port_state),
        ("ib-rate", "InfiniBand rate", _port_rate),
        ("ib-errors", "InfiniBand errors", _port_errors),
    )
)
