"""Which devices a library has: asked in processes that end again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nnapi.drivers.base import Capabilities, DeviceInfo, Driver, Prepared, PrepareOptions, Verdict
from nnapi.drivers.isolated import Isolated
from nnapi.errors import BadDataError, NnapiError, OpFailedError, UnavailableDeviceError, need
from nnapi.model.model import Model

PATIENCE = 60.0
"""Seconds that a library may take to say which devices it has."""


class ForeignDevice(NamedTuple):
    """Where a device is: in which library, at which index. Calling it, in the device's process, gives its driver."""

    name: str
    path: str
    place: int

    def __call__(self) -> list[Driver]:
        from nnapi.drivers.foreign.driver import load_driver  # never in the application

        return [load_driver(*self)]


class Described(NamedTuple):
    """What a device said of itself, for who asks before its process is needed."""

    info: DeviceInfo
    declared: Capabilities

    def capabilities(self) -> Capabilities:
        return self.declared

    def verdicts(self, model: Model) -> list[Verdict]:
        raise OpFailedError(f"{self.info.name} is in another process")

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        raise OpFailedError(f"{self.info.name} is in another process")


class Unusable(NamedTuple):
    """A library that gives no devices: who asks for its device is told why."""

    name: str
    reason: str

    @property
    def info(self) -> DeviceInfo:
        raise UnavailableDeviceError(self.reason)


def list_drivers(said: str, variable: str) -> list[Driver | Unusable]:
    """The drivers of all devices of the libraries that a variable names; what cannot be used stands among them."""
    found: list[Driver | Unusable] = []
    for setting in filter(None, map(str.strip, said.split(","))):
        name, _, path = setting.partition("=")
        try:
            need(name and path, f"{variable}: {setting!r} must be NAME=PATH", BadDataError)
            found += list_devices(name, path)
        except NnapiError as error:
            reason = str(error)
            found.append(Unusable(name or variable, reason if path in reason else f"{path}: {reason}"))
    return found


def list_devices(name: str, path: str, patience: float = PATIENCE) -> Iterator[Driver]:
    """The devices of one library, which is asked in processes that end again."""
    index = 0
    while True:
        device = ForeignDevice(name, path, index)
        asked = Isolated(device, patience=patience)
        try:
            described = Described(asked.info, asked.capabilities())
        except BadDataError:  # there are no more
            need(index, f"{path} has no devices", UnavailableDeviceError)
            return
        finally:
            asked.close()
        yield Isolated(device, known=described)
        index += 1
