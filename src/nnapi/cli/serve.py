"""``nnapi serve``: hold the devices of this machine for several applications."""

from __future__ import annotations

import signal
import stat
from pathlib import Path
from typing import Annotated

import typer

import nnapi
from nnapi.cli.failure import Mistake
from nnapi.cli.text import console
from nnapi.drivers.isolated.service import Service


def serve(
    socket: Annotated[Path, typer.Argument(metavar="SOCKET", help="The socket to make.", show_default=False)],
    device: Annotated[
        list[str] | None,
        typer.Option("--device", "-d", help="Serve these devices only (may be repeated)."),
    ] = None,
    mode: Annotated[str, typer.Option(help="The socket's permissions, in octal: who may use it.")] = "600",
) -> None:
    """Serve devices through a socket until this is ended; applications find it by NNAPI_SERVICE.

    Runs of all applications wait for their turn by priority. Whoever may write to the socket may use the devices.
    """
    try:
        permissions = stat.S_IMODE(int(mode, 8))
    except ValueError:
        raise Mistake(f"{mode} are no permissions: give three octal digits, such as 660") from None
    found = [nnapi.device(name) for name in device] if device else nnapi.devices()
    drivers = {each.name: (each.driver, each.queue.turn) for each in found}
    try:
        service = Service(socket, drivers, permissions)
    except OSError as error:
        raise Mistake(f"{socket} cannot be served: {error.strerror or error}") from None
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: service.close())
    console().print(f"serving {', '.join(drivers)} at {socket}", markup=False)
    service.run()
