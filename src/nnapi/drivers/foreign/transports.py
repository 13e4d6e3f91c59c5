"""Connections to agents: Unix sockets, TCP, ssh's standard streams, and ports forwarded by adb."""

import os
import socket
import subprocess
import threading
from contextlib import suppress

from nnapi.drivers.isolated.process import make_environment
from nnapi.errors import UnavailableDeviceError, need
from nnapi.host import adb
from nnapi.host.engine_output import read_last_words

PATIENCE = 10.0
"""Maximum seconds to connect."""
MOST_PORT = 65535
LOST = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 5, "TCP_USER_TIMEOUT": 15_000}
"""TCP options that close a silent connection after 15 seconds."""
SSH = ("ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3")


class Stream:
    """A connected socket; if this package started the agent's process, also the process and its output."""

    def __init__(
        self, connection: socket.socket, process: subprocess.Popen[bytes] | None = None, output: int | None = None
    ) -> None:
        self.socket, self._process, self._output = connection, process, output

    def read_last_words(self) -> str:
        """Return the last line of the process's output, after waiting up to 1 s for its end."""
        if self._process is None or self._output is None:
            return ""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1)
        return read_last_words(self._output)

    def close(self) -> None:
        """Disconnect, which wakes a thread that waits for an answer. The process ends by itself or is killed."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        if self._output is not None:
            os.close(self._output)
        process, self._output, self._process = self._process, None, None
        if process is not None:
            threading.Thread(target=_await_end, args=(process,), name="nnapi-agent", daemon=True).start()

    def leave(self) -> None:
        """Leave the process alone: it ends when the last process that holds the connection closes it."""
        if self._process is not None:
            self._process.returncode, self._process = 0, None


def _await_end(process: subprocess.Popen[bytes]) -> None:
    with suppress(subprocess.TimeoutExpired):
        process.wait(PATIENCE)
    process.kill()
    process.wait()


def connect(address: str) -> Stream:
    """Connect to an agent, or start one for a library; UnavailableDeviceError, with the reason, if that fails."""
    kind, _, rest = address.partition(":")
    try:
        if kind in CONNECT:
            return CONNECT[kind](rest)
        return start([str(adb.find_agent()), "--library", address, "--stdio"])
    except OSError as error:
        raise UnavailableDeviceError(f"nothing answers at {address}: {error.strerror or error}") from None


def _connect_unix(path: str) -> Stream:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect("\0" + path[1:] if path.startswith("@") else path)
    except BaseException:
        connection.close()
        raise
    return Stream(connection)


def _connect_tcp(where: str) -> Stream:
    host, _, port = where.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and len(port) < 6 and 0 < int(port) <= MOST_PORT
    said = f"tcp:{where} must be tcp:HOST:PORT, with a port from 1 to {MOST_PORT}"
    need(host and is_port, said, UnavailableDeviceError)
    connection = socket.create_connection((host.strip("[]"), int(port)), PATIENCE)
    connection.settimeout(None)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in LOST.items():
        connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return Stream(connection)


def _connect_ssh(host: str) -> Stream:
    need(host and not host.startswith("-"), f"ssh:{host} must be ssh:USER@HOST", UnavailableDeviceError)
    return start([*SSH, host, "PATH=$PATH:$HOME nnapi-agent --stdio"], os.memfd_create("nnapi-ssh"))


def _connect_adb(serial: str) -> Stream:
    adb.start_agent(serial)
    with adb.forward(serial) as port:
        return _connect_tcp(f"127.0.0.1:{port}")


def start(command: list[str], output: int | None = None) -> Stream:
    """Start a process that uses its standard input and output as the connection, and writes errors to ``output``."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = subprocess.Popen(
                command, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=output, env=make_environment()
            )
    except BaseException:
        ours.close()
        raise
    return Stream(ours, process, output)


CONNECT = {"unix": _connect_unix, "tcp": _connect_tcp, "ssh": _connect_ssh, "adb": _connect_adb}
