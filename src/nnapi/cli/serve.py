"""``nnapi serve``: share this machine's devices between applications."""

import signal
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

import nnapi
from nnapi.cli.failure import ExitCode
from nnapi.cli.interruption import handlers
from nnapi.cli.options import Names, device_option
from nnapi.cli.printing import console
from nnapi.drivers.isolated.allowance import Allowance
from nnapi.drivers.isolated.service import APPLICATIONS, RATE, Service
from nnapi.errors import Mistake

DEFAULT = Allowance()


def serve(
    socket: Annotated[Path, typer.Argument(metavar="SOCKET", help="Path of the socket to create.", show_default=False)],
    device: Annotated[Names, device_option("Serve these devices only (may be repeated).")] = None,
    mode: Annotated[
        str, typer.Option(help="The socket's permissions in octal, which determine the users that may connect.")
    ] = "600",
    applications: Annotated[
        int, typer.Option(help="Maximum number of concurrent connections of all applications.")
    ] = APPLICATIONS,
    rate: Annotated[
        float,
        typer.Option(
            help="Maximum number of new connections of a process per second (a user: three times as many); others wait."
        ),
    ] = RATE,
    memory: Annotated[
        int,
        typer.Option(
            help="Maximum memory of each application, in MiB.",
            show_default="a quarter of the machine's memory, at most 4096",
        ),
    ] = DEFAULT.memory >> 20,
    models: Annotated[int, typer.Option(help="Maximum number of models of each application.")] = DEFAULT.models,
    max_threads: Annotated[
        int,
        typer.Option(
            help="Maximum number of concurrent runs of each application, and of threads of a model.",
            show_default="64 plus the number of processors",
        ),
    ] = DEFAULT.threads,
    descriptors: Annotated[
        int, typer.Option(help="Maximum number of open descriptors of each application.")
    ] = DEFAULT.descriptors,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="Maximum time of one run or preparation, in seconds.")
    ] = DEFAULT.seconds,
) -> None:
    """Serve devices through a socket until this command ends; applications find the socket by NNAPI_SERVICE.

    Each application has a worker process of its own. All users who may write to the socket may use the devices.
    """
    try:
        permissions = int(mode, 8)
    except ValueError:
        permissions = -1
    if not 0 <= permissions <= 0o777:
        raise Mistake(f"--mode is {mode}, must be three octal digits, such as 660")
    limits = {"--applications": applications, "--rate": rate, "--memory": memory, "--models": models}
    limits |= {"--max-threads": max_threads, "--descriptors": descriptors, "--timeout": timeout}
    for option, limit in limits.items():
        if limit <= 0:
            raise Mistake(f"{option} is {limit:g}, must be above 0")
    drivers = {each.name: each.driver for each in (map(nnapi.device, device) if device else nnapi.devices())}
    try:
        allowance = Allowance(memory << 20, models, max_threads, descriptors, timeout)
        service = Service(socket, drivers, permissions, allowance, applications, rate)
    except nnapi.BadDataError as error:
        raise Mistake(str(error)) from None
    except OSError as error:
        raise Mistake(f"{socket} cannot be served: {error.strerror or error}") from None
    ends: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        ends.append(number)
        service.close()

    with handlers({signal.SIGTERM: end, signal.SIGINT: end}):
        console().print(f"serving {', '.join(drivers)} at {socket}", markup=False)
        service.run()
    if signal.SIGINT in ends:
        raise typer.Exit(ExitCode.STOPPED)
