"""``nnapi lib``: where libneuralnetworks.so is, and how programs find it."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from nnapi.capi import place
from nnapi.cli.mistake import Mistake


def lib(
    env: Annotated[bool, typer.Option("--env", help='What to export: eval "$(nnapi lib --env)".')] = False,
    include: Annotated[bool, typer.Option("--include", help="The folder of NeuralNetworks.h.")] = False,
    cflags: Annotated[bool, typer.Option("--cflags", help="Options for the compiler; --libs may follow.")] = False,
    libs: Annotated[bool, typer.Option("--libs", help="Options for the linker.")] = False,
    pkg_config: Annotated[bool, typer.Option("--pkg-config", help="The text of a pkg-config file.")] = False,
) -> None:
    """Print the path of libneuralnetworks.so, the C library for programs that call NNAPI."""
    if problem := place.library_problem():
        raise Mistake(problem)
    if env:
        for name, value in place.environment().items():
            typer.echo(f"export {name}={shlex.quote(value)}")
    elif include:
        typer.echo(place.include())
    elif cflags or libs:
        typer.echo(shlex.join([*(place.cflags() if cflags else ()), *(place.libs() if libs else ())]))
    elif pkg_config:
        typer.echo(place.pkg_config(), nl=False)
    else:
        typer.echo(place.library())
        for rival in place.rivals():
            typer.echo(f"nnapi: programs that ask for {place.NAME} by name get {rival} first", err=True)
