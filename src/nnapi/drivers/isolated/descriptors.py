"""Descriptors that cross between processes: how they are made, and what is checked before one is mapped or used.

A process that reads mapped bytes which another has cut off is ended by SIGBUS. So memory files are sealed against
shrinking, and nothing is mapped that is of another type, smaller than announced, or a memory file without that seal.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from nnapi.errors import BadDataError, need

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
EVENTFD = "anon_inode:[eventfd]"
"""The name of every eventfd in /proc."""


def memory_file(parts: Sequence[Any], name: str = "nnapi-message") -> int:
    """Return a descriptor of a memory file that holds the parts, one after the other, and that nobody can change."""
    with _sealed_file(name, SEALS | fcntl.F_SEAL_WRITE) as file:
        at = 0
        for part in parts:
            at = write_at(file, part, at)
        return file


def shared_file(size: int, name: str) -> int:
    """Return a descriptor of a memory file of zeros that both sides may write to, and that keeps its size."""
    with _sealed_file(name, SEALS) as file:
        os.ftruncate(file, size)
        return file


@contextmanager
def _sealed_file(name: str, seals: int) -> Iterator[int]:
    """A memory file that is filled in the ``with`` block and sealed behind it; closed where that fails."""
    file = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        yield file
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals | fcntl.F_SEAL_SEAL)
    except BaseException:
        os.close(file)
        raise


def write_at(file: int, part: Any, at: int) -> int:
    """Write all of a part, which is contiguous bytes, and return the offset behind it."""
    rest = memoryview(part).cast("B")
    while rest:
        written = os.pwrite(file, rest, at)
        rest, at = rest[written:], at + written
    return at


def is_sealed(file: int) -> bool:
    """Return whether nobody can make the file shorter."""
    try:
        return bool(fcntl.fcntl(file, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK)
    except OSError:  # not a memory file
        return False


def need_shared(file: int, size: int) -> None:
    """Raise BadDataError unless the descriptor is a memory file of at least that many bytes that cannot shrink."""
    found = _need_file(file, size)
    need(is_sealed(file), f"a memory file of {found.st_size} bytes is not sealed against shrinking", BadDataError)


def need_constants(file: int, size: int) -> None:
    """Raise BadDataError unless the descriptor is a file of at least that many bytes.

    A file that has a name is what every application maps, and cannot be sealed; one without must be.
    """
    if _need_file(file, size).st_nlink == 0:
        need_shared(file, size)


def _need_file(file: int, size: int) -> os.stat_result:
    found = os.fstat(file)
    need(stat.S_ISREG(found.st_mode), "a descriptor to be mapped is not a file", BadDataError)
    need(0 <= size <= found.st_size, f"a file has {found.st_size} bytes, {size} were announced", BadDataError)
    return found


def need_bell(file: int) -> None:
    """Raise BadDataError unless the descriptor is an eventfd."""
    need(os.readlink(f"/proc/self/fd/{file}") == EVENTFD, "a descriptor is not an eventfd", BadDataError)


def need_socket(file: int) -> None:
    """Raise BadDataError unless the descriptor is a socket for packets between processes."""
    need(stat.S_ISSOCK(os.fstat(file).st_mode), "a descriptor is not a socket", BadDataError)
    with socket.socket(fileno=os.dup(file)) as found:
        is_right = (found.family, found.type) == (socket.AF_UNIX, socket.SOCK_SEQPACKET)
    need(is_right, "a socket is not one for packets between processes", BadDataError)
