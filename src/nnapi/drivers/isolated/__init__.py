"""A driver in a process of its own: if the driver crashes, the application continues."""

import os
import pickle
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from nnapi.codes import PriorityCode
from nnapi.contract.ahead_of_time import CompilesAhead
from nnapi.contract.driver import CacheEntry, Capabilities, DeviceInfo, Driver, Prepared, PrepareOptions, Verdict
from nnapi.contract.host_memory import HostBuffer
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.connection import Connection
from nnapi.drivers.isolated.constants import map_file
from nnapi.drivers.isolated.descriptors import memory_file
from nnapi.drivers.isolated.prepared import RemotePrepared, read_number
from nnapi.drivers.isolated.process import Peer, Process
from nnapi.drivers.isolated.process_limits import BACKGROUND, NICE
from nnapi.drivers.isolated.protocol import Message
from nnapi.errors import BadDataError, DeadObjectError, OpFailedError, need
from nnapi.locks import make_lock
from nnapi.model.model import Model
from nnapi.model.operand import OperandType

GRACE = 5.0
"""Seconds after a time limit until a driver that still computes is considered to hang."""


class Isolated:
    """A driver in a separate process. The process is started at first use, and again after it has ended."""

    def __init__(
        self,
        driver: Driver | Any,
        *,
        device: str = "",
        known: Driver | None = None,
        patience: float | None = None,
        grace: float = GRACE,
        memory: int | None = None,
        network: bool = True,
        files: bool = True,
        background: bool = False,
        service: str | os.PathLike[str] = "",
    ) -> None:
        """``driver`` is the name of an installed device, an entry point's ``module:attribute``, or a picklable object.
        The object is a driver, or a callable that returns one or several, of which ``device`` names one.

        ``known`` is the same driver in this process; it answers for its description. A process is ended if it does not
        answer for ``patience`` seconds, or for ``grace`` seconds after a time limit. Without patience, calls without a
        time limit wait forever.

        ``memory`` limits the process's bytes. Without ``network`` it cannot make sockets; without ``files`` it cannot
        open files for writing, remove or rename them. In the ``background`` it has low priority. ``service`` is the
        socket of ``nnapi serve``; then ``driver`` must be a name, and the service sets the limits.
        """
        is_known = isinstance(driver, str) or not service
        need(is_known, f"a service knows drivers by their names, not {driver!r}", BadDataError)
        need(memory is None or memory > 0, f"memory is {memory}, must be above 0", BadDataError)
        self._source = _source(driver, device)
        self._name = device or (driver if isinstance(driver, str) else getattr(driver, "name", ""))
        self._limits = {"memory": memory, "network": network, "files": files}
        self._service = os.fspath(service)
        self._nice = BACKGROUND if background else 0
        is_driver = isinstance(driver, Driver) and not isinstance(driver, type)
        self._known = driver if known is None and is_driver else known
        self._patience, self._grace = patience, grace
        self._connections: dict[int, Connection] = {}
        """Connections by niceness. A service has one worker for each priority of an application."""
        self._greeting: plain_values.Greeting | None = None
        self._changed = ""
        self._lock = make_lock()

    is_remote = True

    @property
    def is_by_name(self) -> bool:
        return bool(getattr(self._known, "is_by_name", False))

    @property
    def is_measured(self) -> bool:
        return bool(getattr(self._known, "is_measured", True))

    @property
    def substitute(self) -> str:
        return str(getattr(self._known, "substitute", ""))

    @property
    def info(self) -> DeviceInfo:
        return self._known.info if self._known is not None else self._need_greeting().info

    def capabilities(self) -> Capabilities:
        return self._known.capabilities() if self._known is not None else self._need_greeting().capabilities

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        connection = self.connect()
        return connection.ask(
            {"kind": "verdicts", "model": connection.model(model)},
            lambda answer: plain_values.to_verdicts(model, answer.body["verdicts"]),
        )

    def prepare(self, model: Model, options: PrepareOptions) -> RemotePrepared:
        connect = partial(self.connect, options.priority)
        return RemotePrepared(model, connect, lambda connection: _prepare(connection, model, options))

    def cache_entry(self, prepared: Prepared) -> bytes | None:
        assert isinstance(prepared, RemotePrepared)
        remote = prepared.find_remote()
        if not remote.connection.greeting.caches:
            return None
        return remote.connection.ask({"kind": "cache_entry", "prepared": remote.number}, _read_entry)

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> RemotePrepared:
        waiting = [entry]

        def make(connection: Connection) -> int:
            if waiting:  # once: the entry may be removed, or may have ended the process
                return _restore(connection, model, waiting.pop(), options)
            return _prepare(connection, model, options)

        return RemotePrepared(model, partial(self.connect, options.priority), make)

    def list_targets(self) -> Sequence[str]:
        known = None if self._service else self._known
        return known.list_targets() if isinstance(known, CompilesAhead) else ()

    def retarget(self, target: str) -> "Isolated":
        assert isinstance(self._known, CompilesAhead)
        return Isolated(self._known.retarget(target), patience=self._patience, grace=self._grace)

    def list_files(self, entry: bytes) -> Mapping[str, bytes]:
        assert isinstance(self._known, CompilesAhead)
        return self._known.list_files(entry)

    def allocate(self, type: OperandType) -> HostBuffer:
        name = self.info.name
        need(self.connect().greeting.allocates, f"{name} allocates no memory", OpFailedError)
        need(type.is_known, f"{name} allocates no memory of unknown dimensions: {type}", OpFailedError)
        return HostBuffer()

    def describe(self) -> None:
        """Read the driver's description from a process that then ends; afterwards calls have no patience limit."""
        try:
            self._need_greeting()
        finally:
            self.close()
        self._patience = None

    def wait(self) -> None:
        """Start the process if necessary, and wait for it; raise DeadObjectError if it cannot start."""
        self.connect()

    def close(self) -> None:
        """End the process; the next use starts a new one."""
        with self._lock:
            connections, self._connections = self._connections, {}
        for connection in connections.values():
            connection.close()

    @property
    def pid(self) -> int | None:
        """ID of the process; None if none is running."""
        return next((each.pid for each in list(self._connections.values()) if each.is_alive), None)

    def connect(self, priority: PriorityCode = PriorityCode.PRIORITY_MEDIUM) -> Connection:
        """Return the connection to the process, or to a service's worker for that priority; start it if necessary.
        DeadObjectError if the driver in it has changed."""
        nice = NICE[priority] if self._service else self._nice
        connection = self._connections.get(nice)
        if connection is not None and connection.is_alive:
            return connection
        with self._lock:
            connection = self._connections.get(nice)
            if connection is None or not connection.is_alive:
                if self._changed:
                    raise DeadObjectError(self._changed)
                connection = self._connections[nice] = self._start(nice)
            return connection

    def _start(self, nice: int) -> Connection:
        name = self._known.info.name if self._known is not None else self._name
        hello = {**self._source, "path": sys.path, "limits": self._limits, "nice": nice}
        start = partial(Peer, self._service, self._patience) if self._service else Process
        memory = None if self._service else self._limits["memory"]
        limited = f"its memory is limited to {memory / (1 << 20):g} MiB (memory={memory})" if memory else ""
        connection = Connection(name or "a driver", hello, self._patience, self._grace, start, limited)
        before = self._greeting.info if self._greeting else self._known.info if self._known else None
        greeting = connection.greeting
        if before is not None and greeting.info != before:
            connection.close()
            self._changed = f"{before.name} {before.version} has become {greeting.info.name} {greeting.info.version}"
            raise DeadObjectError(self._changed)
        self._greeting = greeting
        connection.name = greeting.info.name
        return connection

    def _need_greeting(self) -> plain_values.Greeting:
        return self._greeting or self.connect().greeting


