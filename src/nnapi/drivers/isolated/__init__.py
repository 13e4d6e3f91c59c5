"""A driver in a process of its own: the application survives that process, and is told how it ended."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from nnapi.codes import PriorityCode
from nnapi.drivers.base import (
    CacheEntry,
    Capabilities,
    DeviceInfo,
    Driver,
    HostBuffer,
    Prepared,
    PrepareOptions,
    Verdict,
)
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.connection import Connection
from nnapi.drivers.isolated.descriptors import memory_file
from nnapi.drivers.isolated.limits import BACKGROUND, NICE
from nnapi.drivers.isolated.peer import Peer
from nnapi.drivers.isolated.prepared import RemotePrepared, read_number
from nnapi.drivers.isolated.process import Process
from nnapi.drivers.isolated.protocol import Message
from nnapi.errors import BadDataError, DeadObjectError, OpFailedError, need
from nnapi.locks import make_lock
from nnapi.model.model import Model
from nnapi.model.operand import OperandType

GRACE = 5.0
"""Seconds beyond a time limit after which a driver that still computes is taken to hang."""


class Isolated:
    """Another driver, which lives in a process that is started when it is first needed and again after each end."""

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
        """``driver`` is the name of a device that is installed, ``module:attribute`` as in an entry point, or something
        that can be pickled: a driver, or what makes one or several, of which ``device`` names one.

        ``known`` is the same driver here, which says who it is without a process. Whoever does not answer for
        ``patience`` seconds, or for ``grace`` seconds after a time limit, is ended and counts as dead; without patience
        a call that has no time limit waits for ever.

        ``memory`` is how many bytes the process may have to itself. Without ``network`` it can make no sockets, without
        ``files`` open none for writing, nor remove or rename any. What it prepares and runs in the ``background`` gives
        way to whoever else wants a processor. ``service`` is the socket of a process that serves
        drivers already (``nnapi serve``): it has ``driver``, a name, by other rules then.
        """
        is_known = isinstance(driver, str) or not service
        need(is_known, f"a service knows drivers by their names, not {driver!r}", BadDataError)
        need(memory is None or memory > 0, f"memory is {memory}, must be above 0", BadDataError)
        self._source = _source(driver, device)
        self._name = device or (driver if isinstance(driver, str) else getattr(driver, "name", ""))
        self._limits = {"memory": memory, "network": network, "files": files}
        self._service = os.fspath(service)
        self._nice = BACKGROUND if background else NICE[PriorityCode.PRIORITY_MEDIUM] if self._service else 0
        self._others: dict[PriorityCode, Isolated] = {}
        """The same driver of a service, in workers that compute with other priorities."""
        is_driver = isinstance(driver, Driver) and not isinstance(driver, type)
        self._known = driver if known is None and is_driver else known
        self._patience, self._grace = patience, grace
        self._connection: Connection | None = None
        self._greeting: plain_values.Greeting | None = None
        self._changed = ""
        self._lock = make_lock()

    is_remote = True
    """The work is done in another process, for which this one waits."""

    @property
    def is_by_name(self) -> bool:
        """Return whether the device is used only by callers that name it."""
        return bool(getattr(self._known, "is_by_name", False))

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
        connect = self._with_priority(options.priority).connect
        return RemotePrepared(model, connect, lambda connection: _prepare(connection, model, options))

    def cache_entry(self, prepared: Prepared) -> bytes | None:
        assert isinstance(prepared, RemotePrepared)
        handle = prepared.handle()
        if not handle.connection.greeting.caches:
            return None
        return handle.connection.ask({"kind": "cache_entry", "prepared": handle.number}, _read_entry)

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> RemotePrepared:
        waiting = [entry]

        def make(connection: Connection) -> int:
            if waiting:  # afterwards the entry may be gone, or be what ended the process
                return _restore(connection, model, waiting.pop(), options)
            return _prepare(connection, model, options)

        return RemotePrepared(model, self._with_priority(options.priority).connect, make)

    def _with_priority(self, priority: PriorityCode) -> Isolated:
        """Return the driver where models of that priority are prepared and run: the system schedules processes, so a
        service has a worker for each priority that an application uses."""
        if not self._service or self._nice == NICE[priority]:
            return self
        with self._lock:
            if priority not in self._others:
                other = Isolated(
                    self._name, known=self._known, patience=self._patience, grace=self._grace, service=self._service
                )
                other._nice = NICE[priority]
                self._others[priority] = other
            return self._others[priority]

    def allocate(self, type: OperandType) -> HostBuffer:
        name = self.info.name
        need(self.connect().greeting.allocates, f"{name} allocates no memory", OpFailedError)
        need(type.is_known, f"{name} allocates no memory of unknown dimensions: {type}", OpFailedError)
        return HostBuffer()

    def describe(self) -> None:
        """Learn who the driver is from a process that ends again. From then on one may take as long as it likes."""
        try:
            self._need_greeting()
        finally:
            self.close()
        self._patience = None

    def wait(self) -> None:
        """Return when the process is there; DeadObjectError where it cannot be had."""
        self.connect()

    def close(self) -> None:
        """End the process; the next use starts another."""
        with self._lock:
            connection, self._connection = self._connection, None
            others, self._others = self._others, {}
        if connection is not None:
            connection.close()
        for other in others.values():
            other.close()

    @property
    def pid(self) -> int | None:
        """The number of the process, None while there is none."""
        connection = self._connection
        return connection.pid if connection is not None and connection.is_alive else None

    def connect(self) -> Connection:
        """The process, started where there is none. DeadObjectError where another driver than before is found in it."""
        connection = self._connection
        if connection is not None and connection.is_alive:
            return connection
        with self._lock:
            connection = self._connection
            if connection is None or not connection.is_alive:
                if self._changed:
                    raise DeadObjectError(self._changed)
                connection = self._connection = self._start()
            return connection

    def _start(self) -> Connection:
        name = self._known.info.name if self._known is not None else self._name
        hello = {**self._source, "path": sys.path, "limits": self._limits, "nice": self._nice}
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
    """Return how the process finds the driver."""
    if isinstance(driver, str):
        is_place = ":" in driver
        return {"entry": driver if is_place else "", "device": device if is_place else driver, "pickle": ""}
    try:
        return {"entry": "", "device": device, "pickle": pickle.dumps(driver).hex()}
    except Exception as error:
        raise BadDataError(f"{driver!r} cannot be sent to another process: {error}") from None


def _prepare(connection: Connection, model: Model, options: PrepareOptions) -> int:
    body = {"kind": "prepare", "model": connection.model(model), "options": plain_values.of_value(options)}
    return connection.ask(body, read_number, (), options.deadline)


def _restore(connection: Connection, model: Model, entry: CacheEntry, options: PrepareOptions) -> int:
    path = entry.file.path if entry.file is not None else None
    descriptor = (
        os.open(path, os.O_RDONLY | os.O_CLOEXEC) if path else memory_file([entry.content], "nnapi-cache-entry")
    )
    try:
        body = {
            "kind": "restore",
            "model": connection.model(model),
            "options": plain_values.of_value(options),
            "size": os.fstat(descriptor).st_size,
            "length": len(entry.content),
        }
        return connection.ask(body, read_number, [descriptor], options.deadline)
    finally:
        os.close(descriptor)


def _read_entry(answer: Message) -> bytes | None:
    length = answer.body["length"]
    return None if length is None else answer.read(int(length))
