"""The driver's side: what an application's connection asks is answered here, each channel by a thread of its own."""

from __future__ import annotations

import itertools
import mmap
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, NamedTuple

from nnapi.codes import CONTROL_FLOW, PriorityCode
from nnapi.drivers.base import (
    CacheEntry,
    Caches,
    Direct,
    Driver,
    Inference,
    Prepared,
    Request,
    Sessions,
)
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.arena import KEPT, Arena, copy_in
from nnapi.drivers.isolated.channel import (
    ANSWER,
    BINDING,
    BURST_SPIN,
    DONE,
    FAILED,
    REQUEST,
    SPIN,
    STATUS,
    Channel,
)
from nnapi.drivers.isolated.constants import map_constants
from nnapi.drivers.isolated.places import Gate, Place, ungated
from nnapi.drivers.isolated.protocol import Body, Message, Violation, memory_file, receive, send
from nnapi.drivers.isolated.recording import SECTIONS, Recording, section_of
from nnapi.errors import BadDataError, OpFailedError, need
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import Array, Shape
from nnapi.trace import spans

Find = Callable[[Body], Driver]
"""Gives the driver that a connection's first message asks for."""


class Held(NamedTuple):
    """A prepared model."""

    prepared: Prepared
    model: Model
    priority: PriorityCode
    is_burst: bool = False
    is_borrowing: bool = False
    """Whether its outputs may be views of the device's memory until its next run."""
    is_lent: bool = False
    """Whether another number closes it."""


class Session:
    """What one application has of one driver, from its first message until its connection ends."""

    def __init__(self, connection: socket.socket, find: Find, gate: Gate = ungated, *, trusted: bool = True) -> None:
        """What an application that is not ``trusted`` can change under our hands is copied."""
        self._connection, self._find, self.gate, self.trusted = connection, find, gate, trusted
        self.driver: Driver
        self.background: Place | None = None
        """Where models of low priority are prepared and run, if not where all others are."""
        self.models: dict[int, Model] = {}
        self.prepared: dict[int, Held] = {}
        self._numbers = itertools.count(1)
        self._channels: list[ChannelServer] = []
        self.recording = Recording(trusted)  # there is one recorder in a process, and strangers may not share it

    def run(self) -> None:
        """Serve until the application closes the connection, or breaks the protocol."""
        try:
            while message := receive(self._connection):
                self._handle(message)
        except (Violation, OSError, *plain_values.WRONG):
            pass
        finally:
            self._close()

    def end(self) -> None:
        """Close the connection, which ends :meth:`run`."""
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def _handle(self, message: Message) -> None:
        body = message.body
        kind = body["kind"]
        if kind == "channel":
            if len(message.descriptors) != 4:
                message.close()
                raise Violation("a channel has four descriptors")
            channel, page, bell, other = message.descriptors
            server = ChannelServer(self, Channel("driver", socket.socket(fileno=channel), page, bell, other))
            self._channels.append(server)
            threading.Thread(target=server.run, name="nnapi-channel", daemon=True).start()
            return
        message.close()
        if kind == "hello":
            send(self._connection, self._hello(body))
        elif kind == "release":
            for number in body["models"]:
                self.models.pop(number, None)
            for number in body["prepared"]:
                self.release(number)

    def _hello(self, body: Body) -> Body:
        try:
            self.driver = self._find(body)
            return plain_values.of_greeting(self.driver)
        except Exception as error:
            return {"error": plain_values.of_error(error, "the driver")}

    def place(self, priority: PriorityCode) -> Place:
        """Where models of that priority are prepared and run."""
        if self.background is not None and priority == PriorityCode.PRIORITY_LOW:
            return self.background
        return Place(self.driver, self.gate)

    def hold(self, held: Held) -> int:
        number = next(self._numbers)
        self.prepared[number] = held
        return number

    def keep(self, model: Model) -> int:
        number = next(self._numbers)
        self.models[number] = model
        return number

    def release(self, number: int) -> None:
        held = self.prepared.pop(number, None)
        if held is not None:
            for channel in self._channels:
                channel.forget(number)
            if not held.is_lent:
                held.prepared.close()

    def trace(self, body: Body) -> AbstractContextManager[Any]:
        """What a trace says of a question; nothing where that is not to be recorded."""
        if not spans.active:
            return spans.NOTHING
        if "trace" not in body:
            return spans.mute()
        if body["kind"] not in SECTIONS:
            return spans.NOTHING
        model = self.models[body["model"]] if "model" in body else self.prepared[body["prepared"]].model
        return section_of(body, self.driver.info, model)

    def _close(self) -> None:
        self._connection.close()
        for channel in self._channels:
            channel.end()
        for number in list(self.prepared):
            self.release(number)
        self.models.clear()


