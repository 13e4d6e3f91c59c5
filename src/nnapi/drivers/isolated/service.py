"""One process that holds drivers for several applications, each of which comes through a socket of the file system."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Mapping
from contextlib import suppress
from errno import EADDRINUSE

from nnapi.drivers.base import Driver
from nnapi.drivers.isolated.places import Place
from nnapi.drivers.isolated.protocol import Body
from nnapi.drivers.isolated.server import Session
from nnapi.errors import DeadObjectError, UnavailableDeviceError

CREDENTIALS = struct.Struct("3i")
"""Process, user and group of who is at the other end."""
WAITING = 64
"""Applications that may wait to be let in."""


class Service:
    """A socket and the drivers behind it."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        places: Mapping[str, Place],
        mode: int,
        background: Mapping[str, Place] | None = None,
    ) -> None:
        """Make the socket; OSError where that cannot be done, as when somebody serves there already. What an earlier
        service has left there goes. ``background`` are other places for models of low priority, by the same names."""
        self._path, self._places, self._background = os.fspath(path), places, background or {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._sessions: set[Session] = set()
        self._is_closed = False
        try:
            _remove_abandoned(self._path)
            before = os.umask(0o777)  # nobody comes in before the permissions are right
            try:
                self._listener.bind(self._path)
            finally:
                os.umask(before)
            os.chmod(self._path, mode)
            self._listener.listen(WAITING)
        except OSError:
            self._listener.close()
            raise

    def run(self) -> None:
        """Serve until :meth:`close`."""
        while not self._is_closed:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                break
            threading.Thread(target=self._serve, args=(connection,), name="nnapi-session", daemon=True).start()
        self._listener.close()

    def _serve(self, connection: socket.socket) -> None:
        def find(body: Body) -> Driver:
            name = str(body["device"])
            place = self._places.get(name)
            if place is None:
                raise UnavailableDeviceError(f"{name} is not served; there are: {', '.join(self._places)}")
            session.gate, session.background = place.gate, self._background.get(name)
            return place.driver

        session = Session(connection, find, trusted=False)
        self._sessions.add(session)
        session.run()
        self._sessions.discard(session)

    def close(self) -> None:
        """Let nobody in any more, and remove the socket."""
        if not self._is_closed:
            self._is_closed = True
            with suppress(OSError):
                os.unlink(self._path)
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)

    def end_sessions(self) -> None:
        """Leave those who are here."""
        for session in list(self._sessions):
            session.end()


def _remove_abandoned(path: str) -> None:
    """Remove a socket that nobody serves; OSError where somebody does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as trial:
        try:
            trial.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        except FileNotFoundError:
            pass
        else:
            raise OSError(EADDRINUSE, os.strerror(EADDRINUSE))


class Peer:
    """A service as an application sees it: in place of a process of its own."""

    def __init__(self, path: str) -> None:
        """Connect to it; DeadObjectError where nobody serves there."""
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.connection.connect(path)
        except OSError as error:
            self.connection.close()
            raise DeadObjectError(f"nobody serves devices at {path}: {error.strerror}") from None
        found = self.connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
        self.pid, *_ = CREDENTIALS.unpack(found)
        self.descriptor: int | None = None
        """Its end closes the connection, which is enough."""

    def end(self) -> tuple[str, bool]:
        """Leave it."""
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        return "the service has ended the connection", False

    def read_last_words(self) -> str:
        """Nothing: the service keeps to itself what its engines write."""
        return ""

    def has_ended(self, seconds: float) -> bool:
        return True

    def close(self) -> None:
        self.connection.close()

    def leave(self) -> None:
        """It goes on without us."""

    def forget(self) -> None:
        self.close()
