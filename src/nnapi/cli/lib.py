"""``nnapi lib``: print the path of libneuralnetworks.so, options for its use, and the path of the agent."""

import shlex
from typing import Annotated

import typer

from nnapi.capi import installation
from nnapi.drivers.adb import find_agent
from nnapi.errors import Mistake


def lib(
    env: Annotated[bool, typer.Option("--env", help='What to export: eval "$(nnapi lib --env)".')] = False,
    include: Annotated[bool, typer.Option("--include", help="The folder of NeuralNetworks.h.")] = False,
    cflags: Annotated[bool, typer.Option("--cflags", help="Options for the compiler; --libs may follow.")] = False,
    libs: Annotated[bool, typer.Option("--libs", help="Options for the linker.")] = False,
    pkg_config: Annotated[bool, typer.Option("--pkg-config", help="The text of a pkg-config file.")] = False,
    agent: Annotated[bool, typer.Option("--agent", help="The program that lets other machines use a library.")] = False,
) -> None:
    """Print the path of libneuralnetworks.so, the C library for programs that call NNAPI."""
    if agent:
        typer.echo(find_agent())
        return
    if problem := installation.library_problem():
        raise Mistake(problem)
    if env:
        for name, value in installation.environment().items():
            typer.echo(f"export {name}={shlex.quote(value)}")
    elif include:
        typer.echo(installation.include())
    elif cflags or libs:
        typer.echo(shlex.join([*(installation.cflags() if cflags else ()), *(installation.libs() if libs else ())]))
    elif pkg_config:
        typer.echo(installation.pkg_config(), nl=False)
    else:
        typer.echo(installation.library())
        for other in installation.find_earlier_libraries():
            typer.echo(f"nnapi: programs that ask for {installation.NAME} by name get {other} first", err=True)
