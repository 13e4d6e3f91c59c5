"""The process of a driver, as the application starts, watches and ends it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from typing import TypeVar

from nnapi.drivers.answers import answer_with
from nnapi.drivers.output import read_last_words
from nnapi.errors import OpFailedError

T = TypeVar("T")

MODULE = "nnapi.drivers.isolated.child"
OURS = ("NNAPI_TRACE", "NNAPI_ISOLATED", "NNAPI_FOREIGN")
"""Environment variables that are not passed on."""
NONE = {"NNAPI_DELEGATES": ""}
"""Environment variables set to nothing, whatever a configuration file has."""
ORDERED = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
"""Signals that another process sends; others are a process's own fault."""
PATIENCE = 5.0
"""Seconds for the system to end a killed process."""


class Process:
    def __init__(self) -> None:
        """Start it; OpFailedError where that fails."""
        self.connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._output: int | None = None
        self.descriptor: int | None = None
        """Readable once the process has ended; None where the system has no such descriptors."""
        try:
            self._output = output = os.memfd_create("nnapi-output")
            self._process = background.call(lambda: _start(theirs, output))
        except OSError as error:
            self.close()
            raise OpFailedError(f"no process for a driver can be started: {error}") from None
        finally:
            theirs.close()
        self._lock = threading.Lock()
        self.pid = self._process.pid
        with suppress(OSError):
            self.descriptor = os.pidfd_open(self.pid)

    def end(self) -> tuple[str, bool]:
        """End it; return how it ended, and whether by itself."""
        return describe_end(self._end())

    def read_last_words(self) -> str:
        """Return the last line of the driver's output, if that was collected."""
        return "" if self._output is None else read_last_words(self._output)

    def _end(self) -> int:
        with self._lock:
            if self._process.poll() is None:
                self._process.kill()
                try:
                    self._process.wait(PATIENCE)
                except subprocess.TimeoutExpired:  # it is in the system's hands
                    return -signal.SIGKILL
            return self._process.returncode or 0

    def await_end(self, seconds: float) -> None:
        """Wait so long for its own end, which :meth:`end` then describes."""
        with self._lock, suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def close(self) -> None:
        self.connection.close()
        descriptors, self._output, self.descriptor = (self._output, self.descriptor), None, None
        for descriptor in descriptors:
            if descriptor is not None:
                os.close(descriptor)

    def leave(self) -> None:
        """Let the system end it with this process."""
        self._process.returncode = 0

    def forget(self) -> None:
        self.leave()
        self.close()


def describe_end(status: int) -> tuple[str, bool]:
    """Describe an exit status (negative for a signal), and whether the process ended by itself."""
    if status < 0:
        with suppress(ValueError):
            found = signal.Signals(-status)
            return f"its process was ended by {found.name}", found not in ORDERED
    return f"its process ended with status {status}", True


def _start(connection: socket.socket, output: int) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name not in OURS} | NONE
    command = [sys.executable, "-m", MODULE, *map(str, (connection.fileno(), output, os.getpid()))]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGABRT})  # as child.watch_abort needs it
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, pass_fds=[connection.fileno(), output], env=environment, close_fds=True
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Background:
    """One thread that starts all drivers' processes and lives as long as the application: they end with it."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Drop the thread, which does not survive a fork."""
        self._queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._is_started = False
        self._lock = threading.Lock()

    def start(self) -> None:
        with self._lock:
            if not self._is_started:
                self._is_started = True
                threading.Thread(target=_work, args=(self._queue,), name="nnapi-drivers", daemon=True).start()

    def do(self, work: Callable[[], None]) -> None:
        """Run a function that must not raise on the thread, once that is started; may be called from a finalizer."""
        self._queue.put(work)

    def call(self, work: Callable[[], T]) -> T:
        """Run a function on the thread, and return or raise its outcome."""
        self.start()
        answer: Future[T] = Future()
        self.do(lambda: answer_with(answer, work))
        return answer.result()


def _work(queue: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        queue.get()()


background = Background()
os.register_at_fork(after_in_child=background.reset)
