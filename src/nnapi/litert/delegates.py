"""Delegates of LiteRT that programs name, and the devices that stand for them here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from nnapi.capi import installation
from nnapi.runtime.device import devices

NNAPI = "nnapi", "neuralnetworks"
"""In the name of a delegate's library: that it hands its part to NNAPI, and so to whatever device is best."""
NAMED = "devices", "accelerator_name"
"""Options of such delegates that name devices."""


class Delegate:
    """A delegate as a program names it: the devices that stand for it, all of them where it names none."""

    def __init__(self, library: str, options: Mapping[str, Any] | None = None) -> None:
        """ValueError where no device stands for it."""
        self.devices = _find_devices(os.fspath(library), options or {})


def load_delegate(library: str, options: Mapping[str, Any] | None = None) -> Delegate:
    """The delegate of a library, which itself is not loaded. ValueError where no device stands for it."""
    return Delegate(library, options)


def delegate_path() -> str:
    """Where the delegate is that LiteRT's own interpreters load. FileNotFoundError where it was not built."""
    library = installation.delegate()
    if not library.is_file():
        raise FileNotFoundError(f"{library} has not been built: no C compiler was found when the package was installed")
    return str(library)


def list_devices(delegates: Iterable[Any] | None) -> list[str] | None:
    """The devices of an interpreter's delegates, in the order given; None where it may have any."""
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
    """The devices whose engine a library's name holds, as ``libxnnpack_delegate.so`` does; None where any will do."""
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
        raise ValueError(f"no device stands for the delegate {library}; there are {', '.join(present)}")
    return found
