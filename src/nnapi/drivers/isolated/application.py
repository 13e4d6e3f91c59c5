"""An application that has connected to a service."""

import os
import select
import socket
import struct
from errno import EINVAL, ENOPROTOOPT
from math import inf

CREDENTIALS = struct.Struct("iII")
"""SO_PEERCRED: process, user and group ID of the peer."""
SO_PEERPIDFD = 77
"""Socket option since Linux 6.5: a pidfd of the peer, also of another PID namespace."""


class Application:
    """A connection, and the process that made it. The process may pass its end of the connection to any process, even
    to the worker that serves it. So the connection can outlive the process, and the service watches the process."""

    def __init__(self, connection: socket.socket) -> None:
        """Raise OSError if the process cannot be watched; else own the connection."""
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        self.process, self.user, _ = CREDENTIALS.unpack(credentials)
        self.end = _open_process(connection, self.process)
        """A pidfd, readable once the process has ended."""
        self.connection = connection

    def has_ended(self) -> bool:
        poll = select.poll()
        poll.register(self.end, select.POLLIN)
        return bool(poll.poll(0))

    def close(self) -> None:
        self.connection.close()
        os.close(self.end)


def _open_process(connection: socket.socket, process: int) -> int:
    try:
        return connection.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
    except OSError as error:
        if error.errno != ENOPROTOOPT:
            raise
    if not process:
        raise OSError(EINVAL, "it is in another PID namespace, which needs Linux 6.5")
    return os.pidfd_open(process)


class ConnectionRate:
    """A token bucket per process or user: it may open ``burst`` connections at once after a pause."""

    def __init__(self, per_second: float, burst: int) -> None:
        self._interval, self._burst = 1 / per_second, burst
        self._full: dict[int, float] = {}
        """By process or user: the time at which its bucket is full again."""

    def find_due(self, key: int) -> float:
        """Return the time from which the next connection may be answered."""
        return self._full.get(key, -inf) - (self._burst - 1) * self._interval

    def count(self, key: int, now: float) -> None:
        """Count a connection that is answered."""
        self._full = {each: full for each, full in self._full.items() if full > now}
        self._full[key] = self._full.get(key, now) + self._interval
