"""A model prepared in a driver's process. If the process ends, the model is prepared again in the next one."""

import math
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from nnapi.contract.driver import Bound, DriverDiedError, Inference, Outcome, Request
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


class Handle:
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
        self._handle: Handle | None = None
        if now:
            self.handle()

    def handle(self) -> Handle:
        """Return the prepared model in a live process; prepare it there if necessary."""
        handle = self._handle
        if handle is not None and handle.connection.is_alive:
            return handle
        with self._lock:
            handle = self._handle
            if handle is None or not handle.connection.is_alive:
                if self._is_closed:
                    raise OpFailedError("the prepared model is closed")
                connection = self._connect()
                handle = self._handle = Handle(connection, self._make(connection))
            return handle

    def execute(self, request: Request) -> Outcome:
        death: DriverDiedError | None = self._thread.__dict__.pop("death", None)
        if death is not None:
            raise death
        check_deadline(request)
        handle = self.handle()
        channel = handle.connection.take()
        try:
            return self._execute(handle, channel, request)
        finally:
            handle.connection.put(channel)

    def _execute(self, handle: Handle, channel: ClientChannel, request: Request) -> Outcome:
        connection = handle.connection
        locations, free = copy_in(channel.arena, request.inputs, 0)
        body = {
            "kind": "execute",
            "prepared": handle.number,
            "free": free,
            "deadline": request.deadline,
            "loop_timeout": request.loop_timeout,
            "attributes": of_value(request.attributes),
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

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        """Return a run without messages; None if the driver has no fast path or an output's shape is unknown."""
        known = all(type.is_known for type in self._outputs) and len(shapes) == len(self._inputs)
        if not known:
            return None
        with suppress(DriverDiedError):  # the next run reports it
            if self._find_binding(tuple(shapes)) is None:
                return None
        return self._make_run(tuple(shapes), borrow)

    def _make_run(self, shapes: tuple[Shape, ...], borrow: bool) -> Inference:
        borrow = borrow and self.is_burst

        def run(inputs: Sequence[Array]) -> list[Array]:
            handle = self._handle
            if handle is None:
                raise OpFailedError("the model is closed, or not prepared yet")
            connection = handle.connection
            channel = connection.take()
            try:
                binding = channel.bindings.get((handle.number, shapes)) or self._bind(handle, channel, shapes)
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
        handle = self.handle()
        channel = handle.connection.take()
        try:
            return self._bind(handle, channel, shapes)
        finally:
            handle.connection.put(channel)

    def _bind(self, handle: Handle, channel: ClientChannel, shapes: tuple[Shape, ...]) -> Binding | None:
        """Return the binding for these shapes on a channel, made at first use; None without a fast path."""
        key = handle.number, shapes
        if key in channel.bindings:
            return channel.bindings[key]
        inputs, size = _lay_out(shapes, self._inputs, 0)
        outputs, size = _lay_out([type.dimensions for type in self._outputs], self._outputs, size)
        size = max(size, 1)
        with new_arena(size) as (arena, descriptor):
            body = {"kind": "bind", "prepared": handle.number, "locations": [inputs, outputs], "size": size}
            number = handle.connection.ask_on(channel, body, _read_binding, [descriptor], None)
        found = None if number is None else Binding(number, *arena.views(self._model, inputs, outputs))
        channel.bindings[key] = found
        return found

    def session(self) -> "RemoteSession":
        """Return a prepared model for one run at a time. Its process spins longer between runs."""
        return RemoteSession(self, self._model, self._connect)

    def close(self) -> None:
        with self._lock:
            self._is_closed, self._handle = True, None


class RemoteSession(RemotePrepared):
    is_burst = True

    def __init__(self, shared: RemotePrepared, model: Model, connect: Callable[[], Connection]) -> None:
        def make(connection: Connection) -> int:
            return connection.ask({"kind": "session", "prepared": shared.handle().number}, read_number)

        super().__init__(model, connect, make, now=False)

    def bind(self, shapes: Sequence[Shape]) -> Bound | None:
        """Return the inputs' memory in the arena, where the process reads them; a later process gets copies."""
        run = self.direct(shapes, True)
        binding = None
        with suppress(DriverDiedError):  # the next run reports it
            binding = run and self._find_binding(tuple(shapes))
        if run is None or binding is None:
            return None
        for array in binding.inputs:
            array.fill(0)
        return Bound(binding.inputs, partial(run, binding.inputs))


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
