"""Extension attributes of a compilation or an execution: named bytes, which vendors define and drivers are given."""

from __future__ import annotations

from nnapi.drivers.base import Attribute
from nnapi.errors import BadDataError, need
from nnapi.model.extension import EXTENSIONS


class Attributes:
    """Bytes by extension name and code; each once."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._values: dict[tuple[str, int], bytes] = {}

    def add(self, extension: str, code: int, data: bytes | None) -> None:
        """Keep a copy of the bytes (None for none). BadDataError for an attribute that is there already."""
        need(
            (extension, code) not in self._values,
            f"{extension} {code} was added to {self._owner} already",
            BadDataError,
        )
        EXTENSIONS.type(extension, code)  # gives the name its prefix
        self._values[extension, code] = bytes(data or b"")

    def to_tuple(self) -> tuple[Attribute, ...]:
        """All of them, by name and code."""
        if not self._values:
            return ()
        return tuple((name, code, data) for (name, code), data in sorted(self._values.items()))
