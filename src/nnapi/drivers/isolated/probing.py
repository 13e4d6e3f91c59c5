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


def probe(setting: Any) -> Isolated | Unusable:
    """Return the isolated driver of a picklable setting, after a first process has described it."""
    driver = Isolated(setting, patience=PATIENCE)
    try:
        driver.describe()
    except NnapiError as error:
        return Unusable(setting.name, str(error))
    return driver
