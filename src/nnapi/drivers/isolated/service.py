"""A service: a process that forks a worker for each application, ends workers whose runs take too long, and reports how
they ended. It reads nothing that an application sends."""

from __future__ import annotations

import mmap
import os
import select
import signal
import socket
import stat
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from errno import EADDRINUSE, EEXIST
from typing import NamedTuple, NoReturn

from nnapi.drivers.base import Driver
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.allowance import Allowance
from nnapi.drivers.isolated.process import describe_end
from nnapi.drivers.isolated.protocol import refuse
from nnapi.drivers.isolated.worker import serve
from nnapi.errors import DeadObjectError, ResourceExhaustedTransientError
from nnapi.trace.log import Log

log = Log("nnapi.Service")

CREDENTIALS = struct.Struct("3i")
"""Process, user and group IDs of the peer."""
WAITING = 64
"""Length of the queue of connections."""
APPLICATIONS = 64
SHARE = 4
"""One process may have one connection in so many."""
TICK = 0.5
"""Seconds between two checks of how long runs take."""
GRACE = 5.0
"""Seconds for a worker to end by itself after its application."""


class Worker(NamedTuple):
    pid: int
    process: int
    """Readable once the process has ended."""
    connection: socket.socket
    clock: memoryview
    """The start of each channel's run: monotonic nanoseconds, 0 between two runs."""
    client: int
    """The ID of the application's process."""

    def close(self) -> None:
        self.connection.close()
        os.close(self.process)


class Service:
    """A socket and its drivers. Only :meth:`close` may be called from other threads."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        drivers: Mapping[str, Driver],
        mode: int = 0o600,
        allowance: Allowance | None = None,
        applications: int = APPLICATIONS,
    ) -> None:
        """Make the socket, replacing that of an ended service; OSError if it is in use or the path is another file."""
        self._path, self._drivers = os.fspath(path), drivers
        self._allowance, self._applications = allowance or Allowance(), applications
        self._allowance.check()
        self._key = os.urandom(32)
        self._workers: dict[int, Worker] = {}
        self._reasons: dict[int, str] = {}
        self._abandoned: dict[int, float] = {}
        """Deadlines of the workers whose applications have gone."""
        self._poll = select.poll()
        self._is_closed = False
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            _remove_abandoned(self._path)
            before = os.umask(0o777)  # nobody comes in before the permissions are right
            try:
                self._listener.bind(self._path)
            finally:
                os.umask(before)
            os.chmod(self._path, mode)
            self._listener.listen(WAITING)
            self._listener.setblocking(False)
        except OSError:
            self._listener.close()
            raise
        self._identity = _identify(self._path)

    def run(self) -> None:
        """Serve until :meth:`close`, then end all workers."""
        self._poll.register(self._listener, select.POLLIN)
        while not self._is_closed:
            for descriptor, _ in self._poll.poll(TICK * 1e3 if self._workers else None):
                if descriptor == self._listener.fileno():
                    self._let_in()
                elif worker := self._workers.get(descriptor):
                    self._note_end(worker)
                else:
                    self._note_departure(descriptor)
            self._end_late_workers()
        self._listener.close()
        for worker in list(self._workers.values()):
            os.kill(worker.pid, signal.SIGKILL)
            os.waitpid(worker.pid, 0)
            worker.close()

    def close(self) -> None:
        """Accept no more connections, remove the socket, and let :meth:`run` return."""
        if not self._is_closed:
            self._is_closed = True
            with suppress(OSError):
                if _identify(self._path) == self._identity:
                    os.unlink(self._path)
            with suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)

    def _let_in(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if not self._is_closed:
                log.warning("nobody is let in for a moment: %s", error)
                time.sleep(TICK / 10)  # no descriptor is left: those who wait stay
            return
        client = CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))[0]
        reason = self._find_obstacle(client)
        if not reason:
            try:
                self._start(connection, client)
                return
            except OSError as error:
                reason = f"no process can be started: {error}"
        log.info("process %d is refused: %s", client, reason)
        refuse(connection, {"error": plain_values.of_error(ResourceExhaustedTransientError(reason), "the service")})

    def _find_obstacle(self, client: int) -> str:
        """Return the reason to refuse a process; an empty string if there is none."""
        if len(self._workers) >= self._applications:
            limit = "as many as it may have at a time (nnapi serve --applications)"
            return f"the service has {len(self._workers)} applications, {limit}"
        own = sum(worker.client == client for worker in self._workers.values())
        most = max(1, self._applications // SHARE)
        return f"process {client} has {own} connections, one process may have {most}" if own >= most else ""

    def _start(self, connection: socket.socket, client: int) -> None:
        clock = memoryview(mmap.mmap(-1, 8 * self._allowance.threads)).cast("Q")
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            self._be_worker(connection, clock, parent)
        worker = Worker(pid, os.pidfd_open(pid), connection, clock, client)
        self._workers[worker.process] = worker
        self._poll.register(worker.process, select.POLLIN)
        self._poll.register(connection, select.POLLRDHUP)
        log.debug("worker %d serves process %d", pid, client)

    def _be_worker(self, connection: socket.socket, clock: memoryview, parent: int) -> NoReturn:
        try:
            self._listener.close()
            for other in self._workers.values():
                other.close()
            serve(connection, self._drivers, self._allowance, clock, self._key, parent)
        except Exception as error:
            log.warning("a worker has failed: %r", error)
        finally:
            os._exit(1)

    def _note_departure(self, descriptor: int) -> None:
        """Set the deadline of a worker whose application has disconnected."""
        found = next((each for each in self._workers.values() if each.connection.fileno() == descriptor), None)
        if found is not None:  # else its worker has ended in the same moment
            self._poll.unregister(descriptor)
            self._abandoned[found.process] = time.monotonic() + GRACE

    def _note_end(self, worker: Worker) -> None:
        """Report the end of a worker to its application."""
        status = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        words, by_itself = describe_end(status)
        reason = self._reasons.pop(worker.process, "")
        self._poll.unregister(worker.process)
        if self._abandoned.pop(worker.process, None) is None:
            self._poll.unregister(worker.connection)
        del self._workers[worker.process]
        os.close(worker.process)
        error = DeadObjectError(f"the worker of a service has died: {reason or words}")
        told = {"end": [reason or words, by_itself and not reason], "error": plain_values.of_error(error, "")}
        refuse(worker.connection, told)

    def _end_late_workers(self) -> None:
        now = time.monotonic()
        seconds = self._allowance.seconds
        earliest = int((now - seconds) * 1e9)
        for worker in self._workers.values():
            if any(0 < begun < earliest for begun in worker.clock.tolist()):
                allowed = f"the service allows {seconds:g} (nnapi serve --seconds)"
                self._reasons[worker.process] = f"a run took longer than {seconds:g} s: {allowed}"
                os.kill(worker.pid, signal.SIGKILL)
            elif now > self._abandoned.get(worker.process, now):
                os.kill(worker.pid, signal.SIGKILL)


def _identify(path: str) -> tuple[int, int]:
    found = os.lstat(path)
    return found.st_dev, found.st_ino


def _remove_abandoned(path: str) -> None:
    """Remove a socket without a server; OSError if it is in use or the path is another file."""
    with suppress(FileNotFoundError), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as trial:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise OSError(EEXIST, "the file exists and is not a socket")
        trial.setblocking(False)
        try:
            trial.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
            return
        except BlockingIOError:  # so many wait to be let in
            pass
        raise OSError(EADDRINUSE, os.strerror(EADDRINUSE))
