"""Which GPUs a training will see: CUDA_VISIBLE_DEVICES against what is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from gapfinder.doctor.check import Status, Verdict, not_checked, numbered, summed_up
from gapfinder.doctor.nvidia_smi import smi_report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gapfinder.doctor.machine import Machine
    from gapfinder.doctor.nvidia_smi import Gpu

VARIABLE = "CUDA_VISIBLE_DEVICES"
Value = TypeVar("Value")


@dataclass(frozen=True, kw_only=True, slots=True)
class Visible:
    """What CUDA_VISIBLE_DEVICES lets a training see.

    Attributes:
        gpus: in the order in which CUDA numbers them.
        missing: entries that name no GPU; CUDA ignores them and all that follow.
        has_instances: it names parts of a GPU (MIG); then `gpus` is all GPUs.
    """

    gpus: tuple[Gpu, ...]
    missing: tuple[str, ...]
    has_instances: bool


def visible(gpus: Sequence[Gpu], *, environment: Mapping[str, str]) -> Visible:
    """Return which of the machine's GPUs a training will see; all where the variable is not set."""
    text = environment.get(VARIABLE)
    entries = [] if text is None else [entry.strip() for entry in text.split(",")]
    if text is None or any(entry.startswith("MIG") for entry in entries):
        return Visible(gpus=tuple(gpus), missing=(), has_instances=text is not None)
    found: list[Gpu] = []
    for position, entry in enumerate(entries):
        gpu = _named(gpus, entry)
        if gpu is None:
            return Visible(gpus=tuple(found), missing=tuple(entries[position:]), has_instances=False)
        found.append(gpu)
    return Visible(gpus=tuple(found), missing=(), has_instances=False)


def _named(gpus: Sequence[Gpu], entry: str) -> Gpu | None:
    if entry.isascii() and entry.isdigit():
        return next((gpu for gpu in gpus if gpu.index == int(entry)), None)
    alike = [gpu for gpu in gpus if entry.startswith("GPU-") and gpu.uuid.startswith(entry)]
    return alike[0] if len(alike) == 1 else None


def judged_gpus(machine: Machine) -> tuple[Gpu, ...]:
    """Return the GPUs to judge: those that a training will see, or all where it would see none."""
    gpus = smi_report(machine).gpus
    return visible(gpus, environment=machine.environment).gpus or gpus


def each(
    gpus: Sequence[Gpu],
    *,
    what: str,
    value: Callable[[Gpu], Value | None],
    judge: Callable[[Value], Verdict],
    otherwise: Callable[[Sequence[Value]], str] | None = None,
) -> Verdict:
    """Judge a value of every GPU, and tell the ones that are not well, alike ones together.

    Args:
        gpus: to judge.
        what: the value's name, for "nvidia-smi tells no ...".
        value: None where nvidia-smi does not tell it; such a GPU is never well.
        judge: of one value.
        otherwise: what to say when all are well, in place of the GPUs one by one.
    """
    values = {gpu.index: value(gpu) for gpu in gpus}
    known = {index: told for index, told in values.items() if told is not None}
    unknown = [index for index, told in values.items() if told is None]
    if not known:
        return not_checked(f"nvidia-smi tells no {what}")
    verdicts = {index: judge(told) for index, told in known.items()}
    worse: list[Verdict] = []
    for status in (Status.FAILURE, Status.WARNING, Status.NOT_CHECKED):
        alike = {index: verdict for index, verdict in verdicts.items() if verdict.status is status}
        if alike:
            advice = " ".join(dict.fromkeys(verdict.advice for verdict in alike.values() if verdict.advice))
            worse.append(Verdict(status=status, seen=_told(alike), advice=advice))
    if unknown:
        worse.append(not_checked(numbered("GPU", ((index, f"no {what} told") for index in unknown))))
    return summed_up(worse, otherwise=_told(verdicts) if otherwise is None else otherwise(list(known.values())))


def _told(verdicts: Mapping[int, Verdict]) -> str:
    return numbered("GPU", ((index, verdict.seen) for index, verdict in verdicts.items()))
