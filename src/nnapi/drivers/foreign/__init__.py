"""Devices of other NNAPI libraries, named by ``NNAPI_FOREIGN`` (docs/foreign.md), each in a process of its own: nothing
of a library is loaded into the application."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nnapi.drivers.base import Driver
    from nnapi.drivers.isolated.probing import Unusable

VARIABLE = "NNAPI_FOREIGN"


def find_drivers() -> "list[Driver | Unusable]":
    """Return the drivers of all devices of the libraries that NNAPI_FOREIGN names, and the unusable ones."""
    said = os.environ.get(VARIABLE)
    if not said:
        return []
    from nnapi.drivers.foreign.driver import list_drivers  # on demand: few programs need it

    return list_drivers(said)
