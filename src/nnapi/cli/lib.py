"""``nnapi lib``: print the path of libneuralnetworks.so, options for its use, and the path of the agent."""

import shlex
from typing import Annotated

import typer

from nnapi.capi import installation
from nnapi.cli.command import refuse_several
from nnapi.errors import Mistake
from nnapi.host.adb import find_agent


def lib(
    env: Annotated[
        bool, typer.Option("--env", help='Print export lines for the shell: eval "$(nnapi lib --env)".')
    ] = False,
    include: Annotated[bool, typer.Option("--include", help="Print the folder of NeuralNetworks.h.")] = False,
    cflags: Annotated[
        bool, typer.Option("--cflags", help="Print options for the compiler; can be combined with --libs.")
    ] = False,
    libs: Annotated[bool, typer.Option("--libs", help="Print options for the linker.")] = False,
    pkg_config: Annotated[bool, typer.Option("--pkg-config", help="Print a pkg-config file.")] = False,
    agent: Annotated[
        bool,
        typer.Option(
            "--agent",
            help="Print the path of nnapi-agent, the program that gives other machines access to an NNAPI library.",
        ),
    ] = False,
) -> None:
    """Print the path of libneuralnetworks.so, the C library for programs that call NNAPI."""
    refuse_several(["env", "include", "cflags", "pkg_config", "agent"])
    refuse_several(["env", "include", "libs", "pkg_config", "agent"])
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
            typer.echo(
                f"nnapi: programs that load {installation.NAME} by name get {other} instead, which is found first",
                err=True,
            )
