"""Delegates of LiteRT that programs name, and the devices that replace them."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from nnapi.capi import installation
from nnapi.runtime.device import devices

NNAPI = "nnapi", "neuralnetworks"
"""Words in the names of libraries that delegate to NNAPI, for which any device will do."""
NAMED = "devices", "accelerator_name"
"""Options of such delegates that name devices."""


class Delegate:
    """A delegate that a program names, with its devices; None for all of them."""

    def __init__(self, library: str, options: Mapping[str, Any] | None = None) -> None:
        """Raise ValueError if no device replaces it."""
        self.devices = _find_devices(os.fspath(library), options or {})


def load_delegate(library: str, options: Mapping[str, Any] | None = None) -> Delegate:
    """Return the delegate of a library, which is not loaded. ValueError if no device replaces it."""
    return Delegate(library, options)


def delegate_path() -> str:
    """Return the path of the delegate for LiteRT's own interpreters; FileNotFoundError if it was not built."""
    library = installation.delegate()
    if not library.is_file():
        raise FileNotFoundError(f"{library} has not been built: pip found no C compiler")
    return str(library)


def list_devices(delegates: Iterable[Any] | None) -> list[str] | None:
    """List the devices of an interpreter's delegates, in the order given; None for any."""
    named = dict.fromkeys(name for each in delegates or () for name in _of(each) or ())
    return [*named] or None


def _of(delegate: Any) -> list[str] | None:
    if isinstance(delegate, Delegate):
        return delegate.devices
    if isinstance(delegate, str):
        return _find_devices(delegate, {})
    library = getattr(getattr(delegate, "_library", None), "_name", None)
    if library is None:
        raise ValueError(f"{delegate!r} is not a delegate: give what load_delegate returns, or the name of a device")
    return _find_devices(library, {})


def _find_devices(library: str, options: Mapping[str, Any]) -> list[str] | None:
    """Find the devices whose engine a library's name contains, as ``libxnnpack_delegate.so`` does; None for any."""
    present = [device.name for device in devices()]
    stem = os.path.basename(library).lower()
    if any(word in stem for word in NNAPI) and library not in present:
        named = next((str(options[key]) for key in NAMED if options.get(key)), "")
        wanted = [name.strip() for name in named.split(",") if name.strip()]
        unknown = [name for name in wanted if name not in present]
        if unknown:
            raise ValueError(f"{library}: no device {', '.join(unknown)}; there are {', '.join(present)}")
        return wanted or None
    found = [name for name in present if name == library or name.partition("-")[0] in stem]
    if not found:
        there = ", ".join(present)
        raise ValueError(f"Failed to load delegate from {library}: no device replaces it; there are {there}")
    return found
