"""Devices behind external delegates of TensorFlow Lite, as vendors bring them: each becomes one of ours, in a process
of its own.

``NNAPI_DELEGATES=NAME=PATH?OPTION=VALUE`` names them, or a file of configuration (docs/delegates.md). Nothing of a
delegate is loaded into the application.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnapi.drivers.base import Driver
from nnapi.drivers.foreign import Described, Unusable
from nnapi.errors import NnapiError

if TYPE_CHECKING:
    from nnapi.drivers.delegate.settings import DelegateDevice

PATIENCE = 60.0
"""Seconds that a delegate may take to be loaded."""


def find_drivers() -> list[Driver | Unusable]:
    """The drivers of all delegates that are configured; what cannot be used stands among them."""
    from nnapi.drivers.delegate.settings import list_settings

    return [each if isinstance(each, Unusable) else _ask(each) for each in list_settings()]


def _ask(setting: DelegateDevice) -> Driver | Unusable:
    from nnapi.drivers.isolated import Isolated  # which few ask for

    asked = Isolated(setting, patience=PATIENCE)
    try:
        return Isolated(setting, known=Described(asked.info, asked.capabilities()))
    except NnapiError as error:
        return Unusable(setting.name, str(error))
    finally:
        asked.close()
