"""Discovery of the devices of a library, in short-lived processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import NamedTuple

from nnapi.drivers.base import Driver
from nnapi.drivers.isolated.probing import PATIENCE, Unusable, probe
from nnapi.drivers.output import Output, collect_output
from nnapi.errors import BadDataError, NnapiError, UnavailableDeviceError, need


class ForeignDevice(NamedTuple):
    """The library and the index of a device. Calling it, in the device's process, returns its driver."""

    name: str
    path: str
    place: int

    def __call__(self) -> list[Driver]:
        from nnapi.drivers.foreign.driver import load_driver  # never in the application

        return [load_driver(*self, end_process)]


def end_process(reason: str, by_itself: bool) -> None:
    """End this process, which is a device's own: the next use of the device starts another, with a new connection.
    SIGTERM is not blamed on the model that ran."""
    with collect_output(Output()):  # where the application reads the reason
        os.write(2, f"{reason}\n".encode())
        if not by_itself:
            os.kill(os.getpid(), signal.SIGTERM)
        os._exit(1)


def list_drivers(said: str, variable: str) -> list[Driver | Unusable]:
    """Return the drivers of all devices of the libraries that a variable names, and the unusable ones."""
    found: list[Driver | Unusable] = []
    for setting in filter(None, map(str.strip, said.split(","))):
        name, _, path = setting.partition("=")
        try:
            need(
                name and path,
                f"{variable}: {setting!r} must be NAME=PATH or NAME=ADDRESS",
                BadDataError,
            )
            found += list_devices(name, path)
        except NnapiError as error:
            reason = str(error)
            found.append(Unusable(name or variable, reason if path in reason else f"{path}: {reason}"))
    return found


def list_devices(name: str, path: str, patience: float = PATIENCE) -> Iterator[Driver]:
    index = 0
    while True:
        device = ForeignDevice(name, path, index)
        try:
            found = probe(device, patience)
        except BadDataError:  # no more devices
            need(index, f"{path} has no devices", UnavailableDeviceError)
            return
        yield found
        index += 1
