"""The driver's side of a channel: a thread that answers messages and runs models."""

import hmac
import itertools
import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import NamedTuple

from nnapi.contract.driver import CacheEntry, Caches, Prepared, PrepareOptions, Request
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.arena import KEPT, Arena, copy_in, new_arena
from nnapi.drivers.isolated.channel import (
    ANSWER,
    BINDING,
    BURST_SPIN,
    DONE,
    FAILED,
    REQUEST,
    SIZE,
    SPIN,
    STATUS,
    Channel,
)
from nnapi.drivers.isolated.constants import map_constants, map_file
from nnapi.drivers.isolated.descriptors import memory_file, need_bell, need_shared
from nnapi.drivers.isolated.plain_values import ATTRIBUTES, to_value
from nnapi.drivers.isolated.protocol import Body, Message, receive, refuse, send
from nnapi.drivers.isolated.session import PreparedModel, Session, free_memory
from nnapi.errors import BadDataError, OpFailedError, need
from nnapi.model.content_hash import hash_content
from nnapi.model.model import Model
from nnapi.trace import spans


def make_channel(connection: socket.socket, descriptors: list[int]) -> Channel:
    """Return the driver's side of a channel; it owns ``descriptors``, a page and two bells, else BadDataError."""
    page, *bells = descriptors
    need_shared(page, SIZE)
    for bell in bells:
        need_bell(bell)
    descriptors.clear()
    return Channel("driver", connection, page, *bells)


class Binding(NamedTuple):
    """A run without messages: number of the prepared model, function that runs on the arena, spin in nanoseconds."""

    prepared: int
    run: Callable[[], None]
    spin: int


