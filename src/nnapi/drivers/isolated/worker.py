"""The worker process of one connection to a service."""

from __future__ import annotations

import os
import resource
import signal
import socket
from collections.abc import Mapping
from contextlib import suppress

from nnapi.drivers.base import Driver
from nnapi.drivers.isolated.allowance import Allowance
from nnapi.drivers.isolated.child import end_with
from nnapi.drivers.isolated.limits import limit_memory, lower_priority, refuse
from nnapi.drivers.isolated.protocol import Body
from nnapi.drivers.isolated.server import Server
from nnapi.drivers.isolated.session import Session
from nnapi.errors import OpFailedError, UnavailableDeviceError

PATIENCE = 10.0
"""Seconds for the first message."""
EXPENDABLE = 500
"""Added to the process's score for the out-of-memory killer."""


def serve(
    connection: socket.socket,
    drivers: Mapping[str, Driver],
    allowance: Allowance,
    clock: memoryview,
    key: bytes,
    parent: int,
) -> None:
    """Serve the connection until the application is gone, and end this process, which also ends with its ``parent``.
    Within the allowance and, where the system can forbid them, without sockets and files opened for writing."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a whole group of processes: the service decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end_with(parent)
    limit(allowance)

    def find(body: Body) -> Driver:
        driver = drivers.get(str(body["device"]))
        if driver is None:
            raise UnavailableDeviceError(f"{body['device']} is not served; there are: {', '.join(drivers)}")
        if not getattr(driver, "is_remote", False):  # which starts a process of its own
            with suppress(OpFailedError):  # a processor whose system calls nobody has listed
                refuse(sockets=True, writing=True)
        lower_priority(min(max(0, int(body["nice"])), 19))
        return driver

    connection.settimeout(PATIENCE)
    with suppress(Exception):
        Server(connection, find, Session(allowance, clock, key)).run()
    os._exit(0)  # threads of the engine may be computing


def limit(allowance: Allowance) -> None:
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write(str(EXPENDABLE))
    limit_memory(private_bytes() + allowance.memory)
    for kind, most in ((resource.RLIMIT_NOFILE, allowance.descriptors), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(kind)[1]
        wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (wanted, wanted))


def private_bytes() -> int:
    """Return the private bytes of this process."""
    with open("/proc/self/status") as status:
        return int(next(line.split()[1] for line in status if line.startswith("VmData"))) << 10
