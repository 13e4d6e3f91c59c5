"""Drivers of libraries that are never loaded into the application: short-lived processes describe them."""

from typing import Any, NamedTuple

from nnapi.drivers.base import DeviceInfo
from nnapi.drivers.isolated import Isolated
from nnapi.errors import NnapiError, UnavailableDeviceError

PATIENCE = 60.0
"""Seconds for loading a library and describing its devices."""


class Unusable(NamedTuple):
    """A library without a usable device; requests for it are answered with the reason."""

    name: str
    reason: str

    @property
    def info(self) -> DeviceInfo:
        raise UnavailableDeviceError(self.reason)


def probe(load: Any, patience: float = PATIENCE) -> Isolated:
    """Return the isolated driver that ``load`` makes, after a first process has described it. Raises what ``load``
    raises, and UnavailableDeviceError if the process ends or takes longer than ``patience`` seconds."""
    driver = Isolated(load, patience=patience)
    driver.describe()
    return driver


def probe_or_explain(setting: Any) -> Isolated | Unusable:
    try:
        return probe(setting)
    except NnapiError as error:
        return Unusable(setting.name, str(error))
