"""A service as an application sees it: in place of a process of its own."""

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
"""Seconds and microseconds."""


class Peer:
    """A connection to a service."""

    pid = 0
    """That of the worker: its greeting has it."""
    descriptor: int | None = None
    """The worker's end closes its channels, which is enough."""

    def __init__(self, path: str, patience: float | None) -> None:
        """Connect to it; DeadObjectError where nobody serves there, or lets nobody in for ``patience`` seconds."""
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
        """Leave it; how the worker ended, in words, and whether that was its own doing."""
        self.has_ended(0)
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        return self._end or ("the service has ended the connection", False)

    def read_last_words(self) -> str:
        """Return nothing: the service keeps to itself what its engines write."""
        return ""

    def has_ended(self, seconds: float) -> bool:
        """Return whether the worker ends in that time, and keep what the service says of it."""
        if self._end is None and self.connection.fileno() >= 0:
            poll = select.poll()
            poll.register(self.connection, select.POLLIN)
            with suppress(OSError, Violation, KeyError, TypeError, ValueError):
                if poll.poll(seconds * 1e3) and (message := receive(self.connection)):
                    message.close()
                    words, by_itself = message.body["end"]
                    self._end = str(words), bool(by_itself)
        return self._end is not None

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def leave(self) -> None:
        """It goes on without this process."""

    def forget(self) -> None:
        """Leave it to the process that this one was forked from."""
        self.close()
