"""The socket of a service."""

import fcntl
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EADDRINUSE, EEXIST

PATIENCE = 5.0
"""Maximum seconds to wait for other services that start in the same directory."""
PAUSE = 0.02
"""Seconds between two attempts to lock the directory."""


class ServiceSocket:
    def __init__(self, path: str, mode: int, waiting: int) -> None:
        """Make the socket, instead of an ended service's; OSError if it is in use or the path is another file.

        ``waiting`` is the length of the listening queue.
        """
        self._path = path
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with _lock(path):  # two services may find the same abandoned socket
                _remove_abandoned(path)
                before = os.umask(0o777)  # nobody can connect before permissions are set
                try:
                    self.listener.bind(path)
                finally:
                    os.umask(before)
                os.chmod(path, mode)
                self.listener.listen(waiting)
            self.listener.setblocking(False)
        except OSError:
            self.listener.close()
            raise
        self._identity = _identify(path)

    def close(self) -> None:
        """Remove the socket's file, and accept no more connections."""
        with suppress(OSError):
            if _identify(self._path) == self._identity:
                os.unlink(self._path)
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)


def _identify(path: str) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_dev, found.st_ino


@contextmanager
def _lock(path: str) -> Iterator[None]:
    """Lock the directory of a path; OSError if another process has locked it for ``PATIENCE`` seconds."""
    directory = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        end = time.monotonic() + PATIENCE
        while not _try_lock(directory):
            if time.monotonic() > end:
                raise OSError(EADDRINUSE, "another process has locked the directory")
            time.sleep(PAUSE)
        yield
    finally:
        os.close(directory)


def _try_lock(directory: int) -> bool:
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_abandoned(path: str) -> None:
    """Remove a socket on which no process listens; raise OSError if it is in use or not a socket."""
    with suppress(FileNotFoundError), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as trial:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise OSError(EEXIST, "the file exists and is not a socket")
        trial.setblocking(False)
        try:
            trial.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except BlockingIOError:  # the listening queue is full
            pass
        raise OSError(EADDRINUSE, os.strerror(EADDRINUSE))
