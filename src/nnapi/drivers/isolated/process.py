"""The process of a driver as the application sees it: started apart, watched, and never left behind."""

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
"""Variables that are for the application alone."""
NONE = {"NNAPI_DELEGATES": ""}
"""Variables that say there by being empty that there is nothing, whatever a file says."""
ORDERED = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
"""Signals that somebody sends, where others are what a process does to itself."""
PATIENCE = 5.0
"""Seconds for the system to end a process that it was told to end."""


class Process:
    """One process, from its start until it has been waited for."""

    def __init__(self) -> None:
        """Start it; OpFailedError where that cannot be done."""
        self.connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._output: int | None = None
        self.descriptor: int | None = None
        """A descriptor that can be read once the process has ended, where the system has them."""
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
        """End it, if it has not ended: how it did, in words, and whether that was its own doing."""
        return describe_end(self._end())

    def read_last_words(self) -> str:
        """Return the last line that the driver's engine wrote while that was collected; nothing where it was not."""
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

    def has_ended(self, seconds: float) -> bool:
        """Return whether it ends by itself in that time."""
        with self._lock, suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode is not None

    def close(self) -> None:
        """Close the descriptors."""
        self.connection.close()
        descriptors, self._output, self.descriptor = (self._output, self.descriptor), None, None
        for descriptor in descriptors:
            if descriptor is not None:
                os.close(descriptor)

    def leave(self) -> None:
        """Let the system end it, as this process ends."""
        self._process.returncode = 0

    def forget(self) -> None:
        """Leave it to the process that this one was forked from."""
        self.leave()
        self.close()


def describe_end(status: int) -> tuple[str, bool]:
    """Return how a process ended, in words, by its exit status (negative for a signal), and whether by itself."""
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
    """One thread for all drivers, which lives as long as the application: the system ends their processes with it."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Be without a thread, as after a fork."""
        self._queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._is_started = False
        self._lock = threading.Lock()

    def do(self, work: Callable[[], None]) -> None:
        """Have the thread do something, which must not raise. May be called from anywhere, even while memory is
        given back."""
        self._queue.put(work)

    def call(self, work: Callable[[], T]) -> T:
        """Have the thread do something, and return or raise its outcome."""
        with self._lock:
            if not self._is_started:
                self._is_started = True
                threading.Thread(target=_work, args=(self._queue,), name="nnapi-drivers", daemon=True).start()
        answer: Future[T] = Future()
        self.do(lambda: answer_with(answer, work))
        return answer.result()


def _work(queue: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        queue.get()()


background = Background()
os.register_at_fork(after_in_child=background.reset)
