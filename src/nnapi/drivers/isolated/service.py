"""A service: a process that forks a worker for each connection of an application. It ends workers whose runs take too
long, and reports how workers ended. It never reads what applications send."""

import gc
import mmap
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import NoReturn

from nnapi.contract.driver import Driver
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.admission import PROCESSES, find_obstacle
from nnapi.drivers.isolated.allowance import Allowance
from nnapi.drivers.isolated.application import Application, ConnectionRate
from nnapi.drivers.isolated.child import end_with
from nnapi.drivers.isolated.connection_server import Server
from nnapi.drivers.isolated.process import describe_end
from nnapi.drivers.isolated.process_limits import forbid, lower_priority
from nnapi.drivers.isolated.protocol import Body, refuse
from nnapi.drivers.isolated.service_socket import ServiceSocket
from nnapi.drivers.isolated.session import Session
from nnapi.drivers.isolated.shared_constants import Offers, Shelf
from nnapi.errors import (
    BadDataError,
    DeadObjectError,
    NnapiError,
    OpFailedError,
    ResourceExhaustedTransientError,
    UnavailableDeviceError,
    need,
)
from nnapi.model.builder import Builder
from nnapi.model.operand import tensor
from nnapi.trace.log import Log

log = Log("nnapi.Service")

PATIENCE = 10.0
"""Maximum seconds until an application's first message."""
WAITING = 64
"""Length of the listening queue; also the number of connections per user that may wait because of the rate."""
APPLICATIONS = 64
TICK = 0.5
"""Seconds between two checks for runs that take too long."""
GRACE = 5.0
"""Seconds for a worker to end by itself after its application has disconnected."""
RATE = 4.0
"""New connections per second and process. Starting a worker takes about 15 ms of CPU time."""
BURST = 32
"""Connections that a process may open at once after a pause."""


@dataclass(eq=False)
class Worker:
    pid: int
    process: int
    """A pidfd, readable once the process has ended."""
    application: Application
    offers: Offers
    clock: memoryview
    """Start of each channel's current run in monotonic nanoseconds; 0 if none is running."""
    deadline: float = inf
    """Time at which to end the worker after its application has disconnected."""
    reason: str = ""
    """Why the service has ended the worker; empty if it has not."""

    def close(self) -> None:
        self.application.close()
        self.offers.close()
        os.close(self.process)


