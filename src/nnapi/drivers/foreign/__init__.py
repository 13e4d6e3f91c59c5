"""Devices of other NNAPI libraries, named by ``NNAPI_FOREIGN`` (docs/foreign.md). An agent process calls each library;
the application never loads it."""

import os
from typing import TYPE_CHECKING

from nnapi.errors import BadDataError, NnapiError, need

if TYPE_CHECKING:
    from nnapi.contract.driver import Driver
    from nnapi.drivers.isolated.probing import Unusable

VARIABLE = "NNAPI_FOREIGN"


def find_drivers() -> "list[Driver | Unusable]":
    """Return the drivers of all devices of libraries in NNAPI_FOREIGN; an Unusable for a library without any."""
    settings = [*filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(",")))]
    if not settings:
        return []
    from nnapi.drivers.foreign.driver import list_devices  # on demand: few programs need it
    from nnapi.drivers.isolated.probing import Unusable

    found: list[Driver | Unusable] = []
    for setting in settings:
        name, _, path = setting.partition("=")
        try:
            need(name and path, f"{VARIABLE}: {setting!r} must be NAME=PATH or NAME=ADDRESS", BadDataError)
            found += list_devices(name, path)
        except NnapiError as error:
            reason = str(error)
            found.append(Unusable(name or VARIABLE, reason if path in reason else f"{path}: {reason}"))
    return found
