"""A driver's process, started, watched and ended by the application; or a service's worker."""

import atexit
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from errno import EAGAIN
from math import modf
from queue import SimpleQueue
from typing import Any, TypeVar

from nnapi.contract.futures import answer_with
from nnapi.drivers.isolated.protocol import Violation, receive
from nnapi.errors import DeadObjectError, OpFailedError
from nnapi.host.engine_output import read_last_words
from nnapi.locks import make_lock

T = TypeVar("T")

MODULE = "nnapi.drivers.isolated.child"
OURS = ("NNAPI_TRACE", "NNAPI_ISOLATED", "NNAPI_FOREIGN")
"""Environment variables that a driver's process does not inherit."""
NONE = {"NNAPI_DELEGATES": ""}
"""Environment variables that are empty in a driver's process, which also overrides configuration files."""
ORDERED = {signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
"""Signals that other processes send; any other signal is the process's own fault."""
PATIENCE = 5.0
"""Seconds to wait for the end of a killed process."""
TIME = struct.Struct("@ll")


class Process:
    def __init__(self) -> None:
        """Start the process; raise OpFailedError if that fails."""
        self.connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._output: int | None = None
        self.descriptor: int | None = None
        """A pidfd, readable once the process has ended; None if the system has no pidfds."""
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

    def end(self, patience: float = 0) -> tuple[str, bool]:
        """Kill it, unless it ends by itself within ``patience`` seconds; return how, and whether by itself."""
        return describe_end(self._end(patience))

    def read_last_words(self) -> str:
        """Return the most informative line of the driver's last output; empty if none was captured."""
        return "" if self._output is None else read_last_words(self._output)

    def _end(self, patience: float) -> int:
        with self._lock:
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(patience)
            self._process.kill()
            with suppress(subprocess.TimeoutExpired):
                return self._process.wait(PATIENCE)
            return -signal.SIGKILL  # it has not ended yet

    def close(self) -> None:
        self.connection.close()
        descriptors, self._output, self.descriptor = (self._output, self.descriptor), None, None
        for descriptor in descriptors:
            if descriptor is not None:
                os.close(descriptor)

    def leave(self) -> None:
        """Stop managing the process; the system ends it with this one."""
        self._process.returncode = 0


class Peer:
    """A connection to a service, with the interface of a :class:`Process`."""

    pid = 0
    """Unknown: the worker's greeting contains its ID."""
    descriptor: int | None = None
    """Not needed: when the worker ends, its channels close."""

    def __init__(self, path: str, patience: float | None) -> None:
        """Connect; DeadObjectError if no service listens, or it does not accept within ``patience`` seconds."""
        self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._end: tuple[str, bool] | None = None
        self._lock = make_lock()
        if patience is not None:  # the timeouts of Python's sockets do not apply to these calls
            part, whole = modf(max(patience, 1e-6))
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, TIME.pack(int(whole), int(part * 1e6)))
        try:
            self.connection.connect(path)
        except OSError as error:
            self.connection.close()
            is_late = error.errno == EAGAIN
            reason = f"it let nobody in for {patience:g} s" if is_late and patience is not None else error.strerror
            raise DeadObjectError(f"no service answers at {path}: {reason}") from None

    def end(self, patience: float = 0) -> tuple[str, bool]:
        """Disconnect. Return how the worker ended, and whether it ended by itself, if the service reports this within
        ``patience`` seconds."""
        with self._lock:  # only one thread gets the service's last message
            self._read_end(patience)
            with suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
        return self._end or ("the service has ended the connection", False)

    def read_last_words(self) -> str:
        """Return an empty string: a service does not pass on its engines' output."""
        return ""

    def _read_end(self, seconds: float) -> None:
        if self._end is None and self.connection.fileno() >= 0:
            poll = select.poll()
            poll.register(self.connection, select.POLLIN)
            with suppress(OSError, Violation, KeyError, TypeError, ValueError):
                if poll.poll(seconds * 1e3) and (message := receive(self.connection)):
                    message.close()
                    words, by_itself = message.body["end"]
                    self._end = str(words), bool(by_itself)

    def close(self) -> None:
        self.connection.close()

    def leave(self) -> None:
        """Do nothing: the service outlives this process."""


def describe_end(status: int) -> tuple[str, bool]:
    """Describe an exit status (negative for a signal); return also whether the process ended by itself."""
    if status < 0:
        with suppress(ValueError):
            found = signal.Signals(-status)
            return f"its process was ended by {found.name}", found not in ORDERED
    return f"its process ended with status {status}", True


def make_environment() -> dict[str, str]:
    """Return the environment for a driver's process, in which devices do not get processes of their own."""
    return {name: value for name, value in os.environ.items() if name not in OURS} | NONE


def _start(connection: socket.socket, output: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", MODULE, *map(str, (connection.fileno(), output, os.getpid()))]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGABRT})  # child.watch_abort needs it blocked
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            pass_fds=[connection.fileno(), output],
            env=make_environment(),
            close_fds=True,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Background:
    """The thread that starts all drivers' processes. They end with it, so it lives as long as the application."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget the thread, which does not survive a fork."""
        self._queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._is_started = False
        self._lock = threading.Lock()

    def start(self) -> None:
        with self._lock:
            if not self._is_started:
                self._is_started = True
                threading.Thread(target=_work, args=(self._queue,), name="nnapi-drivers", daemon=True).start()

    def do(self, work: Callable[[], None]) -> None:
        """Queue a function, which must not raise, for the thread. May be called from a finalizer."""
        self._queue.put(work)

    def call(self, work: Callable[[], T]) -> T:
        """Run a function on the thread; return its result or raise its error."""
        self.start()
        answer: Future[T] = Future()
        self.do(lambda: answer_with(answer, work))
        return answer.result()


def _work(queue: SimpleQueue[Callable[[], None]]) -> None:
    while True:
        queue.get()()


background = Background()
os.register_at_fork(after_in_child=background.reset)

_connections: weakref.WeakSet[Any] = weakref.WeakSet()
"""All connections of this process: exit releases them, a forked child forgets them."""
_noting = make_lock()


def note_connection(connection: Any) -> None:
    with _noting:
        _connections.add(connection)


def _list_connections() -> list[Any]:
    with _noting:
        return list(_connections)


def _forget_all() -> None:
    for connection in _list_connections():
        if connection.is_alive:
            connection.forget()


def _leave_all() -> None:
    for connection in _list_connections():
        connection.leave()


atexit.register(_leave_all)
os.register_at_fork(after_in_child=_forget_all)
