"""A model prepared in a driver's process. If the process ends, the model is prepared again in the next one."""

import math
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from nnapi.contract.driver import DriverDiedError, Handle, Inference, OpenOptions, Outcome, Request
from nnapi.contract.prepared import check_deadline
from nnapi.drivers.isolated.arena import KEPT, Arena, Location, copy_in, new_arena, round_up
from nnapi.drivers.isolated.channel import Binding, ClientChannel
from nnapi.drivers.isolated.connection import Connection
from nnapi.drivers.isolated.plain_values import of_value
from nnapi.drivers.isolated.protocol import Message
from nnapi.errors import OpFailedError
from nnapi.locks import make_lock
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, Shape, combine

Make = Callable[[Connection], int]
"""Prepares the model in a process; returns its number there."""


def read_number(answer: Message) -> int:
    return int(answer.body["prepared"])


class RemoteNumber:
    """The number of a prepared model in one process, released with this object."""

    def __init__(self, connection: Connection, number: int) -> None:
        self.connection, self.number = connection, number
        connection.release_with(self, number)


class RemotePrepared:
    """A model prepared in the process that ``connect`` returns, and again in the next one if that has ended."""

    is_burst = False

    def __init__(self, model: Model, connect: Callable[[], Connection], make: Make, *, now: bool = True) -> None:
        self._model, self._connect, self._make = model, connect, make
        self._inputs = [model.operands[index].type for index in model.inputs]
        self._outputs = [model.operands[index].type for index in model.outputs]
        self._lock = make_lock()
        self._thread = threading.local()
        """Per thread: the error of its last run on the fast path. Its next run on the general path raises it."""
        self._is_closed = False
        self._remote: RemoteNumber | None = None
        if now:
            self.find_remote()

    def find_remote(self) -> RemoteNumber:
        """Return the prepared model in a live process; prepare it there if necessary."""
        remote = self._remote
        if remote is not None and remote.connection.is_alive:
            return remote
        with self._lock:
            remote = self._remote
            if remote is None or not remote.connection.is_alive:
                if self._is_closed:
                    raise OpFailedError("the prepared model is closed")
                connection = self._connect()
                remote = self._remote = RemoteNumber(connection, self._make(connection))
            return remote

    def execute(self, request: Request, *, measure: bool = False) -> Outcome:
        death: DriverDiedError | None = self._thread.__dict__.pop("death", None)
        if death is not None:
            raise death
        check_deadline(request)
        remote = self.find_remote()
        channel = remote.connection.take()
        try:
            return self._execute(remote, channel, request, measure)
        finally:
            remote.connection.put(channel)

    def _execute(self, remote: RemoteNumber, channel: ClientChannel, request: Request, measure: bool) -> Outcome:
        connection = remote.connection
        locations, free = copy_in(channel.arena, request.inputs, 0)
        body = {
            "kind": "execute",
            "prepared": remote.number,
            "free": free,
            "deadline": request.deadline,
            "loop_timeout": request.loop_timeout,
            "attributes": of_value(request.attributes),
            "measure": measure,
        }

        read = partial(self._read_outcome, channel)
        if locations is not None:
            return connection.ask_on(channel, {**body, "inputs": locations}, read, (), request.deadline)
        size = free + sum(round_up(type.nbytes) for type in self._outputs) + 1
        with new_arena(size) as (channel.arena, descriptor):
            locations, _ = copy_in(channel.arena, request.inputs, 0)
            return connection.ask_on(
                channel, {**body, "inputs": locations, "arena": size}, read, [descriptor], request.deadline
            )

    def _read_outcome(self, channel: ClientChannel, message: Message) -> Outcome:
        """Copy the outputs from the channel's arena, or from a separate one if they did not fit. ValueError or
        BadDataError if the model cannot have such outputs."""
        assert channel.arena is not None
        answer, outputs = message.body, []
        arena = Arena(message.descriptors[0], int(answer["arena"])) if "arena" in answer else channel.arena
        for type, (offset, dimensions) in zip(self._outputs, answer["outputs"], strict=True):
            shape = tuple(map(int, dimensions))
            if not type.is_scalar and combine(type.dimensions, shape) is None:
                raise ValueError(f"an output has shape {shape}, but the model declares {type}")
            outputs.append(arena.view(offset, shape, type.dtype).copy())
        if channel.arena.size > KEPT:
            channel.arena = None
        return Outcome(outputs, _count(answer["hardware_ns"]), _count(answer["driver_ns"]))

    def open_handle(self, options: OpenOptions) -> Handle:
        """Return a handle; an exclusive one has a session in the process, which spins longer between its runs."""
        if options.exclusive:
            session = RemoteSession(self, self._model, self._connect)
            return session._open(options)._replace(close=session.close)
        return self._open(options)

    def _open(self, options: OpenOptions) -> Handle:
        """Return a handle. It has no fast path if the driver has none or an output's shape is unknown."""
        call, inputs = None, None
        is_known = all(type.is_known for type in self._outputs)
        if options.shapes is not None and is_known and len(options.shapes) == len(self._inputs):
            shapes = tuple(options.shapes)
            call = self._make_call(shapes, options.borrow or options.bind)
            with suppress(DriverDiedError):  # the next run reports it
                binding = self._find_binding(shapes)
                call = None if binding is None else call
                inputs = self._clear_inputs(binding) if options.bind and binding else None
        execute = partial(self.execute, measure=True) if options.measure else self.execute
        return Handle(execute, self._open, call, inputs)

    def _clear_inputs(self, binding: Binding) -> list[Array]:
        """Return the inputs' memory in the arena, where the process reads them; a later process gets copies."""
        for array in binding.inputs:
            array.fill(0)
        return binding.inputs

    def _make_call(self, shapes: tuple[Shape, ...], borrow: bool) -> Inference:
        borrow = borrow and self.is_burst

        def run(inputs: Sequence[Array]) -> list[Array]:
            remote = self._remote
            if remote is None:
                raise OpFailedError("the model is closed, or not prepared yet")
            connection = remote.connection
            channel = connection.take()
            try:
                binding = channel.bindings.get((remote.number, shapes)) or self._bind(remote, channel, shapes)
                if binding is None:
                    raise OpFailedError("the driver has no fast path")
                for view, array in zip(binding.inputs, inputs):  # noqa: B905  # the caller has compared the shapes
                    if view is not array:
                        view[...] = array
                if not connection.run(channel, binding, self.is_burst):
                    raise OpFailedError("the driver could not run directly")
                return list(binding.outputs) if borrow else [view.copy() for view in binding.outputs]
            except DriverDiedError as death:
                self._thread.death = death
                raise
            finally:
                connection.put(channel)

        return run

    def _find_binding(self, shapes: tuple[Shape, ...]) -> Binding | None:
        remote = self.find_remote()
        channel = remote.connection.take()
        try:
            return self._bind(remote, channel, shapes)
        finally:
            remote.connection.put(channel)

    def _bind(self, remote: RemoteNumber, channel: ClientChannel, shapes: tuple[Shape, ...]) -> Binding | None:
        """Return the binding for these shapes on a channel, made at first use; None without a fast path."""
        key = remote.number, shapes
        if key in channel.bindings:
            return channel.bindings[key]
        inputs, size = _lay_out(shapes, self._inputs, 0)
        outputs, size = _lay_out([type.dimensions for type in self._outputs], self._outputs, size)
        size = max(size, 1)
        with new_arena(size) as (arena, descriptor):
            body = {"kind": "bind", "prepared": remote.number, "locations": [inputs, outputs], "size": size}
            number = remote.connection.ask_on(channel, body, _read_binding, [descriptor], None)
        found = None if number is None else Binding(number, *arena.views(self._model, inputs, outputs))
        channel.bindings[key] = found
        return found

    def close(self) -> None:
        with self._lock:
            self._is_closed, self._remote = True, None


class RemoteSession(RemotePrepared):
    is_burst = True

    def __init__(self, shared: RemotePrepared, model: Model, connect: Callable[[], Connection]) -> None:
        def make(connection: Connection) -> int:
            return connection.ask({"kind": "session", "prepared": shared.find_remote().number}, read_number)

        super().__init__(model, connect, make, now=False)


def _lay_out(shapes: Sequence[Shape], types: Sequence[OperandType], free: int) -> tuple[list[Location], int]:
    """Return locations for arrays of these shapes and types, from offset ``free`` on, and the next free offset."""
    locations: list[Location] = []
    for shape, type in zip(shapes, types, strict=True):
        locations.append((free, shape))
        free += round_up(math.prod(shape) * type.dtype.itemsize)
    return locations, free


def _read_binding(answer: Message) -> int | None:
    return _count(answer.body["binding"])


def _count(value: Any) -> int | None:
    return None if value is None else int(value)
