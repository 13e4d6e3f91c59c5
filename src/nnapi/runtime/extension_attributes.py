"""Extension attributes of a compilation or an execution: bytes by name, defined by vendors, for drivers."""

from nnapi.drivers.base import Attribute
from nnapi.errors import BadDataError, need
from nnapi.model.extension import EXTENSIONS


class Attributes:
    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._values: dict[tuple[str, int], bytes] = {}

    def add(self, extension: str, code: int, data: bytes | None) -> None:
        """Add a copy of the bytes (None for none). BadDataError for an attribute that was added already."""
        is_new = (extension, code) not in self._values
        need(is_new, f"{extension} {code} was added to {self._owner} already", BadDataError)
        EXTENSIONS.type(extension, code)  # registers the prefix of the name
        self._values[extension, code] = bytes(data or b"")

    def to_tuple(self) -> tuple[Attribute, ...]:
        """Return all attributes, sorted by name and code."""
        if not self._values:  # as in nearly every run
            return ()
        return tuple((name, code, data) for (name, code), data in sorted(self._values.items()))
