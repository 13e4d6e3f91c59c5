"""Delegates that programs pass to LiteRT, and the NNAPI devices that replace them."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from nnapi.capi import installation
from nnapi.runtime.device import devices

NNAPI = "nnapi", "neuralnetworks"
"""Words in the names of NNAPI delegates; any device may replace these."""
NAMED = "devices", "accelerator_name"
"""Options of NNAPI delegates that name devices."""


class Delegate:
    """A replacement of a delegate library: the names of ``devices`` to use, None for any."""

    def __init__(self, library: str, options: Mapping[str, Any] | None = None) -> None:
        """Find the devices for a library; raise ValueError if none replaces it."""
        self.devices = _find_devices(os.fspath(library), options or {})


def load_delegate(library: str, options: Mapping[str, Any] | None = None) -> Delegate:
    """Return the replacement of a delegate library, without loading it; raise ValueError if no device replaces it."""
    return Delegate(library, options)


def delegate_path() -> str:
    """Return the path of libnnapi_delegate.so for LiteRT's interpreters; FileNotFoundError if it was not built."""
    library = installation.delegate()
    if not library.is_file():
        raise FileNotFoundError(f"{library} has not been built: pip found no C compiler")
    return str(library)


def list_devices(delegates: Iterable[Any] | None) -> list[str] | None:
    """Return the names of the devices that replace an interpreter's delegates, in their order; None for any device."""
    named = dict.fromkeys(name for each in delegates or () for name in _of(each) or ())
    return [*named] or None


def split_names(text: str) -> list[str]:
    """Return the names of devices in a list with commas, without duplicates."""
    return [*dict.fromkeys(filter(None, map(str.strip, text.split(","))))]


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
    """Return the devices whose engine a library's name contains, as in ``libxnnpack_delegate.so``; None for any."""
    present = [device.name for device in devices()]
    stem = os.path.basename(library).lower()
    if any(word in stem for word in NNAPI) and library not in present:
        named = next((str(options[key]) for key in NAMED if options.get(key)), "")
        wanted = split_names(named)
        unknown = [name for name in wanted if name not in present]
        if unknown:
            raise ValueError(f"{library}: no device {', '.join(unknown)}; there are {', '.join(present)}")
        return wanted or None
    found = [name for name in present if name == library or name.partition("-")[0] in stem]
    if not found:
        there = ", ".join(present)
        raise ValueError(f"Failed to load delegate from {library}: no device replaces it; there are {there}")
    return found
