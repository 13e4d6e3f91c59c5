"""A connection to a service, used in place of a :class:`~nnapi.drivers.isolated.process.Process`."""

from __future__ import annotations

import select
import socket
import struct
from contextlib import suppress
from errno import EAGAIN
from math import modf

from nnapi.drivers.isolated.protocol import Violation, receive
from nnapi.errors import DeadObjectError

TIME = struct.Struct("@ll")


class Peer:
    pid = 0
    """The worker's ID is in its greeting."""
    descriptor: int | None = None
    """Not needed: the worker's end closes its channels."""

    def __init__(self, path: str, patience: float | None) -> None:
        """Connect; DeadObjectError if nothing serves there, or does not accept within ``patience`` seconds."""
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._end: tuple[str, bool] | None = None
        if patience is not None:  # the timeout of Python's sockets does not hold for these
            part, whole = modf(max(patience, 1e-6))
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, TIME.pack(int(whole), int(part * 1e6)))
        try:
            self.connection.connect(path)
        except OSError as error:
            self.connection.close()
            is_late = error.errno == EAGAIN
            reason = f"it let nobody in for {patience:g} s" if is_late and patience is not None else error.strerror
            raise DeadObjectError(f"nobody serves devices at {path}: {reason}") from None

    def end(self) -> tuple[str, bool]:
        """Disconnect; return how the worker ended, and whether by itself."""
        self.await_end(0)
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        return self._end or ("the service has ended the connection", False)

    def read_last_words(self) -> str:
        """Return nothing: the service does not pass on what its engines write."""
        return ""

    def await_end(self, seconds: float) -> None:
        """Wait so long for the service's report of the worker's end."""
        if self._end is None and self.connection.fileno() >= 0:
            poll = select.poll()
            poll.register(self.connection, select.POLLIN)
            with suppress(OSError, Violation, KeyError, TypeError, ValueError):
                if poll.poll(seconds * 1e3) and (message := receive(self.connection)):
                    message.close()
                    words, by_itself = message.body["end"]
                    self._end = str(words), bool(by_itself)

    def close(self) -> None:
        self.connection.close()

    def leave(self) -> None:
        """Do nothing: the service outlives this process."""

    def forget(self) -> None:
        self.close()
