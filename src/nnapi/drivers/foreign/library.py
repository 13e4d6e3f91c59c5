"""Another NNAPI library, loaded: functions by name, result codes as exceptions."""

from __future__ import annotations

import ctypes
from typing import Any

from nnapi.codes import ResultCode
from nnapi.drivers.foreign.functions import ENTRY_OF_SUPPORT_LIBRARY, FUNCTIONS, PREFIX, TABLE
from nnapi.errors import OpFailedError, UnavailableDeviceError, error_for, need

ENOUGH = 3
"""The feature level whose functions a library must have: below, devices cannot be named."""


class Library:
    """A shared object that exports NNAPI's functions, or a table of them."""

    def __init__(self, path: str) -> None:
        """Load it; UnavailableDeviceError, with the reason, if it is unusable."""
        try:
            self._loaded = ctypes.CDLL(path)
        except OSError as error:
            raise UnavailableDeviceError(f"it cannot be loaded: {error}") from None
        self.path = path
        table = self._read_table()
        self._functions = {}
        for name, signature in FUNCTIONS.items():
            address = table.get(PREFIX + name) if table else self._find(PREFIX + name)
            if address:
                self._functions[name] = signature.type(address)
        missing = [PREFIX + n for n, s in FUNCTIONS.items() if s.level <= ENOUGH and n not in self._functions]
        need(not missing, f"{path} is not an NNAPI library: it has no {', '.join(missing[:3])}", UnavailableDeviceError)

    @property
    def level(self) -> int:
        """The highest feature level of which it has all functions called here, whatever it reports."""
        return min([s.level - 1 for name, s in FUNCTIONS.items() if name not in self._functions], default=8)

    def call(self, name: str, *arguments: Any) -> None:
        code = self.call_for_code(name, *arguments)
        if code:
            raise self.error(name, code)

    def call_for_code(self, name: str, *arguments: Any) -> int:
        function = self._functions.get(name)
        if function is None:
            raise OpFailedError(f"{self.path} has no {PREFIX}{name}")
        return int(function(*arguments))

    def error(self, name: str, code: int) -> Exception:
        """Return the exception of a result code; OpFailedError for an unknown code."""
        known = code in ResultCode.__members__.values()
        said = ResultCode(code).name if known else f"result code {code}, which NNAPI does not have"
        return (error_for(code) if known else OpFailedError)(f"{PREFIX}{name} of {self.path} gives {said}")

    def make(self, name: str, *arguments: Any) -> int:
        """Return the handle that a function writes through its last parameter."""
        handle = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.byref(handle))
        need(handle.value, f"{PREFIX}{name} of {self.path} gives no error and no handle")
        return handle.value or 0

    def free(self, kind: str, handle: int) -> None:
        self._functions[f"{kind}_free"](handle)

    def _find(self, name: str) -> int | None:
        try:
            return ctypes.cast(getattr(self._loaded, name), ctypes.c_void_p).value
        except AttributeError:
            return None

    def _read_table(self) -> dict[str, int | None]:
        """Return the addresses in a support library's table; none if functions are exported by name."""
        if self._find(PREFIX + "Model_create") or not self._find(ENTRY_OF_SUPPORT_LIBRARY):
            return {}
        entry = getattr(self._loaded, ENTRY_OF_SUPPORT_LIBRARY)
        entry.restype = ctypes.c_void_p
        table = entry()
        need(table, f"{ENTRY_OF_SUPPORT_LIBRARY} of {self.path} gives nothing", UnavailableDeviceError)
        addresses = (ctypes.c_void_p * len(TABLE)).from_address(table + ctypes.sizeof(ctypes.c_int64))
        return dict(zip(TABLE, addresses, strict=True))
