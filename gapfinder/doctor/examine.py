"""Asks every question that there is about a machine, and about a DeepSpeed configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.doctor import deepspeed, gpus, hosts, limits, links, network, nsys, space, variables, versions, zero

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gapfinder.doctor.check import Check, Question
    from gapfinder.doctor.machine import Machine

_QUESTIONS: tuple[Question[Machine], ...] = (
    *nsys.QUESTIONS,
    *gpus.QUESTIONS,
    *links.QUESTIONS,
    *network.QUESTIONS,
    *versions.QUESTIONS,
    *variables.QUESTIONS,
    *hosts.QUESTIONS,
    *space.QUESTIONS,
    *limits.QUESTIONS,
)
_OF_CONFIGURATION: tuple[Question[deepspeed.Configuration], ...] = (*zero.QUESTIONS, *deepspeed.QUESTIONS)
CODES = (*(question.code for question in _QUESTIONS), *(question.code for question in _OF_CONFIGURATION))


def examine(machine: Machine, *, configuration: Path | None = None) -> Iterator[Check]:
    """Yield what every question brings to light, as it is answered, in the order of areas.

    Args:
        machine: to ask.
        configuration: a DeepSpeed configuration to judge; InputError, before anything is asked, where it is none.
    """
    judged = (
        None
        if configuration is None
        else deepspeed.read_configuration(configuration, world_size=machine.number("WORLD_SIZE"))
    )
    return _answers(machine, judged)


def _answers(machine: Machine, configuration: deepspeed.Configuration | None) -> Iterator[Check]:
    for question in _QUESTIONS:
        yield question.answered(machine)
    if configuration is not None:
        for asked in _OF_CONFIGURATION:
            yield asked.answered(configuration)
