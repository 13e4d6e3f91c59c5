"""Agents that tests start."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.contract.driver import PrepareOptions
from nnapi.drivers.foreign.agent import Agent
from nnapi.drivers.foreign.driver import ForeignDriver
from nnapi.drivers.foreign.prepared import PreparedForeign
from nnapi.host.adb import LOCAL as AGENT
from tests.waiting import comes_true

needs_agent = pytest.mark.skipif(not AGENT.exists(), reason="the agent is not built")
X = np.array([1, 2, 3], np.float32)


@contextmanager
def serve(folder: Path, library: str, *words: str, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """An agent at a Unix socket in a folder; its address."""
    path = folder / "agent"
    with run_agent("--library", library, "--unix", str(path), *words, environment=environment) as process:
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
def run_agent(*words: str, environment: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    command = [str(AGENT), *words]
    with subprocess.Popen(
        command, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE, stderr=sys.stderr, text=True
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


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
