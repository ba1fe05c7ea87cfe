"""`gapfinder estimate plan`: the ways to train a model on some cards, the simplest that fits first."""

from __future__ import annotations

import click

from gapfinder.cli.estimate_options import (
    NUMBER,
    compute,
    count,
    estimate_format_option,
    member,
    network_options,
    print_estimate,
    size,
)
from gapfinder.cli.gathering import gathered
from gapfinder.estimate import Dtype, Model, PlanRequest, make_plan

_model_options = gathered(
    "model",
    Model,
    count("--parameters", required=True, help="How many the model has, such as 7B."),
    member("--dtype", Dtype, required=True, help="Type of parameters and gradients; Adam keeps FP32."),
    click.option("--layers", type=NUMBER, metavar="N", help="Layers (blocks) of the model."),
    click.option("--hidden", type=NUMBER, metavar="N", help="Length of the vector between layers."),
    click.option("--sequence", type=NUMBER, metavar="N", help="Tokens in a sequence."),
    click.option("--batch", type=NUMBER, metavar="N", help="Sequences per card and step."),
)
_request_options = gathered(
    "request",
    PlanRequest,
    size("--memory", "memory_bytes", required=True, help="Of each card, such as 80GB."),
    click.option("--tensor", type=NUMBER, metavar="T", help="Cards that share each layer, in place of the fewest."),
    click.option("--stages", type=NUMBER, metavar="P", help="Stages of the pipeline, in place of the fewest."),
    click.option("--micro-batches", type=NUMBER, default=8, metavar="M", help="Of a pipeline; 8 when not given."),
    compute(help="Of a card in each step: what can hide communication."),
)


# The outer ones come first: a request is made of the model and the network as well.
@click.command(no_args_is_help=True, short_help="Compare the ways to train a model.")
@_model_options
@network_options
@_request_options
@estimate_format_option
def plan(*, request: PlanRequest, form: str) -> None:
    """Compare the ways to train a model: memory, communication and pipeline bubble.

    The simplest that fits comes first. Activations are not estimated: what is left of a card's memory is for them.
    """
    from gapfinder.cli.estimate_plan_text import render_plan

    print_estimate(make_plan(request), form=form, render=render_plan)
