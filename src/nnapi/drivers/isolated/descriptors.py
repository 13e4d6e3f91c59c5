"""File descriptors that processes exchange. Reading a mapped page that another process has truncated raises SIGBUS. So
memory files are sealed against shrinking, and other or unsealed files are refused."""

import fcntl
import os
import socket
import stat
from collections.abc import Callable, Sequence
from typing import Any

from nnapi.errors import BadDataError, need

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
EVENTFD = "anon_inode:[eventfd]"


def memory_file(parts: Sequence[Any], name: str = "nnapi-message") -> int:
    """Return the descriptor of an immutable memory file that contains ``parts``, one after the other."""

    def fill(file: int) -> None:
        with open(file, "wb", closefd=False) as stream:
            stream.writelines(parts)

    return _sealed_file(name, SEALS | fcntl.F_SEAL_WRITE, fill)


def shared_file(size: int, name: str) -> int:
    """Return the descriptor of a memory file of zeros with a fixed size, which both sides may write to."""
    return _sealed_file(name, SEALS, lambda file: os.ftruncate(file, size))


def _sealed_file(name: str, seals: int, fill: Callable[[int], None]) -> int:
    file = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        fill(file)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals | fcntl.F_SEAL_SEAL)
    except BaseException:
        os.close(file)
        raise
    return file


def is_sealed(file: int, seal: int = fcntl.F_SEAL_SHRINK) -> bool:
    try:
        return bool(fcntl.fcntl(file, fcntl.F_GET_SEALS) & seal)
    except OSError:  # not a memory file
        return False


def need_shared(file: int, size: int) -> None:
    """Raise BadDataError unless a descriptor is a memory file of at least ``size`` bytes that cannot shrink."""
    found = _need_file(file, size)
    need(is_sealed(file), f"a memory file of {found.st_size} bytes is not sealed against shrinking", BadDataError)


def need_constants(file: int, size: int) -> None:
    """Raise BadDataError unless a descriptor is a file of at least ``size`` bytes. A file without a name must be
    sealed."""
    if _need_file(file, size).st_nlink == 0:
        need_shared(file, size)


def _need_file(file: int, size: int) -> os.stat_result:
    found = os.fstat(file)
    need(stat.S_ISREG(found.st_mode), "a descriptor to be mapped is not a file", BadDataError)
    need(0 <= size <= found.st_size, f"a file has {found.st_size} bytes, {size} were announced", BadDataError)
    return found


def need_bell(file: int) -> None:
    need(os.readlink(f"/proc/self/fd/{file}") == EVENTFD, "a descriptor is not an eventfd", BadDataError)


def need_socket(file: int) -> None:
    need(stat.S_ISSOCK(os.fstat(file).st_mode), "a descriptor is not a socket", BadDataError)
    with socket.socket(fileno=os.dup(file)) as found:
        is_right = (found.family, found.type) == (socket.AF_UNIX, socket.SOCK_SEQPACKET)
    need(is_right, "a socket is not one for packets between processes", BadDataError)
