"""The options of `gapfinder watch` that say when to capture and how much; they reach the command as one value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from gapfinder.cli.gathering import Decorator, gathered
from gapfinder.errors import InputError
from gapfinder.units import parse_bytes, parse_duration, parse_ratio

if TYPE_CHECKING:
    from gapfinder.watch.policy import CapturePolicy
    from gapfinder.watch.rules import Rules


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchWanted:
    """What a user wrote, unjudged."""

    drift: str
    lag: str
    sustained: str
    stall: float
    stall_least: str
    at_step: tuple[int, ...]
    every: str | None
    healthy_at: int
    capture_steps: int
    most_captures: int
    budget: str
    cool_down: str
    nsys_args: tuple[str, ...]

    def rules(self) -> Rules:
        """Return when to capture."""
        from gapfinder.watch.rules import Rules

        return Rules(
            drift=_ratio("--drift", self.drift),
            lag=_ratio("--lag", self.lag),
            sustained_ns=parse_duration(self.sustained),
            stall_factor=self.stall,
            stall_least_ns=parse_duration(self.stall_least),
            at_steps=tuple(sorted(self.at_step)),
            every_ns=None if self.every is None else parse_duration(self.every),
            healthy_at=self.healthy_at or None,
        )

    def policy(self) -> CapturePolicy:
        """Return how much to spend on captures."""
        from gapfinder.watch.policy import CapturePolicy

        return CapturePolicy(
            most_captures=self.most_captures,
            most_bytes=parse_bytes(self.budget),
            cool_down_ns=parse_duration(self.cool_down),
        )


def _ratio(name: str, text: str) -> float:
    ratio = parse_ratio(text)
    if not ratio:
        raise InputError(f"{name} {text}: every step would be slow; give more than 0, such as 20%")
    return ratio


def _number(name: str, *, least: int, default: int, told: str) -> Decorator:
    return click.option(name, metavar="N", type=click.IntRange(least), default=default, show_default=True, help=told)


def _text(name: str, *, default: str, metavar: str, told: str) -> Decorator:
    return click.option(name, metavar=metavar, default=default, show_default=True, help=told)


watch_options = gathered(
    "wanted",
    WatchWanted,
    _text("--drift", default="20%", metavar="RATIO", told="Capture when steps take this much longer than usual."),
    _text(
        "--lag",
        default="20%",
        metavar="RATIO",
        told="Or when a rank takes this much longer than the others, outside backward.",
    ),
    _text("--sustained", default="10s", metavar="TIME", told="How long either must last."),
    click.option(
        "--stall",
        metavar="K",
        type=click.FloatRange(1),
        default=5.0,
        show_default=True,
        help="Or when no step ends for K times as long as 99 % of the steps take.",
    ),
    _text("--stall-least", default="120s", metavar="TIME", told="How long no step must end at least, for --stall."),
    click.option(
        "--at-step", metavar="N", type=click.IntRange(0), multiple=True, help="Or at this step; may be repeated."
    ),
    click.option("--every", metavar="TIME", help="Or each time so much time has passed."),
    _number(
        "--healthy-at",
        least=0,
        default=1000,
        told="Capture what is usual from this step on, to compare others with; 0 for never.",
    ),
    _number("--capture-steps", least=1, default=20, told="How many steps a capture has."),
    _number("--most-captures", least=0, default=10, told="How many captures there may be."),
    _text("--budget", default="20GB", metavar="SIZE", told="How much disk they may fill."),
    _text("--cool-down", default="300s", metavar="TIME", told="How long to wait after a capture."),
    click.option(
        "--nsys-arg",
        "nsys_args",
        metavar="ARG",
        multiple=True,
        help="For nsys launch or start, such as --sample=cpu; may be repeated.",
    ),
)
