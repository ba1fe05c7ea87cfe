"""`gapfinder explain`: what a finding or a fault means and what to do about it."""

from __future__ import annotations

import click

from gapfinder.cli.completion import complete_codes


@click.command()
@click.argument("words", metavar="CODE|WORDS...", nargs=-1, shell_complete=complete_codes)
def explain(words: tuple[str, ...]) -> None:
    """Explain a finding, or find what to check by words.

    Without words, all codes are listed.
    """
    from gapfinder.findings.explain import explain as explained
    from gapfinder.findings.explain import listing

    click.echo(explained(words) if words else listing(), nl=False)
