"""``nnapi serve``: hold the devices of this machine for several applications."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path
from typing import Annotated

import typer

import nnapi
from nnapi.cli.failure import Mistake
from nnapi.cli.text import console
from nnapi.drivers.isolated import Isolated
from nnapi.drivers.isolated.places import Place
from nnapi.drivers.isolated.service import Service
from nnapi.runtime.executors.queue import Turnstile


def serve(
    socket: Annotated[Path, typer.Argument(metavar="SOCKET", help="The socket to make.", show_default=False)],
    device: Annotated[
        list[str] | None,
        typer.Option("--device", "-d", help="Serve these devices only (may be repeated)."),
    ] = None,
    mode: Annotated[str, typer.Option(help="The socket's permissions, in octal: who may use it.")] = "600",
) -> None:
    """Serve devices through a socket until this is ended; applications find it by NNAPI_SERVICE.

    Runs of all applications wait for their turn by priority. Those of low priority have processes of their own, which
    give way to others. Whoever may write to the socket may use the devices.
    """
    try:
        permissions = stat.S_IMODE(int(mode, 8))
    except ValueError:
        raise Mistake(f"{mode} are no permissions: give three octal digits, such as 660") from None
    found = [nnapi.device(name) for name in device] if device else nnapi.devices()
    places = {each.name: Place(each.driver, each.queue.turn) for each in found}
    room = max(1, (os.cpu_count() or 1) - 1)  # a processor is free for whoever comes with a higher priority
    apart = [nnapi.Device(Isolated(each.name, known=each.driver, background=True), Turnstile(room)) for each in found]
    background = {each.name: Place(each.driver, each.queue.turn) for each in apart}
    try:
        service = Service(socket, places, permissions, background)
    except OSError as error:
        raise Mistake(f"{socket} cannot be served: {error.strerror or error}") from None
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: service.close())
    console().print(f"serving {', '.join(places)} at {socket}", markup=False)
    service.run()
    for each in apart:
        each.close()
