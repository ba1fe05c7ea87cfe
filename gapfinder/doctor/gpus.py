"""Checks of the GPUs themselves: that all are there, free, cool, sound, and set up for one long training."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.doctor.check import (
    Area,
    Question,
    Status,
    Verdict,
    failure,
    not_checked,
    numbered,
    ok,
    summed_up,
    warning,
)
from gapfinder.doctor.nvidia_smi import ask_smi, smi_report
from gapfinder.doctor.visible import VARIABLE, each, judged_gpus, visible
from gapfinder.units import format_bytes, format_count

if TYPE_CHECKING:
    from gapfinder.doctor.machine import Machine
    from gapfinder.doctor.nvidia_smi import Gpu

_MIB = 2**20
# A driver keeps some hundred MiB for itself.
_OWN_MIB = 1024
_CLOSE_C = 10

# https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
_HALVING = {
    "hw_slowdown": "the hardware halves the clocks or worse",
    "hw_thermal_slowdown": "too hot, the hardware halves the clocks or worse",
    "hw_power_brake_slowdown": "the power supply asks for half the clocks or less",
}
_SLOWING = {
    "sw_thermal_slowdown": "too warm, the driver lowers the clocks",
    "sw_power_cap": "at its power limit",
}


def _driver(machine: Machine) -> Verdict:
    ran = ask_smi(machine)
    if ran.code:
        return failure(
            f"nvidia-smi failed: {ran.words()}",
            advice="See `dmesg | grep -i -e nvrm -e xid`; load the driver, or reset or replace the GPU that is gone.",
        )
    smi_report(machine)
    return ok("the driver answers")


def _number(machine: Machine) -> Verdict:
    report = smi_report(machine)
    models = {gpu.name: sum(other.name == gpu.name for other in report.gpus) for gpu in report.gpus}
    told = ", ".join(f"{count} {name}" for name, count in models.items())
    if not report.gpus:
        return failure("no GPU", advice="See `dmesg | grep -i -e nvrm -e xid`, and that the container has GPUs.")
    if report.attached is not None and report.attached != len(report.gpus):
        return failure(
            f"{report.attached} attached, {len(report.gpus)} answer",
            advice="One has fallen off the bus: see `dmesg | grep -i xid`, drain the machine and restart it.",
        )
    if len(models) > 1:
        return warning(told, advice="The slowest model sets the pace of all ranks: train on one model only.")
    return ok(told)


def _visible(machine: Machine) -> Verdict:
    report = smi_report(machine)
    seen = visible(report.gpus, environment=machine.environment)
    text = machine.environment.get(VARIABLE)
    if text is None:
        return ok(f"{VARIABLE} is not set: all {len(report.gpus)}")
    if seen.has_instances:
        return not_checked(f"{VARIABLE}={text} names parts of GPUs")
    if seen.missing:
        return failure(
            f"{VARIABLE}={text}: no GPU {', '.join(map(repr, seen.missing[:1]))} here; {len(seen.gpus)} of "
            f"{len(report.gpus)} are seen",
            advice=f"CUDA ignores that entry and all after it: correct {VARIABLE}, or find the missing GPU.",
        )
    if len({gpu.index for gpu in seen.gpus}) < len(seen.gpus):
        return failure(f"{VARIABLE}={text} names a GPU twice", advice="CUDA then shows none at all: name each once.")
    return ok(f"{VARIABLE}={text}: {len(seen.gpus)} of {len(report.gpus)}")


def _memory(machine: Machine) -> Verdict:
    def judge(told: tuple[int, int, int]) -> Verdict:
        used, total, processes = told
        share = f"{format_bytes(used * _MIB)} of {format_bytes(total * _MIB)} in use"
        if used <= _OWN_MIB and not processes:
            return ok(share)
        holders = f" by {format_count(processes, 'process')}" if processes else ""
        advice = "Somebody's job or the rest of a killed one: see `nvidia-smi`, and end it or choose another machine."
        return warning(share + holders, advice=advice)

    def value(gpu: Gpu) -> tuple[int, int, int] | None:
        if gpu.used_mib is None or gpu.memory_mib is None:
            return None
        return gpu.used_mib, gpu.memory_mib, gpu.processes

    return each(
        judged_gpus(machine),
        what="memory in use",
        value=value,
        judge=judge,
        otherwise=lambda told: f"at most {format_bytes(max(used for used, *_ in told) * _MIB)} in use",
    )


def _temperature(machine: Machine) -> Verdict:
    def judge(headroom: int) -> Verdict:
        if headroom <= 0:
            return failure(
                "hot enough to slow down", advice="Check fans, air flow and coolant before anything is started."
            )
        if headroom <= _CLOSE_C:
            return warning(
                f"{headroom} °C below its slowdown",
                advice="It will slow down under load and hold up all ranks: check cooling.",
            )
        return ok(f"{headroom} °C below its slowdown")

    gpus = judged_gpus(machine)
    hottest = max((gpu.temperature_c for gpu in gpus if gpu.temperature_c is not None), default=None)
    return each(
        gpus,
        what="temperature against the slowdown's",
        value=lambda gpu: gpu.headroom_c,
        judge=judge,
        otherwise=lambda told: f"at most {hottest} °C, at least {min(told)} °C below the slowdown",
    )


def _clocks(machine: Machine) -> Verdict:
    def judge(reasons: frozenset[str]) -> Verdict:
        halving = [text for name, text in _HALVING.items() if name in reasons]
        slowing = [text for name, text in _SLOWING.items() if name in reasons]
        if halving:
            return failure("; ".join(halving), advice="Check cooling and power supply; `nvidia-smi -q -d PERFORMANCE`.")
        if slowing:
            return warning(
                "; ".join(slowing),
                advice="Under full load this may be meant; on one GPU of many it is the slow rank: compare limits with "
                "`nvidia-smi -q -d POWER,TEMPERATURE`.",
            )
        return ok("nothing holds the clocks back")

    return each(
        judged_gpus(machine),
        what="reason for held back clocks",
        value=lambda gpu: gpu.reasons,
        judge=judge,
        otherwise=lambda _: "nothing holds them back",
    )


def _ecc(machine: Machine) -> Verdict:
    def judge(told: tuple[str, str | None]) -> Verdict:
        now, pending = told
        if pending not in (None, now):
            return warning(f"{now}, after a restart {pending}", advice="Reset the GPU before a long run.")
        if now != "Enabled":
            return warning(now, advice="A flipped bit stays unseen: `nvidia-smi -e 1`, then reset the GPU.")
        return ok("enabled")

    return each(
        judged_gpus(machine),
        what="ECC mode",
        value=lambda gpu: None if gpu.ecc is None else (gpu.ecc, gpu.ecc_pending),
        judge=judge,
        otherwise=lambda _: "enabled",
    )


def _ecc_errors(machine: Machine) -> Verdict:
    def judge(told: tuple[int, int, int]) -> Verdict:
        now, ever, correctable = told
        if now:
            return failure(
                f"{now:,} uncorrectable since the driver was loaded",
                advice="Results may be wrong already: drain the machine, reset the GPU, and test it.",
            )
        if ever:
            return warning(f"{ever:,} uncorrectable in its life", advice="Watch it; more of them: have it replaced.")
        return ok(f"{correctable:,} correctable")

    def value(gpu: Gpu) -> tuple[int, int, int] | None:
        errors = gpu.errors
        if errors.uncorrectable is None:
            return None
        return errors.uncorrectable, errors.uncorrectable_ever or 0, errors.correctable or 0

    return each(
        judged_gpus(machine),
        what="count of ECC errors",
        value=value,
        judge=judge,
        otherwise=lambda told: f"none uncorrectable, {sum(correctable for *_, correctable in told):,} corrected",
    )


def _repairs(machine: Machine) -> Verdict:
    def judge(gpu: Gpu) -> Verdict:
        errors = gpu.errors
        if errors.has_failed:
            return failure("bad memory that cannot be replaced any more", advice="Have the GPU replaced (RMA).")
        if errors.is_repair_pending:
            return failure("bad memory waits to be replaced", advice="Reset the GPU, or restart the machine.")
        for count, noun in ((errors.remapped_rows, "remapped rows"), (errors.retired_pages, "retired pages")):
            if count:
                return warning(f"{count} {noun}", advice="Its memory is wearing out: watch whether this grows.")
        return ok("none")

    def value(gpu: Gpu) -> Gpu | None:
        errors = gpu.errors
        told = (errors.has_failed, errors.is_repair_pending, errors.remapped_rows, errors.retired_pages)
        return None if all(item is None for item in told) else gpu

    return each(
        judged_gpus(machine),
        what="remapped rows or retired pages",
        value=value,
        judge=judge,
        otherwise=lambda _: "none",
    )


def _recovery(machine: Machine) -> Verdict:
    waiting = [(gpu.index, f"needs: {gpu.recovery}") for gpu in judged_gpus(machine) if gpu.recovery]
    if waiting:
        return failure(numbered("GPU", waiting), advice="Do what the driver asks for before anything is started.")
    return ok("no GPU asks for a reset")


def _mig(machine: Machine) -> Verdict:
    cut = [(gpu.index, "is cut into parts") for gpu in judged_gpus(machine) if gpu.mig == "Enabled"]
    if cut:
        return warning(
            numbered("GPU", cut),
            advice="Parts do not reach each other over NVLink or PCIe: `nvidia-smi -mig 0` for training on many.",
        )
    return ok("no GPU is cut into parts")


def _persistence(machine: Machine) -> Verdict:
    def judge(mode: str) -> Verdict:
        if mode == "Enabled":
            return ok("on")
        advice = "The driver unloads between jobs, which costs seconds and settings: run nvidia-persistenced."
        return warning("off", advice=advice)

    return each(
        judged_gpus(machine),
        what="persistence mode",
        value=lambda gpu: gpu.persistence,
        judge=judge,
        otherwise=lambda _: "on",
    )


def _fabric(machine: Machine) -> Verdict:
    gpus = [gpu for gpu in judged_gpus(machine) if gpu.fabric is not None]
    if not gpus:
        return not_checked("no GPU of an NVSwitch fabric")
    late = [(gpu.index, gpu.fabric or "") for gpu in gpus if gpu.fabric != "Completed"]
    advice = "Start nvidia-fabricmanager in the driver's own version; until then CUDA refuses or NVLink is idle."
    verdicts = [Verdict(status=Status.FAILURE, seen=numbered("GPU", late), advice=advice)] if late else []
    return summed_up(verdicts, otherwise="all registered")


QUESTIONS = tuple(
    Question(code=code, area=Area.GPUS, title=title, ask=ask)
    for code, title, ask in (
        ("gpu-driver", "driver", _driver),
        ("gpu-number", "GPUs", _number),
        ("gpu-visible", "visible to CUDA", _visible),
        ("gpu-memory", "memory", _memory),
        ("gpu-temperature", "temperature", _temperature),
        ("gpu-clocks", "clocks", _clocks),
        ("gpu-ecc-mode", "ECC", _ecc),
        ("gpu-ecc-errors", "ECC errors", _ecc_errors),
        ("gpu-repairs", "replaced memory", _repairs),
        ("gpu-recovery", "recovery", _recovery),
        ("gpu-mig", "MIG", _mig),
        ("gpu-persistence", "persistence mode", _persistence),
        ("gpu-fabric", "NVSwitch fabric", _fabric),
    )
)
