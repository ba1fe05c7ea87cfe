"""What `nvidia-smi -q -x` tells of the GPUs, over the spellings of its generations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from gapfinder.doctor.check import NotCheckedError

if TYPE_CHECKING:
    from gapfinder.doctor.machine import Machine
    from gapfinder.doctor.programs import Ran

SECONDS = 20
_COMMAND = ("nvidia-smi", "-q", "-x")
# Older drivers say throttle.
_REASON = re.compile(r"clocks_(?:event|throttle)_reason_(.+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Pcie:
    """The link of a GPU to its host: lanes and generation, now and at most.

    Attributes:
        device_generation: what the GPU could do in a better slot; None where not told.
        replays: packets sent again since the driver was loaded.
    """

    width: int | None
    widest: int | None
    generation: int | None
    highest_generation: int | None
    device_generation: int | None
    replays: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryErrors:
    """Errors of a GPU's memories; volatile ones are counted since the driver was loaded.

    Attributes:
        remapped_rows: rows replaced after uncorrectable errors.
        retired_pages: pages given up after uncorrectable errors, on GPUs without spare rows.
        is_repair_pending: rows or pages wait for a reset to be replaced.
        has_failed: a row could not be replaced, or more errors were counted than NVIDIA allows.
    """

    uncorrectable: int | None
    correctable: int | None
    uncorrectable_ever: int | None
    remapped_rows: int | None
    retired_pages: int | None
    is_repair_pending: bool | None
    has_failed: bool | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Gpu:
    """One GPU; what nvidia-smi does not tell is None.

    Attributes:
        index: number that nvidia-smi gives it, in the order of PCI addresses.
        processes: how many processes hold memory on it.
        headroom_c: degrees up to the temperature at which it slows down.
        reasons: why its clocks are held back, such as "sw_power_cap".
        fabric: state of its registration with the NVLink fabric, such as "Completed".
        recovery: what has to be done before it works again, such as "Reset"; empty where nothing.
    """

    index: int
    name: str
    uuid: str
    memory_mib: int | None
    used_mib: int | None
    processes: int
    temperature_c: int | None
    headroom_c: int | None
    performance_state: str | None
    utilization: int | None
    reasons: frozenset[str] | None
    ecc: str | None
    ecc_pending: str | None
    errors: MemoryErrors
    pcie: Pcie
    mig: str | None
    persistence: str | None
    fabric: str | None
    recovery: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SmiReport:
    """What nvidia-smi tells.

    Attributes:
        attached: how many GPUs it says are there, which may be more than it describes.
    """

    driver: str | None
    cuda: str | None
    attached: int | None
    gpus: tuple[Gpu, ...]


def ask_smi(machine: Machine) -> Ran:
    """Return what nvidia-smi said, well or not; NotCheckedError where it is missing or hangs."""
    return machine.run(_COMMAND, SECONDS)


def smi_report(machine: Machine) -> SmiReport:
    """Return what nvidia-smi tells; NotCheckedError where it tells nothing."""
    ran = ask_smi(machine)
    if ran.code:
        raise NotCheckedError(f"nvidia-smi failed: {ran.words()}")
    return _parsed(ran.output)


@lru_cache(maxsize=1)
def _parsed(text: str) -> SmiReport:
    try:
        # The driver of this machine wrote it, and expat bounds what entities may grow to.
        root = ET.fromstring(text.strip())  # noqa: S314
    except ET.ParseError as error:
        raise NotCheckedError(f"nvidia-smi -q -x printed no XML: {error}") from error
    if root.tag != "nvidia_smi_log":
        raise NotCheckedError(f"nvidia-smi -q -x printed <{root.tag}>, not <nvidia_smi_log>")
    gpus = tuple(_gpu(element, index=index) for index, element in enumerate(root.findall("gpu")))
    return SmiReport(
        driver=_text(root, "driver_version"),
        cuda=_text(root, "cuda_version"),
        attached=_number(root, "attached_gpus"),
        gpus=gpus,
    )


def _text(element: ET.Element, path: str) -> str | None:
    """Return the text at a path; None where there is none or it stands for nothing."""
    text = (element.findtext(path) or "").strip()
    return None if text in ("", "N/A", "[N/A]", "Unknown Error") or "deprecated" in text else text


def _number(element: ET.Element, path: str) -> int | None:
    """Return the number that a text such as "81559 MiB", "16x" or "-2 C" starts with."""
    match = re.match(r"-?[0-9]+", _text(element, path) or "")
    return None if match is None else int(match[0])


def _sum(element: ET.Element, *paths: str) -> int | None:
    """Return the sum of what is told; None where nothing is."""
    known = [number for path in paths if (number := _number(element, path)) is not None]
    return sum(known) if known else None


def _says_yes(element: ET.Element, *paths: str) -> bool | None:
    """Return whether one of the texts is "Yes"; None where none is told."""
    known = [text for path in paths if (text := _text(element, path)) is not None]
    return any(text == "Yes" for text in known) if known else None


def _gpu(element: ET.Element, *, index: int) -> Gpu:
    return Gpu(
        index=index,
        name=_text(element, "product_name") or "GPU of unknown name",
        uuid=_text(element, "uuid") or "",
        memory_mib=_number(element, "fb_memory_usage/total"),
        used_mib=_number(element, "fb_memory_usage/used"),
        processes=len(element.findall("processes/process_info")),
        temperature_c=_number(element, "temperature/gpu_temp"),
        headroom_c=_headroom(element),
        performance_state=_text(element, "performance_state"),
        utilization=_number(element, "utilization/gpu_util"),
        reasons=_reasons(element),
        ecc=_text(element, "ecc_mode/current_ecc"),
        ecc_pending=_text(element, "ecc_mode/pending_ecc"),
        errors=_errors(element),
        pcie=_pcie(element),
        mig=_text(element, "mig_mode/current_mig"),
        persistence=_text(element, "persistence_mode"),
        fabric=_text(element, "fabric/state"),
        recovery=_recovery(element),
    )


def _headroom(element: ET.Element) -> int | None:
    """Return how far the slowdown is; Hopper and newer tell the distance to a limit, older GPUs a temperature."""
    left = _number(element, "temperature/gpu_temp_tlimit")
    if left is not None:
        return left - (_number(element, "temperature/gpu_temp_slow_tlimit_threshold") or 0)
    now, slowdown = (_number(element, f"temperature/{name}") for name in ("gpu_temp", "gpu_temp_slow_threshold"))
    return None if now is None or slowdown is None else slowdown - now


def _reasons(element: ET.Element) -> frozenset[str] | None:
    told = {
        match[1]: (reason.text or "").strip()
        for group in ("clocks_event_reasons", "clocks_throttle_reasons")
        for reason in element.iterfind(f"{group}/*")
        if (match := _REASON.fullmatch(reason.tag))
    }
    return frozenset(name for name, state in told.items() if state == "Active") if told else None


def _errors(element: ET.Element) -> MemoryErrors:
    uncorrectable = (
        "sram_uncorrectable",
        "sram_uncorrectable_parity",
        "sram_uncorrectable_secded",
        "dram_uncorrectable",
        "double_bit/total",
    )
    correctable = ("sram_correctable", "dram_correctable", "single_bit/total")
    return MemoryErrors(
        uncorrectable=_sum(element, *(f"ecc_errors/volatile/{name}" for name in uncorrectable)),
        correctable=_sum(element, *(f"ecc_errors/volatile/{name}" for name in correctable)),
        uncorrectable_ever=_sum(element, *(f"ecc_errors/aggregate/{name}" for name in uncorrectable)),
        remapped_rows=_number(element, "remapped_rows/remapped_row_unc"),
        retired_pages=_number(element, "retired_pages/double_bit_retirement/retired_count"),
        is_repair_pending=_says_yes(
            element,
            "remapped_rows/remapped_row_pending",
            "retired_pages/pending_retirement",
            "retired_pages/pending_blacklist",
            "ecc_errors/channel_repair_pending",
            "ecc_errors/tpc_repair_pending",
        ),
        has_failed=_says_yes(
            element,
            "remapped_rows/remapped_row_failure",
            "ecc_errors/aggregate/sram_threshold_exceeded",
            "ecc_errors/unrepairable_memory",
        ),
    )


def _pcie(element: ET.Element) -> Pcie:
    link = "pci/pci_gpu_link_info"
    return Pcie(
        width=_number(element, f"{link}/link_widths/current_link_width"),
        widest=_number(element, f"{link}/link_widths/max_link_width"),
        generation=_number(element, f"{link}/pcie_gen/current_link_gen"),
        highest_generation=_number(element, f"{link}/pcie_gen/max_link_gen"),
        device_generation=_number(element, f"{link}/pcie_gen/max_device_link_gen"),
        replays=_number(element, "pci/replay_counter"),
    )


def _recovery(element: ET.Element) -> str:
    action = _text(element, "gpu_recovery_action")
    if action not in (None, "None"):
        return action or ""
    return "Reset" if _says_yes(element, "gpu_reset_status/reset_required") else ""
