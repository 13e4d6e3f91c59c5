"""The command ``nnapi``, one file per subcommand."""

from __future__ import annotations

from importlib.metadata import version as installed
from typing import Annotated

import typer

from nnapi.cli import bench, cache, check, devices, explain, export, info, lib, run, serve, streams, trace
from nnapi.cli.failure import Nnapi

app = typer.Typer(
    cls=Nnapi,
    help="The Android Neural Networks API on this machine: devices, models, runs.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nnapi {installed('nnapi')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    pass


app.add_typer(bench.app, name="bench")
app.add_typer(cache.app, name="cache")
app.command()(check.check)
app.command()(devices.devices)
app.command()(explain.explain)
app.command()(export.export)
app.command()(info.info)
app.command()(lib.lib)
app.command()(run.run)
app.command()(serve.serve)
app.add_typer(trace.app, name="trace")


def main() -> None:
    """Run the command with the process's arguments, and exit."""
    streams.prepare()
    app(prog_name="nnapi")
