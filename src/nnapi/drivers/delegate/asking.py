"""The devices behind the configured delegates."""

from __future__ import annotations

from nnapi.drivers.base import Driver
from nnapi.drivers.delegate.settings import DelegateDevice, list_settings
from nnapi.drivers.isolated.probing import Unusable, probe
from nnapi.errors import NnapiError


def list_drivers() -> list[Driver | Unusable]:
    """Return a driver for each configured delegate, and an :class:`Unusable` for each that cannot be used."""
    return [each if isinstance(each, Unusable) else _probe(each) for each in list_settings()]


def _probe(setting: DelegateDevice) -> Driver | Unusable:
    try:
        return probe(setting)
    except NnapiError as error:
        return Unusable(setting.name, str(error))
