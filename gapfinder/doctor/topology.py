"""Checks of how GPUs, network cards and CPUs of a machine lie to each other (`nvidia-smi topo -m`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.doctor.check import Area, NotCheckedError, Question, Verdict, not_checked, numbered, ok, ranges, warning
from gapfinder.doctor.nvidia_smi import SECONDS
from gapfinder.doctor.visible import judged_gpus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gapfinder.doctor.machine import Machine

_MOST_PAIRS = 4
_UNDERLINE = re.compile(r"\x1b\[[0-9;]*m")
_LEGEND = re.compile(r"^\s*(NIC[0-9]+): (\S+)\s*$", re.MULTILINE)
_GPU = re.compile(r"GPU([0-9]+)")
_CPUS = re.compile(r"[0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*")
# What crosses from the PCIe of one CPU to that of another.
_ACROSS_CPUS = "SYS"
# Over the CPU, if only over one.
_OVER_A_CPU = frozenset({"NODE", "PHB", _ACROSS_CPUS})


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where a GPU lies.

    Attributes:
        to_gpus: kind of the path to every other GPU, by its number ("NV18", "SYS").
        to_cards: kind of the path to every network card, by its name.
        cpus: numbers of the CPUs near it; none where not told.
    """

    to_gpus: Mapping[int, str]
    to_cards: Mapping[str, str]
    cpus: frozenset[int]


def parse_topology(text: str) -> dict[int, Place]:
    """Return where every GPU lies, by its number; nothing where the text is no matrix."""
    rows = [_UNDERLINE.sub("", line).split() for line in text.splitlines()]
    header = next((row for row in rows if row and _GPU.fullmatch(row[0]) and "X" not in row), [])
    columns = header[: header.index("CPU")] if "CPU" in header else header
    legend = dict(_LEGEND.findall(text))
    places: dict[int, Place] = {}
    for row in rows:
        name = _GPU.fullmatch(row[0]) if row else None
        if name is None or "X" not in row or len(row) <= len(columns):
            continue
        paths = dict(zip(columns, row[1:], strict=False))
        to_gpus = {int(gpu[1]): path for column, path in paths.items() if (gpu := _GPU.fullmatch(column))}
        to_cards = {legend.get(column, column): path for column, path in paths.items() if not _GPU.fullmatch(column)}
        near = row[len(columns) + 1] if len(row) > len(columns) + 1 else ""
        to_gpus.pop(int(name[1]), None)
        places[int(name[1])] = Place(to_gpus=to_gpus, to_cards=to_cards, cpus=parse_cpus(near))
    return places


def parse_cpus(text: str) -> frozenset[int]:
    """Return the CPUs of a list such as "0-31,64-95"; none where it is no such list."""
    if not _CPUS.fullmatch(text):
        return frozenset()
    spans = (part.partition("-") for part in text.split(","))
    return frozenset(cpu for first, _, last in spans for cpu in range(int(first), int(last or first) + 1))


def _places(machine: Machine) -> dict[int, Place]:
    """Return where the judged GPUs lie."""
    ran = machine.run(("nvidia-smi", "topo", "-m"), SECONDS)
    if ran.code:
        raise NotCheckedError(f"nvidia-smi topo -m failed: {ran.words()}")
    places = parse_topology(ran.output)
    if not places:
        raise NotCheckedError("nvidia-smi topo -m printed no matrix")
    wanted = [gpu.index for gpu in judged_gpus(machine)]
    return {index: places[index] for index in wanted if index in places}


def _between_gpus(machine: Machine) -> Verdict:
    places = _places(machine)
    paths = {
        (index, other): kind
        for index, place in places.items()
        for other, kind in place.to_gpus.items()
        if index < other and other in places
    }
    if not paths:
        return not_checked("one GPU only")
    kinds = sorted(set(paths.values()))
    told = f"{', '.join(kinds)} between {len(places)} GPUs"
    slow = [pair for pair, kind in paths.items() if kind in _OVER_A_CPU]
    if slow and len(slow) < len(paths):
        shown = ", ".join(f"{first}-{second} ({paths[first, second]})" for first, second in slow[:_MOST_PAIRS])
        return warning(
            f"{len(slow)} of {len(paths)} pairs of GPUs meet over a CPU: {shown}{', ...' * (len(slow) > _MOST_PAIRS)}",
            advice="A ring over all of them has the speed of these pairs: keep tensor parallelism among near GPUs.",
        )
    if slow:
        return warning(
            told,
            advice="GPUs meet over the CPU, without NVLink or PCIe switch: prefer what communicates little.",
        )
    return ok(told)


def _to_cards(machine: Machine) -> Verdict:
    places = _places(machine)
    if not any(place.to_cards for place in places.values()):
        return not_checked("nvidia-smi topo -m shows no network card (it lists RDMA cards only)")
    far = [index for index, place in places.items() if set(place.to_cards.values()) == {_ACROSS_CPUS}]
    if far:
        return warning(
            numbered("GPU", ((index, "every network card is across the CPUs (SYS)") for index in far)),
            advice="Their traffic crosses between the CPUs, without GPUDirect: place a card beside them, or take the "
            "other GPUs for jobs of several machines.",
        )
    nearest = {
        index: sorted(name for name, path in place.to_cards.items() if path != _ACROSS_CPUS)
        for index, place in places.items()
    }
    return ok(numbered("GPU", ((index, f"near {', '.join(names)}") for index, names in nearest.items())))


def _to_cpus(machine: Machine) -> Verdict:
    places = _places(machine)
    known = {index: place.cpus for index, place in places.items() if place.cpus}
    if not known:
        return not_checked("nvidia-smi topo -m tells no CPUs near a GPU")
    rank = machine.number("LOCAL_RANK")
    order = [gpu.index for gpu in judged_gpus(machine)]
    if rank is not None and rank < len(order):
        known = {index: cpus for index, cpus in known.items() if index == order[rank]}
    far = {index: cpus for index, cpus in known.items() if not cpus & machine.cpus}
    here = f"this process may use CPUs {ranges(list(machine.cpus))}"
    if far:
        return warning(
            f"{here}; "
            + numbered("GPU", ((index, f"CPUs {ranges(list(cpus))} are near") for index, cpus in far.items())),
            advice="Launches and copies cross between the CPUs: bind each rank to the CPUs near its GPU (numactl "
            "--cpunodebind, srun --cpu-bind, or os.sched_setaffinity).",
        )
    if len(set(known.values())) > 1:
        return ok(f"{here}, near all GPUs; bind each rank to its own GPU's side")
    return ok(f"{here}, near all GPUs" if rank is None else f"{here}, near the GPU of local rank {rank}")


QUESTIONS = tuple(
    Question(code=code, area=Area.LINKS, title=title, ask=ask)
    for code, title, ask in (
        ("topology-gpus", "GPU to GPU", _between_gpus),
        ("topology-cards", "GPU to network card", _to_cards),
        ("topology-cpus", "GPU to CPU", _to_cpus),
    )
)
