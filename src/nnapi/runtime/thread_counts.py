"""The permitted numbers of threads and of concurrent runs."""

from operator import index
from typing import SupportsIndex

from nnapi.errors import BadDataError, need

MOST_THREADS = 1024
"""As many processors as the kernel's default processor set has. With tens of thousands of threads, engines crash."""


def read_threads(threads: SupportsIndex | None, what: str = "threads") -> int | None:
    """Return the number of threads of a run, or None; raise BadDataError as :func:`read_count` does."""
    return None if threads is None else read_count(threads, what)


def read_count(given: SupportsIndex, what: str) -> int:
    """Return a number of threads; raise BadDataError unless it is an integer from 1 to MOST_THREADS."""
    try:
        count = index(given)
    except TypeError:
        raise BadDataError(f"{what} is {given!r}, must be an integer from 1 to {MOST_THREADS}") from None
    need(0 < count <= MOST_THREADS, f"{what} is {given!r}, must be from 1 to {MOST_THREADS}", BadDataError)
    return count