class ChannelServer:
    def __init__(self, session: Session, channel: Channel) -> None:
        """Raise ResourceExhaustedPersistentError if the application has too many channels."""
        self._session, self._channel = session, channel
        self._slot = session.enter_channel(self.forget)
        self._arena: Arena | None = None
        self._bindings: dict[int, Binding] = {}
        self._numbers = itertools.count(1)
        self._spin = SPIN

    def run(self) -> None:
        """Serve until the application closes the channel or violates the protocol."""
        channel, seen, clock, slot = self._channel, 0, self._session.clock, self._slot
        try:
            while True:
                if not channel.wait(REQUEST, seen, self._spin):
                    seen = channel.words[REQUEST]
                    clock[slot] = time.monotonic_ns()
                    self._run_bound(channel.words[BINDING])
                    clock[slot] = 0
                    channel.tell(ANSWER, seen)
                elif not self._serve_message():
                    return
        except OSError:
            pass
        except Exception as error:  # a Violation, or no memory is left for a message
            with suppress(Exception):
                refuse(channel.socket, self._session.describe_error(error) | {"closed": True})
        finally:
            self._bindings.clear()
            self.close()

    def close(self) -> None:
        self._channel.close()
        self._session.leave_channel(self._slot)

    def forget(self, prepared: int) -> None:
        """Remove the bindings of a released prepared model."""
        for number, binding in list(self._bindings.items()):
            if binding.prepared == prepared:
                self._bindings.pop(number, None)

    def _serve_message(self) -> bool:
        """Answer the next message; return False if the application has closed the channel."""
        message = receive(self._channel.socket)
        if message is None:
            return False
        self._session.clock[self._slot] = time.monotonic_ns()
        answer, descriptors = self._answer(message)
        self._session.clock[self._slot] = 0
        try:
            send(self._channel.socket, answer, descriptors)
        except OSError:
            if "prepared" in answer:
                self._session.release(answer["prepared"])  # the application does not know its number
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
            self._channel.words[STATUS] = FAILED  # the application repeats the run by a message

    def _answer(self, message: Message) -> tuple[Body, list[int]]:
        body = message.body
        try:
            if "arena" in body:
                self._arena = None
                self._arena = Arena(message.descriptors[0], body["arena"])
            self._session.recording.follow(body.get("trace"))
            with self._session.trace(body):
                answer = getattr(self, f"answer_{body['kind']}")(body, message.descriptors)
            return answer if isinstance(answer, tuple) else (answer, [])
        except Exception as error:
            return self._session.describe_error(error), []
        finally:
            message.close()

    def answer_model(self, body: Body, descriptors: Sequence[int]) -> Body:
        session = self._session
        session.check_count(session.models)
        constant = map_constants(body["layout"], descriptors, session.map_constants)
        return {"model": session.add(session.models, plain_values.to_model(body["model"], constant))}

    def answer_verdicts(self, body: Body, descriptors: Sequence[int]) -> Body:
        model = self._session.models[body["model"]]
        return {"verdicts": plain_values.of_verdicts(model, self._session.driver.verdicts(model))}

    def answer_prepare(self, body: Body, descriptors: Sequence[int]) -> Body:
        return self._prepare(body, self._session.driver.prepare)

    def answer_restore(self, body: Body, descriptors: Sequence[int]) -> Body:
        driver, key, length = self._session.driver, self._session.key, body["length"]
        if not isinstance(driver, Caches):
            raise OpFailedError("the driver does not cache")

        def restore(model: Model, options: PrepareOptions) -> Prepared:
            file = map_file(body["size"], descriptors[0])
            content = file.view(0, length).data
            # Another process may change the file at any time, so a checked copy is restored.
            entry = CacheEntry(memoryview(open_entry(key, model, bytes(content)))) if key else CacheEntry(content, file)
            return driver.restore(model, entry, options)

        return self._prepare(body, restore)

    def _prepare(self, body: Body, prepare: Callable[[Model, PrepareOptions], Prepared]) -> Body:
        session = self._session
        session.check_count(session.prepared)
        model, options = session.models[body["model"]], session.to_options(body["options"])
        try:
            return {"prepared": session.add(session.prepared, PreparedModel.of(prepare(model, options), model))}
        finally:
            free_memory()

    def answer_cache_entry(self, body: Body, descriptors: Sequence[int]) -> tuple[Body, list[int]]:
        held, driver, key = self._session.prepared[body["prepared"]], self._session.driver, self._session.key
        content = driver.cache_entry(held.prepared) if isinstance(driver, Caches) else None
        if content is None:
            return {"length": None}, []
        if key:
            content = seal_entry(key, held.model, content)
        return {"length": len(content)}, [memory_file([content], "nnapi-cache-entry")]

    def answer_session(self, body: Body, descriptors: Sequence[int]) -> Body:
        self._session.check_count(self._session.prepared)
        burst = self._session.prepared[body["prepared"]].open_burst()
        return {"prepared": self._session.add(self._session.prepared, burst)}

    def answer_execute(self, body: Body, descriptors: Sequence[int]) -> tuple[Body, list[int]]:
        held, arena = self._session.prepared[body["prepared"]], self._arena
        assert arena is not None
        types = [held.model.operands[index].type for index in held.model.inputs]
        inputs = [
            None if location is None else arena.view(location[0], location[1], type.dtype)
            for location, type in zip(body["inputs"], types, strict=True)
        ]
        limits, attributes = (body["deadline"], body["loop_timeout"]), to_value(ATTRIBUTES, body["attributes"])
        handle = held.open_measured() if body.get("measure") else held.handle
        begin = time.monotonic_ns()
        outcome = handle.execute(Request(inputs, *limits, attributes=attributes))
        took = time.monotonic_ns() - begin
        outputs = list(outcome.outputs)
        for array, index in zip(outputs, held.model.outputs, strict=True):
            stored = held.model.operands[index].type.dtype
            need(array.dtype.itemsize == stored.itemsize, f"the driver gave {array.dtype} for {stored}", OpFailedError)
        times = {"driver_ns": outcome.driver_ns or took, "hardware_ns": outcome.hardware_ns}
        locations, end = copy_in(arena, outputs, body["free"])
        if arena.size > KEPT:
            self._arena = None
        if locations is not None:
            return {"outputs": locations, **times}, []
        with new_arena(end) as (larger, descriptor):  # for dynamic outputs
            locations, _ = copy_in(larger, outputs, 0)
            return {"outputs": locations, "arena": end, **times}, [os.dup(descriptor)]

    def answer_spans(self, body: Body, descriptors: Sequence[int]) -> Body:
        return {"spans": [plain_values.of_span(span) for span in self._session.recording.read(body["first"])]}

    def answer_bind(self, body: Body, descriptors: Sequence[int]) -> Body:
        number, (input_locations, output_locations) = body["prepared"], body["locations"]
        held, arena = self._session.prepared[number], Arena(descriptors[0], body["size"])
        shapes = [tuple(shape) for _, shape in input_locations]
        infer = held.find_call(shapes)
        if infer is None:
            return {"binding": None}
        inputs, outputs = arena.views(held.model, input_locations, output_locations)
        wanted = [(view, view.shape, view.dtype) for view in outputs]

        def run() -> None:
            for array, (view, shape, dtype) in zip(infer(inputs), wanted, strict=True):
                if array.shape != shape or array.dtype != dtype:
                    raise BadDataError(f"an output is {array.dtype} of shape {array.shape}")
                view[...] = array

        binding = next(self._numbers)
        self._bindings[binding] = Binding(number, run, BURST_SPIN if held.is_burst else SPIN)
        return {"binding": binding}


DIGEST_SIZE = 32


def seal_entry(key: bytes, model: Model, content: bytes) -> bytes:
    """Append a digest made with a secret key. Engines do not check entries that they read, so a service restores only
    entries that it wrote for the same model."""
    return content + _sign(key, model, content)


def open_entry(key: bytes, model: Model, sealed: bytes) -> bytes:
    """Return a sealed entry without its digest; raise BadDataError unless it was sealed with ``key`` for this model."""
    content, found = sealed[:-DIGEST_SIZE], sealed[-DIGEST_SIZE:]
    is_own = hmac.compare_digest(found, _sign(key, model, content))
    need(is_own, "the cache entry was not written by this service for this model", BadDataError)
    return content


def _sign(key: bytes, model: Model, content: bytes) -> bytes:
    state = blake2b(hash_content(model), key=key, digest_size=DIGEST_SIZE)
    state.update(content)
    return state.digest()
