"""Discovery of the devices of libraries."""

from contextlib import closing

from nnapi.drivers.base import Driver
from nnapi.drivers.foreign.agent import Agent
from nnapi.drivers.foreign.driver import ForeignDriver
from nnapi.drivers.isolated.probing import PATIENCE, Unusable
from nnapi.errors import BadDataError, NnapiError, UnavailableDeviceError, need


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


def list_devices(name: str, path: str, patience: float = PATIENCE) -> list[ForeignDriver]:
    """Return the drivers of a library's devices, each of which connects again at first use."""
    with closing(Agent(path, patience)) as agent:
        devices = agent.list_devices()
        need(devices, f"{path} has no devices", UnavailableDeviceError)
        return [ForeignDriver(name, path, index, agent) for index in range(len(devices))]
