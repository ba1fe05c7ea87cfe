"""What a shell completes: files where an argument may be something else too, codes of `explain`, metrics, baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import click

    from gapfinder.findings.page import Fault, Page


def complete_files(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Leave it to the shell, which knows its files."""
    return [CompletionItem(begun, type="file")]


def complete_codes(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the codes of findings and faults, with their titles where a shell shows them."""
    from gapfinder.findings.faults import FAULTS
    from gapfinder.findings.registry import PAGES

    pages: Mapping[str, Page | Fault] = {**PAGES, **FAULTS}
    return [CompletionItem(code, help=page.title) for code, page in pages.items() if code.startswith(begun)]


def complete_metrics(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Return the metrics of checks and trends."""
    from gapfinder.compare.metrics import METRICS

    return _beginning(begun, METRICS)


def complete_baselines(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Return the stored baselines; none where the settings cannot be read, since a completion is no place to say so."""
    from gapfinder.cli.check_options import store_folder
    from gapfinder.compare.store import names
    from gapfinder.errors import GapfinderError

    try:
        return _beginning(begun, names(store_folder(context.params.get("store"))))
    except GapfinderError:
        return []


def complete_compared(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the stored baselines that begin so; where none does, it is a file."""
    found = complete_baselines(context, parameter, begun)
    return [CompletionItem(name) for name in found] or complete_files(context, parameter, begun)


def _beginning(begun: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(begun)]
