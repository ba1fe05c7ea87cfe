"""`gapfinder export`: reports of nsys to SQLite."""

from __future__ import annotations

from pathlib import Path

import click

from gapfinder.cli.output import check_output, is_folder, write_output
from gapfinder.errors import InputError


@click.command(no_args_is_help=True)
@click.argument("reports", metavar="REPORT...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File to write (one report only), or an existing folder."
)
@click.option("--force", is_flag=True, help="Overwrite what is there.")
def export(reports: tuple[Path, ...], output: Path | None, *, force: bool) -> None:
    """Export reports of nsys to SQLite.

    A report is a .nsys-rep, .qdrep or .qdstrm. Each export is written beside its report, as REPORT.sqlite, unless
    --output says otherwise. The nsys on this machine does the work; GAPFINDER_NSYS names another one.
    """
    from functools import partial
    from shutil import copyfile

    from gapfinder.export import export_report

    absent = next((report for report in reports if report.suffix == ".sqlite" and not report.exists()), None)
    if absent is not None:
        raise InputError(f"there is no report {absent}; name the file to write with --output")
    targets = {report: _target(report, output=output) for report in reports}
    if len(set(targets.values())) < len(reports):
        raise InputError("two reports would be written to one file; export them one by one, or name a folder")
    for target in targets.values():
        check_output(target, inputs=reports, force=force)
    for report, target in targets.items():
        write_output(target, write=partial(copyfile, export_report(report)), force=force)


def _target(report: Path, *, output: Path | None) -> Path:
    if output is not None and not is_folder(output):
        return output
    if not report.name:
        raise InputError(f"{report} is a folder; name a report")
    name = report.with_suffix(".sqlite").name
    return report.with_name(name) if output is None else output / name