class Service:
    """The service's socket and drivers. Other threads may call :meth:`close` only."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        drivers: Mapping[str, Driver],
        mode: int = 0o600,
        allowance: Allowance | None = None,
        applications: int = APPLICATIONS,
        rate: float = RATE,
    ) -> None:
        """Make the socket, instead of an ended service's; OSError if it is in use or the path is another file.

        ``rate`` limits the new connections of a process per second; others wait.
        """
        self._drivers = drivers
        self._allowance, self._applications = allowance or Allowance(), applications
        self._allowance.check()
        need(rate > 0, f"rate is {rate}, must be above 0", BadDataError)
        self._process_rate = ConnectionRate(rate, BURST)
        self._user_rate = ConnectionRate(PROCESSES * rate, PROCESSES * BURST)
        self._waiting: list[Application] = []
        self._key = os.urandom(32)
        self._workers: list[Worker] = []
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[], None]] = {}
        """Handlers by watched file descriptor."""
        self._is_closed = False
        self._socket = ServiceSocket(os.fspath(path), mode, WAITING)
        for driver in drivers.values():
            if getattr(driver, "starts_slowly", False):
                _load_engine(driver)

    def run(self) -> None:
        """Serve until :meth:`close`, then end all workers."""
        self._watch(self._socket.listener, select.POLLIN, self._let_in)
        while not self._is_closed:
            for descriptor, _ in self._poll.poll(self._find_patience()):
                if handle := self._handlers.get(descriptor):  # else the worker ended in the same moment
                    handle()
            self._answer_waiting()
            self._end_late_workers()
        self._socket.listener.close()
        for waiting in self._waiting:
            waiting.close()
        for worker in self._workers:
            _end(worker.pid)
            worker.close()

    def _find_patience(self) -> float | None:
        """Return the milliseconds until the next task; None if only a connection can bring one."""
        if self._waiting:
            return min(TICK, max(0.0, min(map(self._find_due, self._waiting)) - time.monotonic())) * 1e3
        return TICK * 1e3 if self._workers else None

    def _watch(self, file: int | socket.socket, events: int, handler: Callable[[], None]) -> None:
        self._poll.register(file, events)
        self._handlers[file if isinstance(file, int) else file.fileno()] = handler

    def _ignore(self, file: int | socket.socket) -> None:
        if self._handlers.pop(file if isinstance(file, int) else file.fileno(), None):
            self._poll.unregister(file)

    def close(self) -> None:
        """Accept no more connections, remove the socket, and make :meth:`run` return."""
        if not self._is_closed:
            self._is_closed = True
            self._socket.close()

    def _let_in(self) -> None:
        try:
            connection, _ = self._socket.listener.accept()
        except OSError as error:
            if not self._is_closed:
                log.warning("no new connections for a moment: %s", error)
                time.sleep(TICK / 10)  # no descriptor is free: connections stay queued
            return
        try:
            application = Application(connection)
        except OSError as error:
            _refuse(connection, f"its process cannot be watched: {error.strerror}")
            return
        if sum(each.user == application.user for each in self._waiting) < WAITING:
            self._waiting.append(application)
            self._watch(application.end, select.POLLIN, partial(self._drop, application))
        else:
            _refuse(connection, f"user {application.user} has {WAITING} connections that wait")
            application.close()

    def _drop(self, application: Application) -> None:
        """Close a waiting connection, whose process has ended."""
        self._waiting.remove(application)
        self._ignore(application.end)
        application.close()

    def _find_due(self, application: Application) -> float:
        """Return the time from which a waiting connection may be answered."""
        return max(self._process_rate.find_due(application.process), self._user_rate.find_due(application.user))

    def _answer_waiting(self) -> None:
        now = time.monotonic()
        for each in list(self._waiting):
            if each.has_ended():
                self._drop(each)
            elif self._find_due(each) <= now:
                self._waiting.remove(each)
                self._ignore(each.end)
                self._process_rate.count(each.process, now)
                self._user_rate.count(each.user, now)
                self._answer(each)

    def _answer(self, application: Application) -> None:
        """Start a worker for a connection, or refuse the connection with the reason."""
        admitted = [worker.application for worker in self._workers]
        reason = find_obstacle(application, admitted, self._applications)
        if not reason:
            try:
                self._start(application)
                return
            except OSError as error:
                reason = f"no process can be started: {error}"
        log.info("process %d is refused: %s", application.process, reason)
        _refuse(application.connection, reason)
        application.close()

    def _start(self, application: Application) -> None:
        clock = memoryview(mmap.mmap(-1, 8 * self._allowance.threads)).cast("Q")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parent = os.getpid()
        with ExitStack() as undo:
            undo.callback(ours.close)
            with theirs:
                pid = os.fork()
                if not pid:
                    ours.close()
                    self._be_worker(application, theirs, clock, parent)
            undo.callback(_end, pid)
            worker = Worker(pid, os.pidfd_open(pid), application, Offers(ours), clock)
            undo.pop_all()
        self._workers.append(worker)
        self._watch(worker.process, select.POLLIN, partial(self._note_end, worker))
        self._watch(application.connection, select.POLLRDHUP, partial(self._note_departure, worker))
        self._watch(application.end, select.POLLIN, partial(self._note_departure, worker))
        self._watch(ours, select.POLLIN, partial(self._share, worker))
        log.debug("worker %d serves process %d", pid, application.process)

    def _be_worker(self, application: Application, service: socket.socket, clock: memoryview, parent: int) -> NoReturn:
        """Serve a connection in a worker, within the allowance, until the application disconnects; then exit."""
        try:
            self._socket.listener.close()
            os.close(application.end)
            for other in self._workers:
                other.close()
            for waiting in self._waiting:
                waiting.close()
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the process group: the service decides
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            end_with(parent)
            self._allowance.enforce()
            gc.freeze()  # keep shared objects out of garbage collections
            application.connection.settimeout(PATIENCE)
            session = Session(self._allowance, clock, self._key, Shelf(service).map)
            with suppress(Exception):
                Server(application.connection, self._find, session).run()
            os._exit(0)  # threads of the engine may be computing
        except Exception as error:
            log.warning("a worker has failed: %r", error)
        finally:
            os._exit(1)

    def _find(self, body: Body) -> Driver:
        """Return the driver that an application asks for. First forbid this worker sockets and file writes, if the
        system supports that."""
        driver = self._drivers.get(str(body["device"]))
        if driver is None:
            raise UnavailableDeviceError(f"{body['device']} is not served; there are: {', '.join(self._drivers)}")
        if not getattr(driver, "is_remote", False):  # remote drivers start a process
            with suppress(OpFailedError):  # not supported on this processor
                forbid(sockets=True, writing=True)
        lower_priority(min(max(0, int(body["nice"])), 19))
        return driver

    def _share(self, worker: Worker) -> None:
        with suppress(OSError):
            if not worker.offers.answer([each.offers for each in self._workers]):
                self._ignore(worker.offers.worker)

    def _note_departure(self, worker: Worker) -> None:
        """Disconnect a worker whose application has disconnected or ended, and set the time at which to end it."""
        self._ignore(worker.application.connection)
        self._ignore(worker.application.end)
        with suppress(OSError):
            worker.application.connection.shutdown(socket.SHUT_RDWR)
        worker.deadline = time.monotonic() + GRACE

    def _note_end(self, worker: Worker) -> None:
        """Report to the application how its worker ended."""
        words, by_itself = describe_end(os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1]))
        by_itself, words = by_itself and not worker.reason, worker.reason or words
        application = worker.application
        for file in (worker.process, application.connection, application.end, worker.offers.worker):
            self._ignore(file)
        self._workers.remove(worker)
        error = DeadObjectError(f"the worker of a service has died: {words}")
        refuse(application.connection, {"end": [words, by_itself], "error": plain_values.of_error(error, "")})
        worker.close()

    def _end_late_workers(self) -> None:
        now, seconds = time.monotonic(), self._allowance.seconds
        earliest = int((now - seconds) * 1e9)
        for worker in self._workers:
            if any(0 < begun < earliest for begun in worker.clock.tolist()):
                allowed = f"the service allows {seconds:g} (nnapi serve --timeout)"
                worker.reason = f"a run took longer than {seconds:g} s: {allowed}"
                os.kill(worker.pid, signal.SIGKILL)
            elif now > worker.deadline:
                os.kill(worker.pid, signal.SIGKILL)


def _load_engine(driver: Driver) -> None:
    """Load an engine, so that workers share its memory. Only compiling starts threads, which a fork would lose."""
    builder = Builder("load")
    builder.output(builder.relu(builder.input(tensor("float32", (1,)))))
    with suppress(NnapiError):
        driver.verdicts(builder.finish())


def _end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _refuse(connection: socket.socket, reason: str) -> None:
    """Close a connection with the reason."""
    refuse(connection, {"error": plain_values.of_error(ResourceExhaustedTransientError(reason), "the service")})