class Binding(NamedTuple):
    """A run that needs no message: views of an arena, and what computes."""

    prepared: int
    run: Callable[[], None]
    spin: int


class ChannelServer:
    """Answers what comes through one channel."""

    def __init__(self, session: Session, channel: Channel) -> None:
        self._session, self._channel = session, channel
        self._arena: Arena | None = None
        self._bindings: dict[int, Binding] = {}
        self._numbers = itertools.count(1)
        self._undelivered: list[Array] = []
        self._spin = SPIN

    def run(self) -> None:
        """Serve until the application closes the channel, or breaks the protocol."""
        channel, seen = self._channel, 0
        try:
            while True:
                if not channel.wait(REQUEST, seen, self._spin):
                    seen = channel.words[REQUEST]
                    self._run_bound(channel.words[BINDING])
                    channel.tell(ANSWER, seen)
                elif not self._serve_message():
                    return
        except (Violation, OSError):
            pass
        finally:
            self._bindings.clear()
            channel.close()

    def end(self) -> None:
        """Let the thread of the channel find that nobody is there any more."""
        with suppress(OSError):
            self._channel.socket.shutdown(socket.SHUT_RDWR)

    def forget(self, prepared: int) -> None:
        """Drop what runs a prepared model that nobody needs any more."""
        for place, binding in list(self._bindings.items()):
            if binding.prepared == prepared:
                self._bindings.pop(place, None)

    def _serve_message(self) -> bool:
        """Answer the next message; whether there was one."""
        message = receive(self._channel.socket)
        if message is None:
            return False
        answer, descriptors = self._answer(message)
        try:
            send(self._channel.socket, answer, descriptors)
        except OSError:
            if "prepared" in answer:
                self._session.release(answer["prepared"])  # nobody heard of it
            raise
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        return True

    def _run_bound(self, number: int) -> None:
        if spans.active:
            self._session.recording.pause()
        try:
            _, run, self._spin = self._bindings[number]
            run()
            self._channel.words[STATUS] = DONE
        except Exception:
            self._channel.words[STATUS] = FAILED  # the application asks again, by a message, and is told

    def _answer(self, message: Message) -> tuple[Body, list[int]]:
        body = message.body
        try:
            if "arena" in body:
                self._arena = None
                self._arena = Arena(message.descriptors[0], body["arena"])
            self._session.recording.follow(body.get("trace"))
            with self._session.trace(body):
                answer = HANDLERS[body["kind"]](self, body, message.descriptors)
            return answer if isinstance(answer, tuple) else (answer, [])
        except Exception as error:
            return {"error": plain_values.of_error(error, self._session.driver.info.name)}, []
        finally:
            message.close()

    def _model(self, body: Body, descriptors: Sequence[int]) -> Body:
        constant = map_constants(body["layout"], descriptors, trusted=self._session.trusted)
        return {"model": self._session.keep(plain_values.to_model(body["model"], constant))}

    def _verdicts(self, body: Body, descriptors: Sequence[int]) -> Body:
        model = self._session.models[body["model"]]
        return {"verdicts": plain_values.of_verdicts(model, self._session.driver.verdicts(model))}

    def _prepare(self, body: Body, descriptors: Sequence[int]) -> Body:
        model, options = self._session.models[body["model"]], plain_values.to_options(body["options"])
        prepared = self._session.place(options.priority).driver.prepare(model, options)
        return {"prepared": self._session.hold(Held(prepared, model, options.priority))}

    def _restore(self, body: Body, descriptors: Sequence[int]) -> Body:
        model, options = self._session.models[body["model"]], plain_values.to_options(body["options"])
        driver = self._session.place(options.priority).driver
        need(isinstance(driver, Caches), "the driver keeps nothing", OpFailedError)
        assert isinstance(driver, Caches)
        content = map_constants(
            {"sizes": [body["size"]], "places": [[0, 0, body["length"]]]}, descriptors, trusted=self._session.trusted
        )(0)
        memory = Memory.from_fd(body["size"], mmap.PROT_READ, descriptors[0]) if self._session.trusted else None
        prepared = driver.restore(model, CacheEntry(content.data, memory), options)
        return {"prepared": self._session.hold(Held(prepared, model, options.priority))}

    def _cache_entry(self, body: Body, descriptors: Sequence[int]) -> tuple[Body, list[int]]:
        held = self._session.prepared[body["prepared"]]
        driver = self._session.place(held.priority).driver
        content = driver.cache_entry(held.prepared) if isinstance(driver, Caches) else None
        if content is None:
            return {"length": None}, []
        return {"length": len(content)}, [memory_file([content] if content else [], "nnapi-cache-entry")]

    def _session_of(self, body: Body, descriptors: Sequence[int]) -> Body:
        held = self._session.prepared[body["prepared"]]
        if isinstance(held.prepared, Sessions):
            held = held._replace(prepared=held.prepared.session(), is_burst=True, is_borrowing=True)
        else:
            held = held._replace(is_burst=True, is_lent=True)
        return {"prepared": self._session.hold(held)}

    def _execute(self, body: Body, descriptors: Sequence[int]) -> Body:
        held, arena = self._session.prepared[body["prepared"]], self._arena
        assert arena is not None
        types = [held.model.operands[index].type for index in held.model.inputs]
        inputs = [
            None if place is None else arena.view(place[0], place[1], type.dtype)
            for place, type in zip(body["inputs"], types, strict=True)
        ]
        limits, attributes = (body["deadline"], body["loop_timeout"]), plain_values.to_attributes(body["attributes"])
        with self._session.place(held.priority).gate(held.priority, body["deadline"]):
            begin = time.monotonic_ns()
            outcome = held.prepared.execute(Request(inputs, *limits, held.is_borrowing, attributes))
            took = time.monotonic_ns() - begin
        for array, index in zip(outcome.outputs, held.model.outputs, strict=True):
            stored = held.model.operands[index].type.dtype
            need(array.dtype.itemsize == stored.itemsize, f"the driver gave {array.dtype} for {stored}", OpFailedError)
        times = {"driver_ns": outcome.driver_ns or took, "hardware_ns": outcome.hardware_ns}
        return {**self._deliver(list(outcome.outputs), body["free"]), **times}

    def _deliver_rest(self, body: Body, descriptors: Sequence[int]) -> Body:
        return self._deliver(self._undelivered, 0)

    def _deliver(self, outputs: list[Array], free: int) -> Body:
        """Put outputs into the arena, from ``free`` on; where it has no room say how much is needed, and wait."""
        arena = self._arena
        assert arena is not None
        places, end = copy_in(arena, outputs, free)
        self._undelivered = outputs if places is None else []
        if places is None:
            return {"needs": end}
        if arena.size > KEPT:
            self._arena = None
        return {"outputs": places}

    def _spans(self, body: Body, descriptors: Sequence[int]) -> Body:
        return {"spans": [plain_values.of_span(span) for span in self._session.recording.read()]}

    def _bind(self, body: Body, descriptors: Sequence[int]) -> Body:
        number, (input_places, output_places) = body["prepared"], body["places"]
        held, arena = self._session.prepared[number], Arena(descriptors[0], body["size"])
        shapes = [tuple(shape) for _, shape in input_places]
        infer = _inference(held, shapes)
        if infer is None:
            return {"binding": None}
        inputs, outputs = arena.views(held.model, input_places, output_places)
        gate, priority = self._session.place(held.priority).gate, held.priority
        wanted = [(view, view.shape, view.dtype) for view in outputs]

        def run() -> None:
            if gate is ungated:  # which costs a microsecond less
                found = infer(inputs)
            else:
                with gate(priority, None):
                    found = infer(inputs)
            for array, (view, shape, dtype) in zip(found, wanted, strict=True):
                if array.shape != shape or array.dtype != dtype:
                    raise BadDataError(f"an output is {array.dtype} of shape {array.shape}")
                view[...] = array

        place = next(self._numbers)
        self._bindings[place] = Binding(number, run, BURST_SPIN if held.is_burst else SPIN)
        return {"binding": place}


def _inference(held: Held, shapes: Sequence[Shape]) -> Inference | None:
    """A run without a time limit; None where a loop may run for longer than it should."""
    prepared = held.prepared
    if isinstance(prepared, Direct):
        return prepared.direct(shapes, held.is_borrowing)
    if any(call.code in CONTROL_FLOW for call in held.model.operations):
        return None
    return lambda inputs: list(prepared.execute(Request(inputs)).outputs)


HANDLERS: dict[str, Callable[[ChannelServer, Body, Sequence[int]], Body | tuple[Body, list[int]]]] = {
    "model": ChannelServer._model,
    "verdicts": ChannelServer._verdicts,
    "prepare": ChannelServer._prepare,
    "restore": ChannelServer._restore,
    "cache_entry": ChannelServer._cache_entry,
    "session": ChannelServer._session_of,
    "execute": ChannelServer._execute,
    "deliver": ChannelServer._deliver_rest,
    "bind": ChannelServer._bind,
    "spans": ChannelServer._spans,
}
