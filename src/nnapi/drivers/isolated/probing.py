"""Drivers of libraries that the application never loads: a short-lived process describes their devices."""

from typing import Any, NamedTuple

from nnapi.contract.driver import DeviceInfo
from nnapi.drivers.isolated import Isolated
from nnapi.errors import NnapiError, UnavailableDeviceError

PATIENCE = 60.0
"""Maximum seconds to load a library and describe its devices."""


class Unusable(NamedTuple):
    """A library without a usable device; using it raises an error with the reason."""

    name: str
    reason: str

    @property
    def info(self) -> DeviceInfo:
        raise UnavailableDeviceError(self.reason)


def probe(setting: Any) -> Isolated | Unusable:
    """Return the isolated driver of a picklable setting, after a first process has described the device."""
    driver = Isolated(setting, patience=PATIENCE)
    try:
        driver.describe()
    except NnapiError as error:
        return Unusable(setting.name, str(error))
    return driver
