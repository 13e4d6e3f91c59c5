"""What the configured delegates say of themselves: asked in processes that end again."""

from __future__ import annotations

from nnapi.drivers.base import Driver
from nnapi.drivers.delegate.settings import DelegateDevice, list_settings
from nnapi.drivers.foreign.asking import Described, Unusable
from nnapi.drivers.isolated import Isolated
from nnapi.errors import NnapiError

PATIENCE = 60.0
"""Seconds that a delegate may take to be loaded."""


def list_drivers() -> list[Driver | Unusable]:
    """The drivers of all delegates that are configured; what cannot be used stands among them."""
    return [each if isinstance(each, Unusable) else _ask(each) for each in list_settings()]


def _ask(setting: DelegateDevice) -> Driver | Unusable:
    asked = Isolated(setting, patience=PATIENCE)
    try:
        return Isolated(setting, known=Described(asked.info, asked.capabilities()))
    except NnapiError as error:
        return Unusable(setting.name, str(error))
    finally:
        asked.close()
