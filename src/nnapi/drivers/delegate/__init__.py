"""Devices behind external delegates of TensorFlow Lite, configured as in docs/delegates.md. Each runs in a process of
its own; the application never loads the delegate's library."""

from typing import TYPE_CHECKING

from nnapi.drivers.delegate.configuration import has_settings

if TYPE_CHECKING:
    from nnapi.contract.driver import Driver
    from nnapi.drivers.isolated.probing import Unusable


def find_drivers() -> "list[Driver | Unusable]":
    """Return the drivers of all configured delegates, and an Unusable for each that does not work."""
    if not has_settings():
        return []
    from nnapi.drivers.delegate.settings import list_settings  # on demand: few programs need it
    from nnapi.drivers.isolated.probing import Unusable, probe

    return [each if isinstance(each, Unusable) else probe(each) for each in list_settings()]
