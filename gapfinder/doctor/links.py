"""Checks of the links of GPUs: PCIe to the host, NVLink to each other."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from gapfinder.doctor.check import Area, NotCheckedError, Question, Verdict, failure, not_checked, ok, warning
from gapfinder.doctor.nvidia_smi import SECONDS, smi_report
from gapfinder.doctor.topology import QUESTIONS as TOPOLOGY_QUESTIONS
from gapfinder.doctor.visible import each, judged_gpus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gapfinder.doctor.machine import Machine
    from gapfinder.doctor.nvidia_smi import Gpu

_GPU_LINE = re.compile(r"GPU ([0-9]+):")
_LINK_LINE = re.compile(r"Link ([0-9]+): (.+)")
_SPEED = re.compile(r"([0-9]+(?:\.[0-9]+)?) GB/s")


def _width(machine: Machine) -> Verdict:
    def judge(told: tuple[int, int]) -> Verdict:
        width, widest = told
        if width < widest:
            return failure(
                f"{width} of {widest} lanes",
                advice="Copies are as much slower, and with them this rank and all others: reseat the card or riser, "
                "clean the contacts, try another slot.",
            )
        return ok(f"{width} lanes")

    def value(gpu: Gpu) -> tuple[int, int] | None:
        pcie = gpu.pcie
        return None if pcie.width is None or pcie.widest is None else (pcie.width, pcie.widest)

    return each(judged_gpus(machine), what="PCIe width", value=value, judge=judge)


def _generation(machine: Machine) -> Verdict:
    def judge(gpu: Gpu) -> Verdict:
        pcie = gpu.pcie
        told = f"generation {pcie.generation} of {pcie.highest_generation}"
        if pcie.generation == pcie.highest_generation:
            if pcie.device_generation is not None and pcie.device_generation > (pcie.highest_generation or 0):
                return warning(
                    f"generation {pcie.generation} of the GPU's {pcie.device_generation}",
                    advice="Slot or BIOS holds the GPU back: see the BIOS's setting of link speeds.",
                )
            return ok(told)
        if gpu.utilization:
            return warning(
                f"{told} while at work",
                advice="The link has trained lower: reseat the card, and see the BIOS's setting of link speeds.",
            )
        return not_checked(f"{told} while idle, which saves power; ask again under load")

    def value(gpu: Gpu) -> Gpu | None:
        return None if gpu.pcie.generation is None or gpu.pcie.highest_generation is None else gpu

    return each(judged_gpus(machine), what="PCIe generation", value=value, judge=judge)


def _replays(machine: Machine) -> Verdict:
    def judge(replays: int) -> Verdict:
        if replays:
            return warning(
                f"{replays:,} packets sent again",
                advice="A bad contact or riser, if this grows: look again after an hour of training.",
            )
        return ok("none")

    return each(
        judged_gpus(machine),
        what="PCIe replays",
        value=lambda gpu: gpu.pcie.replays,
        judge=judge,
        otherwise=lambda _: "none",
    )


def _nvlink(machine: Machine) -> Verdict:
    gpus = judged_gpus(machine)
    told = _links(machine)
    if not any(told.values()):
        return not_checked("no GPU with NVLink")
    if not any(speed for links in told.values() for speed in links):
        return not_checked("no NVLink is active; GPUs without bridges or switches have none")
    best: dict[str, int] = defaultdict(int)
    for gpu in smi_report(machine).gpus:
        best[gpu.name] = max(best[gpu.name], sum(map(bool, told.get(gpu.index, ()))))

    def judge(gpu: Gpu) -> Verdict:
        links = told[gpu.index]
        active = [speed for speed in links if speed]
        count = f"{len(active)} of {len(links)} links"
        if len(active) < best[gpu.name]:
            return failure(
                f"{count}, others have {best[gpu.name]}",
                advice="A link is down, and every ring over it slower: see `nvidia-smi nvlink -e` and `dmesg`, restart "
                "nvidia-fabricmanager, else drain the machine.",
            )
        if len(set(active)) > 1:
            return failure(f"{count}, from {min(active):g} to {max(active):g} GB/s", advice="Reset the GPU.")
        # A bridge between PCIe cards uses only some of the links.
        if len(active) < len(links) and "PCI" not in gpu.name.upper():
            return warning(count, advice="Compare with a machine of the same kind: a switch may be down.")
        return ok(f"{count} at {active[0]:g} GB/s" if active else f"{count}")

    return each(gpus, what="NVLink state", value=lambda gpu: gpu if told.get(gpu.index) else None, judge=judge)


def _links(machine: Machine) -> Mapping[int, tuple[float, ...]]:
    """Return the speed of every link in GB/s by GPU, 0 where it is down."""
    ran = machine.run(("nvidia-smi", "nvlink", "-s"), SECONDS)
    if ran.code:
        raise NotCheckedError(f"nvidia-smi nvlink -s failed: {ran.words()}")
    links: dict[int, list[float]] = {}
    gpu: int | None = None
    for line in ran.output.splitlines():
        if header := _GPU_LINE.match(line.strip()):
            gpu = int(header[1])
            links[gpu] = []
        elif gpu is not None and (link := _LINK_LINE.match(line.strip())):
            speed = _SPEED.match(link[2])
            links[gpu].append(0.0 if speed is None else float(speed[1]))
    if not links:
        raise NotCheckedError("nvidia-smi nvlink -s names no GPU")
    return {index: tuple(speeds) for index, speeds in links.items()}


QUESTIONS = (
    *(
        Question(code=code, area=Area.LINKS, title=title, ask=ask)
        for code, title, ask in (
            ("gpu-pcie-width", "PCIe lanes", _width),
            ("gpu-pcie-generation", "PCIe generation", _generation),
            ("gpu-pcie-replays", "PCIe replays", _replays),
            ("gpu-nvlink", "NVLink", _nvlink),
        )
    ),
    *TOPOLOGY_QUESTIONS,
)
