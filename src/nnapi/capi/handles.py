"""Handles: the opaque pointers of C, and the objects behind them. A handle is never reused, so a freed one is
recognized. An object lives as long as any object made from it, so clients may free handles in any order."""

from typing import Any

from nnapi.errors import BadDataError
from nnapi.locks import Numbers, make_lock

FIRST, STEP = 0x1000, 0x10
"""Handles look like aligned addresses, but no process has memory there."""


class Handles:
    """The objects of one kind by the handles that C holds. Safe to use from several threads."""

    numbers = Numbers(FIRST, STEP)  # one sequence for all kinds, so that handles of other kinds are recognized

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._objects: dict[int, Any] = {}
        self._constant: dict[int, int] = {}
        self._lock = make_lock()

    def add(self, value: Any) -> int:
        """Return a new handle for an object."""
        handle = next(self.numbers)
        self._objects[handle] = value
        return handle

    def add_once(self, value: Any) -> int:
        """Return the only handle of an object that is never freed, such as a device."""
        with self._lock:
            if id(value) not in self._constant:
                self._constant[id(value)] = self.add(value)
            return self._constant[id(value)]

    def __getitem__(self, handle: int) -> Any:
        """Return the object; raise BadDataError for a handle that was freed or belongs to another kind."""
        try:
            return self._objects[handle]
        except KeyError:
            raise self._refuse(handle) from None

    def find(self, handle: int) -> Any:
        """Return the object behind a handle; None for other numbers."""
        return self._objects.get(handle)

    def free(self, handle: int) -> None:
        if self._objects.pop(handle, None) is None:
            raise self._refuse(handle)

    def _refuse(self, handle: int) -> BadDataError:
        return BadDataError(f"{handle:#x} is not a handle of a {self.kind}, or has been freed")

    def __len__(self) -> int:
        return len(self._objects)
