"""Judges ZeRO settings: what they cost in overlap or memory, and what they give for it.

Names and defaults: https://www.deepspeed.ai/docs/config-json and DeepSpeedZeroConfig in
https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/runtime/zero/config.py
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.doctor.check import (
    Area,
    NotCheckedError,
    Question,
    Verdict,
    failure,
    not_checked,
    ok,
    summed_up,
    warning,
)
from gapfinder.doctor.deepspeed import AUTO
from gapfinder.units import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gapfinder.doctor.deepspeed import Configuration

_OPTIMIZER, _GRADIENTS, _PARAMETERS = 1, 2, 3
_BUCKET = 500_000_000
_SMALL_BUCKET, _LARGE_BUCKET = 5_000_000, 1_000_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class _Switch:
    """A setting that should be true: what it costs when it is not, and what it gives for which price when it is."""

    name: str
    cost: str
    gain: str
    advice: str


_OVERLAP = _Switch(
    name="overlap_comm",
    cost="gradients are reduced while backward waits",
    gain="gradients are reduced during backward, for the memory of a second bucket",
    advice="Set it to true: it takes another bucket's memory (make buckets smaller where that does not fit).",
)
_CONTIGUOUS = _Switch(
    name="contiguous_gradients",
    cost="gradients lie scattered, and memory fragments during backward",
    gain="gradients are copied into one buffer, which takes some memory and keeps it whole",
    advice="Set it to true, unless the buffer is what does not fit.",
)
_REDUCE_SCATTER = _Switch(
    name="reduce_scatter",
    cost="every rank receives all gradients, about twice the bytes",
    gain="every rank receives only the gradients of its shard",
    advice="Set it to true; all-reduce is for finding faults.",
)
_ALLGATHER = _Switch(
    name="allgather_partitions",
    cost="updated parameters come by one broadcast after another",
    gain="updated parameters come by all-gather",
    advice="Set it to true; broadcasts save memory only.",
)


def _stage(configuration: Configuration) -> Verdict:
    stage = configuration.stage
    if stage is None:
        told = json.dumps(configuration.zero.get("stage"))
        return failure(f"stage is {told}", advice="DeepSpeed knows 0 (nothing sharded), 1, 2 and 3.")
    if stage == 0:
        others = [name for name in configuration.zero if name != "stage"]
        if others:
            return warning(
                f"stage 0, so {', '.join(others[:3])} {'have' if len(others) > 1 else 'has'} no effect",
                advice="Set stage 1 or 2 to shard optimizer states and gradients, or remove these settings.",
            )
        return ok("stage 0: every card holds all; least communication, most memory")
    return ok(
        {
            _OPTIMIZER: "stage 1: optimizer states sharded; communication as in plain data parallelism",
            _GRADIENTS: "stage 2: optimizer states and gradients sharded; communication as in plain data parallelism",
            _PARAMETERS: "stage 3: parameters sharded too, gathered in forward and backward: 1.5 times the "
            "communication; take 2 if the model fits",
        }[stage]
    )


def _switched(configuration: Configuration, switch: _Switch, *, default: bool = True) -> Verdict:
    _only_with_zero(configuration)
    value = configuration.zero.get(switch.name)
    if value is not None and value != AUTO and not isinstance(value, bool):
        return failure(f"{switch.name} is {json.dumps(value)}", advice="Write true or false.")
    told = f"{switch.name} is " + ("not set" if value is None else json.dumps(value))
    if value is False or (value is None and not default):
        return warning(f"{told}: {switch.cost}", advice=switch.advice)
    return ok(f"{told}: {switch.gain}")


def _overlap(configuration: Configuration) -> Verdict:
    return _switched(configuration, _OVERLAP, default=configuration.stage == _PARAMETERS)


def _contiguous(configuration: Configuration) -> Verdict:
    return _switched(configuration, _CONTIGUOUS)


def _reduce_scatter(configuration: Configuration) -> Verdict:
    return _switched(configuration, _REDUCE_SCATTER)


def _allgather(configuration: Configuration) -> Verdict:
    if configuration.stage == _PARAMETERS:
        return not_checked("stage 3 gathers parameters by itself")
    return _switched(configuration, _ALLGATHER)


def _buckets(configuration: Configuration) -> Verdict:
    _only_with_zero(configuration)
    names = ["reduce_bucket_size"] + ["allgather_bucket_size"] * (configuration.stage != _PARAMETERS)
    verdicts = [_bucket(name, configuration.zero.get(name, _BUCKET)) for name in names]
    return summed_up(verdicts, otherwise=", ".join(verdict.seen for verdict in verdicts))


def _bucket(name: str, value: object) -> Verdict:
    if value == AUTO:
        return ok(f"{name} is auto: the trainer chooses from the hidden size")
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        return failure(f"{name} is {json.dumps(value)}", advice="Write a number of elements, such as 2e8.")
    told = f"{name} is {format_count(int(min(value, 2**63)), 'element')}"
    if value < _SMALL_BUCKET:
        return warning(
            f"{told}: many small collectives, each with its latency",
            advice="Raise it to 5e7 or more; it costs its size in memory, twice with overlap_comm.",
        )
    if value > _LARGE_BUCKET:
        return warning(
            f"{told}: the first reduction starts late in backward, and buffers take gigabytes",
            advice="Lower it to 5e8 or less: more reductions then hide behind backward.",
        )
    return ok(told)


def _offloaded_optimizer(configuration: Configuration) -> Verdict:
    if not isinstance(configuration.zero.get("offload_optimizer", {}), dict | None):
        return _no_object(configuration, "offload_optimizer")
    device, settings = _offload(configuration, "offload_optimizer", old="cpu_offload")
    if device is None:
        return ok("optimizer states stay on the GPU")
    told = f"optimizer states and step on {device}: with Adam 12 bytes a parameter less on the GPU, and longer steps"
    advice = "Use it only where the model does not fit: more cards or stage 3 first."
    return warning(told, advice=advice + _on_pinning(device, settings))


def _offloaded_parameters(configuration: Configuration) -> Verdict:
    if not isinstance(configuration.zero.get("offload_param", {}), dict | None):
        return _no_object(configuration, "offload_param")
    device, settings = _offload(configuration, "offload_param", old="cpu_offload_param")
    if device is None:
        return ok("parameters stay on the GPU")
    if configuration.stage != _PARAMETERS:
        return failure(f"parameters on {device} in stage {configuration.stage}", advice="Only stage 3 can: remove it.")
    return warning(
        f"parameters on {device}: all pass over PCIe{' and the disk' * (device == 'nvme')} in forward and in backward",
        advice="Use it only where nothing else makes the model fit." + _on_pinning(device, settings),
    )


def _on_pinning(device: str, settings: Mapping[str, object]) -> str:
    return "" if settings.get("pin_memory") or device != "cpu" else " Set pin_memory to true: copies then overlap."


def _no_object(configuration: Configuration, name: str) -> Verdict:
    told = json.dumps(configuration.zero[name])
    return failure(f"{name} is {told}", advice='DeepSpeed wants an object, such as {"device": "cpu"}.')


def _offload(configuration: Configuration, name: str, *, old: str) -> tuple[str | None, Mapping[str, object]]:
    """Return where something is kept in place of the GPU, None where nowhere, and how."""
    settings = configuration.zero.get(name)
    if isinstance(settings, dict):
        device = settings.get("device")
        return (None if device in (None, "none", AUTO) else str(device)), settings
    return ("cpu" if configuration.zero.get(old) is True else None), {}


def _only_with_zero(configuration: Configuration) -> None:
    """Let a question that means nothing without ZeRO be one that is not checked."""
    if configuration.stage is None or configuration.stage < _OPTIMIZER:
        raise NotCheckedError("only with a ZeRO stage of 1 or higher")


QUESTIONS = tuple(
    Question(code=code, area=Area.DEEPSPEED, title=title, ask=ask)
    for code, title, ask in (
        ("zero-stage", "ZeRO stage", _stage),
        ("zero-overlap", "overlap", _overlap),
        ("zero-contiguous", "contiguous gradients", _contiguous),
        ("zero-reduce-scatter", "reduce-scatter", _reduce_scatter),
        ("zero-allgather", "all-gather", _allgather),
        ("zero-buckets", "bucket sizes", _buckets),
        ("zero-offload-optimizer", "optimizer offload", _offloaded_optimizer),
        ("zero-offload-parameters", "parameter offload", _offloaded_parameters),
    )
)