def _source(driver: Any, device: str) -> dict[str, str]:
    if isinstance(driver, str):
        is_place = ":" in driver
        return {"entry": driver if is_place else "", "device": device if is_place else driver, "pickle": ""}
    try:
        return {"entry": "", "device": device, "pickle": pickle.dumps(driver).hex()}
    except Exception as error:
        raise BadDataError(f"{driver!r} cannot be sent to another process: {error}") from None


def _prepare(
    connection: Connection, model: Model, options: PrepareOptions, descriptors: Sequence[int] = (), **entry: int
) -> int:
    kind = "restore" if descriptors else "prepare"
    body = {"kind": kind, "model": connection.model(model), "options": plain_values.of_value(options), **entry}
    return connection.ask(body, read_number, descriptors, options.deadline)


def _restore(connection: Connection, model: Model, entry: CacheEntry, options: PrepareOptions) -> int:
    path = entry.file.path if entry.file is not None else None
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if path else memory_file([entry.content], "nnapi-cache-entry")
    try:
        size, length = os.fstat(file).st_size, len(entry.content)
        return _prepare(connection, model, options, [file], size=size, length=length)
    finally:
        os.close(file)


def _read_entry(answer: Message) -> bytes | None:
    length = answer.body["length"]
    if not length:
        return None if length is None else b""
    return bytes(map_file(length, answer.descriptors[0]).view(0, length).data)
