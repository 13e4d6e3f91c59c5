"""``nnapi check page``: show the results of any number of runs as a page."""

from pathlib import Path
from typing import Annotated

import typer

from nnapi.cli.check_lists import results_page
from nnapi.cli.options import need_page
from nnapi.store.files import write_text
from nnapi.testing.suite.record import read_runs


def page(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS.json...", help="Files that `nnapi check --output` wrote.", show_default=False),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The page.", show_default=False)],
) -> None:
    """Write a page of devices, operations and types; each cell leads to the reasons.

    Several files of a device, such as its shards, become one column.
    """
    need_page(output, "--output")
    write_text(output, results_page([run for file in files for run in read_runs(file)]))
    typer.echo(output)
