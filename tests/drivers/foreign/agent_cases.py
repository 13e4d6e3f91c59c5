"""Agents that tests start."""

import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.contract.driver import PrepareOptions
from nnapi.drivers.foreign.agent import Agent
from nnapi.drivers.foreign.driver import ForeignDriver
from nnapi.drivers.foreign.prepared import PreparedForeign
from nnapi.drivers.foreign.wire import HEADER, MAGIC, VERSION, Ask, Told, pack_text
from nnapi.host.adb import LOCAL as AGENT
from tests.waiting import comes_true

needs_agent = pytest.mark.skipif(not AGENT.exists(), reason="the agent is not built")
X = np.array([1, 2, 3], np.float32)


LIMIT = 60.0
"""Seconds after which a test fails that waits for an agent."""


@contextmanager
def serve(
    folder: Path, library: str, *words: str, environment: Mapping[str, str] | None = None, agent: Path = AGENT
) -> Iterator[str]:
    """An agent at a Unix socket in a folder; its address."""
    path = folder / "agent"
    with run_agent("--library", library, "--unix", str(path), *words, environment=environment, agent=agent) as process:
        assert comes_true(lambda: process.poll() is not None or is_listening(path))
        yield f"unix:{path}"


def is_listening(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as connection, suppress(OSError):
        connection.connect(str(path))
        return True
    return False


@contextmanager
def serve_tcp(library: str, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """An agent at a free port of this machine; its address."""
    with run_agent("--library", library, "--tcp", "0", environment=environment) as process:
        assert process.stdout is not None
        yield f"tcp:{process.stdout.readline().strip()}"


@contextmanager
def run_agent(
    *words: str, environment: Mapping[str, str] | None = None, agent: Path = AGENT
) -> Iterator[subprocess.Popen[str]]:
    command = [str(agent), *words]
    with subprocess.Popen(
        command, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, stderr=sys.stderr, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


class RawClient:
    """A connection to an agent at a Unix socket, without the care of the library."""

    def __init__(self, address: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", int(LIMIT), 0))
        try:
            self.socket.connect(address.removeprefix("unix:"))
        except OSError:
            self.socket.close()
            raise
        self.socket.settimeout(LIMIT)
        self.pid = 0
        """The process that serves the connection, after :meth:`greet`."""

    @classmethod
    def greet_in_time(cls, address: str) -> Self:
        """Greet an agent that waits for 300 ms, after which a busy machine may first send the greeting."""
        end = time.monotonic() + LIMIT
        while True:
            client = cls(address)
            try:
                return client.greet()
            except (ConnectionError, AssertionError):
                client.socket.close()
                if time.monotonic() > end:
                    raise

    def greet(self, token: bytes = b"") -> Self:
        told, head = self.ask(Ask.HELLO, struct.pack("<II", MAGIC, VERSION) + pack_text(token))
        assert told is Told.ANSWER, head
        self.pid = struct.unpack_from("<II", head)[1]
        return self

    def send(self, kind: int, head: bytes = b"", data: bytes = b"") -> None:
        self.socket.sendall(HEADER.pack(kind, len(head), len(data)) + head + data)

    def receive(self) -> tuple[Told, bytes]:
        """Return the kind of the next message, and its head and data; ConnectionError at the end of the stream."""
        kind, head, data = HEADER.unpack(self._read(HEADER.size))
        return Told(kind), self._read(head + data)

    def ask(self, kind: int, head: bytes = b"", data: bytes = b"") -> tuple[Told, bytes]:
        self.send(kind, head, data)
        return self.receive()

    def make(self, kind: Ask, head: bytes = b"", data: bytes = b"") -> int:
        """Make an object; return its number."""
        told, head = self.ask(kind, head, data)
        assert told is Told.ANSWER, head
        return int.from_bytes(head, "little")

    def refuse(self, kind: int, head: bytes = b"", data: bytes = b"") -> str:
        """Return why a request is refused."""
        told, head = self.ask(kind, head, data)
        assert told is Told.ERROR, head
        return head[4:].decode()

    def is_ended(self) -> bool:
        """Return whether the agent ends the connection, with or without a word; TimeoutError if it does not."""
        with suppress(ConnectionError):
            while self.socket.recv(1 << 16):
                pass
        return True

    def _read(self, size: int) -> bytes:
        content = self.socket.recv(size, socket.MSG_WAITALL) if size else b""
        if len(content) < size:
            raise ConnectionError("the stream has ended")
        return content

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


class Relay:
    """A Unix socket before another one, whose connections can be cut."""

    def __init__(self, folder: Path, address: str) -> None:
        self.address, self._beyond = f"unix:{folder}/relay", address.removeprefix("unix:")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{folder}/relay")
        self._listener.listen()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        while self._open:
            with suppress(OSError):
                self._open.pop().shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                pair = self._listener.accept()[0], socket.socket(socket.AF_UNIX)
                pair[1].connect(self._beyond)
                self._open += pair
                for ends in (pair, pair[::-1]):
                    threading.Thread(target=_copy, args=ends, daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(1 << 16):
            target.sendall(content)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
    source.close()


def add_constant(constant: float = 1) -> Model:
    """A model that adds 64 constants to 64 values: too many for a library to copy them at once."""
    builder = Builder()
    x = builder.input(tensor("float32", [64]), name="x")
    builder.output(builder.add(x, np.full(64, constant, np.float32), name="sum"))
    return builder.finish()


def prepare(path: str) -> tuple[ForeignDriver, PreparedForeign]:
    """Return the driver of a library's first device, and the model of add_constant prepared on it."""
    driver = load_driver("phone", path, 0)
    return driver, driver.prepare(add_constant(), PrepareOptions())


def load_driver(name: str, path: str, index: int) -> ForeignDriver:
    """The driver of the device at an index, connected."""
    return ForeignDriver(name, path, index, Agent(path))
