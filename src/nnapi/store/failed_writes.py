"""Errors of writes to a cache. They only cost time, unless the cache is the purpose of a call."""

from collections.abc import Iterator
from contextlib import contextmanager

_noted: dict[int, list[OSError]] = {}
"""The lists of all open blocks, by identity."""


@contextmanager
def noting_failed_writes() -> Iterator[list[OSError]]:
    """Yield a list to which the errors of writes in this block are appended, in any thread."""
    found: list[OSError] = []
    _noted[id(found)] = found
    try:
        yield found
    finally:
        del _noted[id(found)]


def note_failed_write(error: OSError) -> None:
    for found in list(_noted.values()):
        found.append(error)
