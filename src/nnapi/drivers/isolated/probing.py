"""Devices of libraries that never enter the application: processes that end again say what these are."""

from __future__ import annotations

from typing import Any, NamedTuple

from nnapi.drivers.base import DeviceInfo
from nnapi.drivers.isolated import Isolated
from nnapi.errors import NnapiError, UnavailableDeviceError

PATIENCE = 60.0
"""Seconds that a library may take to be loaded and to say which devices it has."""


class Unusable(NamedTuple):
    """A library without a usable device; a request for its device is answered with the reason."""

    name: str
    reason: str

    @property
    def info(self) -> DeviceInfo:
        raise UnavailableDeviceError(self.reason)


def probe(load: Any, patience: float = PATIENCE) -> Isolated:
    """Return the driver that calling ``load`` makes in a process of its own, after another process has described it.

    Raises what ``load`` raises, and UnavailableDeviceError where the process ends or takes longer than ``patience``
    seconds.
    """
    driver = Isolated(load, patience=patience)
    driver.describe()
    return driver


def probe_or_explain(setting: Any) -> Isolated | Unusable:
    """As :func:`probe`; where that fails, the reason under the name of the setting."""
    try:
        return probe(setting)
    except NnapiError as error:
        return Unusable(setting.name, str(error))
