"""Reads a DeepSpeed configuration, and judges what in it is not ZeRO: batch sizes, types and timers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.doctor.check import (
    Area,
    Question,
    Verdict,
    failure,
    not_checked,
    ok,
    warning,
)
from gapfinder.errors import InputError
from gapfinder.units import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

AUTO = "auto"
_STAGES = (0, 1, 2, 3)
_LARGEST_FILE = 10_000_000
_BATCH, _MICRO, _STEPS = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"
_CONSISTENT = "Global batch = micro batch x accumulation x ranks: correct one of them."


@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """A DeepSpeed configuration.

    Attributes:
        whole: as the file has it.
        zero: its zero_optimization.
        world_size: number of ranks, where the environment tells it.
    """

    whole: Mapping[str, object]
    zero: Mapping[str, object]
    world_size: int | None

    @property
    def stage(self) -> int | None:
        """What is sharded (0 nothing, 1 optimizer, 2 and gradients, 3 and parameters); None where it is no stage."""
        stage = self.zero.get("stage", 0)
        return stage if isinstance(stage, int) and not isinstance(stage, bool) and stage in _STAGES else None


def read_configuration(path: Path, *, world_size: int | None) -> Configuration:
    """Read a configuration; InputError where it is none."""
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise InputError(f"{path} is too large for a DeepSpeed configuration; name its JSON file")
        whole = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON: {error}; name a DeepSpeed configuration") from error
    zero = whole.get("zero_optimization", {}) if isinstance(whole, dict) else None
    if not isinstance(zero, dict):
        raise InputError(f"{path} is no DeepSpeed configuration: it and its zero_optimization must be objects")
    return Configuration(whole=whole, zero=zero, world_size=world_size)


def _batches(configuration: Configuration) -> Verdict:
    values = {name: configuration.whole.get(name) for name in (_BATCH, _MICRO, _STEPS)}
    if AUTO in values.values():
        return not_checked("auto: the trainer fills in batch sizes")
    given = {name: value for name, value in values.items() if value is not None}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            return failure(f"{name} is {json.dumps(value)}", advice="Write a whole number above 0.")
    if _BATCH not in given and _MICRO not in given:
        return failure(f"neither {_BATCH} nor {_MICRO}", advice="DeepSpeed needs one of them: set the micro batch.")
    numbers = {name: value for name, value in given.items() if isinstance(value, int)}
    return _consistent(numbers, world=configuration.world_size)


def _consistent(given: Mapping[str, int], *, world: int | None) -> Verdict:
    batch, micro, steps = (given.get(name) for name in (_BATCH, _MICRO, _STEPS))
    if batch is None:
        return ok(f"micro batch {micro} x {steps or 1} accumulated x ranks")
    each = (micro or 1) * (steps or 1)
    told = f"global batch {batch:,}, micro batch {micro or 'not set'}, {steps or 'no number of'} accumulated"
    if world is not None and batch % (each * world):
        return failure(
            f"{told}, {world} ranks: {each * world:,} does not divide the batch",
            advice=_CONSISTENT,
        )
    if micro and steps and world is not None and batch != each * world:
        return failure(
            f"{told}, {world} ranks: {each * world:,} and not {batch:,}",
            advice=_CONSISTENT,
        )
    if batch % each:
        return failure(
            f"{told}: {each:,} does not divide the batch",
            advice=_CONSISTENT,
        )
    if world is None and micro and steps:
        return ok(f"{told}: right for {format_count(batch // each, 'rank')} (WORLD_SIZE is not set)")
    return ok(told if world is None else f"{told}, {format_count(world, 'rank')}")


def _communication_type(configuration: Configuration) -> Verdict:
    wanted = configuration.whole.get("communication_data_type")
    half = next((name for name in ("bf16", "fp16") if _is_enabled(configuration.whole.get(name))), None)
    if wanted is None:
        return ok(f"not set: gradients are sent as {half or 'computed'}")
    if str(wanted) in ("fp32", "float32") and half is not None:
        return warning(
            f"gradients of {half} are sent as fp32: twice the bytes, for sums that round less",
            advice=f"Remove communication_data_type to send {half}, and watch the loss.",
        )
    return ok(f"gradients are sent as {wanted}")


def _is_enabled(section: object) -> bool:
    return isinstance(section, dict) and section.get("enabled") is True


def _timers(configuration: Configuration) -> Verdict:
    if configuration.whole.get("wall_clock_breakdown") is True:
        return warning(
            "wall_clock_breakdown is true: the host waits for the GPU at every timer",
            advice="Set it to false for the long run.",
        )
    return ok("no timers that wait for the GPU")


QUESTIONS = tuple(
    Question(code=code, area=Area.DEEPSPEED, title=title, ask=ask)
    for code, title, ask in (
        ("deepspeed-batches", "batch sizes", _batches),
        ("deepspeed-communication-type", "type on the wire", _communication_type),
        ("deepspeed-timers", "timers", _timers),
    )
)
