"""Constants that the workers of a service share: equal bytes are mapped once. The service finds them by digest. A
worker compares the bytes before it uses another's, so a wrong digest does no harm."""

import fcntl
import os
import socket
import weakref
from collections.abc import Iterable
from contextlib import suppress
from hashlib import blake2b

import numpy as np

from nnapi.drivers.isolated.constants import map_file
from nnapi.drivers.isolated.descriptors import is_sealed
from nnapi.errors import BadDataError
from nnapi.locks import make_lock
from nnapi.model.memory import Memory, mappings

DIGEST = 32
FORGET = b"-"
"""Suffix of a message: the worker no longer has the constants with this digest."""
LEAST = 1 << 20
"""Minimum bytes of constants that are shared."""
KEPT = 8
"""Maximum files of one worker that the service keeps open for other workers."""


class Shelf:
    """A worker's access to constants of other workers, through a socket to the service."""

    def __init__(self, service: socket.socket) -> None:
        self._service, self._lock = service, make_lock()

    def map(self, size: int, descriptor: int) -> Memory:
        """Map the constants of a model, or another worker's equal constants; raise BadDataError for an unsafe file."""
        own = map_file(size, descriptor)
        if size < LEAST or not is_sealed(descriptor, fcntl.F_SEAL_WRITE):
            return own
        digest = blake2b(own.view().data, digest_size=DIGEST).digest()
        with suppress(OSError, BadDataError):
            own = self._find(digest, own, descriptor)
        weakref.finalize(mappings([own.view()])[0], self._forget, digest)
        return own

    def _find(self, digest: bytes, own: Memory, descriptor: int) -> Memory:
        with self._lock:
            socket.send_fds(self._service, [digest], [descriptor])
            _, files, _, _ = socket.recv_fds(self._service, 1, 1)
        for file in files:
            try:
                other = map_file(own.size, file)
                if is_sealed(file, fcntl.F_SEAL_WRITE) and np.array_equal(own.view(), other.view()):
                    return other
            finally:
                os.close(file)
        return own

    def _forget(self, digest: bytes) -> None:
        """Let the service close its descriptor, since this worker no longer maps the constants."""
        with suppress(OSError):
            self._service.send(digest + FORGET, socket.MSG_DONTWAIT)


class Offers:
    """The service's side: descriptors of constants that one worker maps, by digest."""

    def __init__(self, worker: socket.socket) -> None:
        self.worker = worker
        worker.setblocking(False)  # send_fds and recv_fds ignore MSG_DONTWAIT
        self._files: dict[bytes, int] = {}

    def answer(self, everybody: "Iterable[Offers]") -> bool:
        """Answer a worker's message; return False after its last one. OSError if there is no message yet, or the worker
        does not read answers. The answer to an offer is a descriptor of equal constants, if any. The service keeps
        that, or else the offered one, for other workers until this worker forgets it."""
        message, files, _, _ = socket.recv_fds(self.worker, DIGEST + len(FORGET), 1)
        digest = message[:DIGEST]
        if len(message) > DIGEST:
            self._forget(digest)
        elif message:
            found = [offers._files[digest] for offers in everybody if digest in offers._files][:1]
            try:
                socket.send_fds(self.worker, [b"."], found)
                if (same := found or files) and digest not in self._files and len(self._files) < KEPT:
                    self._files[digest] = os.dup(same[0])
            finally:
                for file in files:
                    os.close(file)
        return bool(message)

    def _forget(self, digest: bytes) -> None:
        if digest in self._files:
            os.close(self._files.pop(digest))

    def close(self) -> None:
        self.worker.close()
        for digest in list(self._files):
            self._forget(digest)
