"""Checks of host names: that this machine and the first rank's are found, and that the hosts file says one thing."""

from __future__ import annotations

import hashlib
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING

from gapfinder.doctor.check import Area, Question, Verdict, failure, not_checked, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.doctor.machine import Machine

_FILE = "/etc/hosts"
_SHOWN = 3
_DIGEST = 8
_HIGHEST_PORT = 65_535


def _own(machine: Machine) -> Verdict:
    host = machine.host_name
    found = machine.addresses(host)
    told = f"{host} is {', '.join(found)}"
    if not found:
        return failure(
            f"{host} has no address",
            advice=f"gloo and torchrun look it up: add it to {_FILE} or to the name server, with its real address.",
        )
    if all(map(_is_loopback, found)):
        if _has_other_machines(machine):
            return failure(
                told, advice=f"Other machines are sent to themselves: give {host} its real address in {_FILE}."
            )
        if _is_elsewhere(machine.environment.get("MASTER_ADDR", ""), host=host):
            return warning(told, advice=f"If other machines take part: give {host} its real address in {_FILE}.")
        return ok(f"{told}: good for one machine only")
    return ok(told)


def _master(machine: Machine) -> Verdict:
    host = machine.environment.get("MASTER_ADDR", "").strip()
    if not host:
        return not_checked("MASTER_ADDR is not set; torchrun sets it")
    port = machine.environment.get("MASTER_PORT", "").strip()
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) <= _HIGHEST_PORT):
        return failure(f"MASTER_PORT={port} is no port", advice="Set a number up to 65535, the same on all machines.")
    found = machine.addresses(host)
    told = f"MASTER_ADDR={host} is {', '.join(found)}"
    if not found:
        return failure(
            f"MASTER_ADDR={host} has no address",
            advice=f"No rank finds the first one: correct it, or add the host to {_FILE} on all machines.",
        )
    if all(map(_is_loopback, found)) and _has_other_machines(machine):
        return failure(told, advice="Every machine would wait for itself: name the first machine by its real address.")
    return ok(told)


def _file(machine: Machine) -> Verdict:
    text = machine.read(_FILE)
    if text is None:
        return not_checked(f"{_FILE} cannot be read")
    entries = [(number, *_entry(line)) for number, line in enumerate(text.splitlines(), start=1)]
    broken = [f"line {number} ({first})" for number, first, address, _ in entries if first and address is None]
    doubtful = list(_contradictions([(address, names) for _, _, address, names in entries if address is not None]))
    if broken or doubtful:
        parts = [f"not an address: {', '.join(broken[:_SHOWN])}"] if broken else []
        parts += doubtful[:_SHOWN] + ["..."] * (len(doubtful) > _SHOWN)
        return warning("; ".join(parts), advice=f"Only the first entry counts: make {_FILE} alike on all machines.")
    lines = sorted(" ".join([str(address), *names]) for _, _, address, names in entries if address is not None)
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_DIGEST]
    return ok(f"{len(lines)} entries, digest {digest}: compare it across machines")


def _entry(line: str) -> tuple[str, IPv4Address | IPv6Address | None, list[str]]:
    """Return the first word of a line, the address that it is, and the names; ("", None, []) where nothing is said."""
    words = line.partition("#")[0].split()
    if not words:
        return "", None, []
    try:
        return words[0], ip_address(words[0]), words[1:]
    except ValueError:
        return words[0], None, words[1:]


def _contradictions(entries: list[tuple[IPv4Address | IPv6Address, list[str]]]) -> Iterator[str]:
    """Yield names that stand for several addresses of one kind."""
    known: dict[tuple[str, int], list[str]] = {}
    for address, names in entries:
        for name in names:
            there = known.setdefault((name.lower(), address.version), [])
            if str(address) not in there:
                there.append(str(address))
    for (name, _), addresses in known.items():
        if len(addresses) > 1:
            yield f"{name} is {' and '.join(addresses)}"


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _is_elsewhere(master: str, *, host: str) -> bool:
    """Return whether the first rank seems to be on another machine."""
    return bool(master) and master not in ("localhost", host) and not _is_loopback(master)


def _has_other_machines(machine: Machine) -> bool:
    """Return whether the launcher's variables tell of more machines than this one."""
    world, local = machine.number("WORLD_SIZE"), machine.number("LOCAL_WORLD_SIZE")
    if world is not None and local is not None:
        return world > local
    return any((machine.number(name) or 1) > 1 for name in ("SLURM_NNODES", "SLURM_JOB_NUM_NODES", "NNODES"))


QUESTIONS = tuple(
    Question(code=code, area=Area.HOSTS, title=title, ask=ask)
    for code, title, ask in (
        ("host-own", "name of this machine", _own),
        ("host-master", "MASTER_ADDR", _master),
        ("host-file", "hosts file", _file),
    )
)
