"""A service without workers, and its clock."""

import mmap
import os
import socket

from nnapi.drivers.isolated.application import Application
from nnapi.drivers.isolated.service import Service, Worker
from nnapi.drivers.isolated.shared_constants import Offers

CLIENT = 4711
STRANGER = 1234
"""A user who is neither root nor the service's."""


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


def connect(client: int = CLIENT, user: int = STRANGER) -> tuple[Application, socket.socket]:
    """Return an application and its end of the connection."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    application = Application(ours)
    application.process, application.user = client, user
    return application, theirs


def add_worker(
    service: Service, client: int = CLIENT, pid: int = 77, user: int = STRANGER
) -> tuple[Worker, socket.socket]:
    """Add a worker without a process; return it with the application's end of its connection."""
    application, theirs = connect(client, user)
    shared, unused = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    unused.close()
    clock = memoryview(mmap.mmap(-1, 24)).cast("Q")
    worker = Worker(pid, os.eventfd(0), application, Offers(shared), clock)
    service._workers.append(worker)
    return worker, theirs
