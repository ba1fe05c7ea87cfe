"""`gapfinder estimate`: what communication must cost, before anything is run."""

from __future__ import annotations

import click

from gapfinder.cost import Operation


class _Estimates(click.Group):
    """One command for each operation, and `plan`; they are loaded when asked for, as `gapfinder --help` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names, the most asked for first."""
        return [*(operation.value for operation in Operation), "plan"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; None where there is none of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        if cmd_name == "plan":
            from gapfinder.cli.estimate_plan import plan

            return plan
        from gapfinder.cli.estimate_operation import command

        return command(Operation(cmd_name))


@click.group(cls=_Estimates, no_args_is_help=True)
def estimate() -> None:
    """Compute what communication must cost, before a run.

    Name an operation for its time, or `plan` for the ways to train a model. docs/estimate.md has the formulas.
    """
