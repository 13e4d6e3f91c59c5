"""The driver's side of a connection: what an application has of one driver, and the channels that serve it."""

from __future__ import annotations

import itertools
import os
import socket
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from nnapi.drivers.base import (
    Driver,
    PrepareOptions,
)
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.allowance import UNLIMITED, Allowance
from nnapi.drivers.isolated.channel_server import ChannelServer, Held, make_channel
from nnapi.drivers.isolated.descriptors import need_socket
from nnapi.drivers.isolated.protocol import Body, Message, Violation, receive, refuse, send
from nnapi.drivers.isolated.recording import SECTIONS, Recording, section_of
from nnapi.errors import NnapiError, OutOfMemoryError
from nnapi.model.model import Model
from nnapi.trace import spans

Find = Callable[[Body], Driver]
"""Gives the driver that a connection's first message asks for."""


class Session:
    """What one application has of one driver, from its first message until its connection ends."""

    def __init__(
        self,
        connection: socket.socket,
        find: Find,
        allowance: Allowance = UNLIMITED,
        clock: memoryview | None = None,
        key: bytes = b"",
    ) -> None:
        """``clock`` has a number for each channel: when its run began (monotonic nanoseconds), 0 between two runs.
        With a ``key`` only entries of caches that were written under it are restored."""
        self._connection, self._find, self._allowance, self.key = connection, find, allowance, key
        self.driver: Driver
        self.models: dict[int, Model] = {}
        self.prepared: dict[int, Held] = {}
        self.clock = memoryview(bytearray(8 * allowance.threads)).cast("Q") if clock is None else clock
        self._numbers = itertools.count(1)
        self._free = list(reversed(range(len(self.clock))))
        self._channels: dict[int, ChannelServer] = {}
        self.recording = Recording()

    def run(self) -> None:
        """Serve until the application closes the connection, or breaks the protocol. The process is to end then:
        channels may still be computing."""
        try:
            while message := receive(self._connection):
                self._handle(message)
        except (Violation, OSError, NnapiError, *plain_values.WRONG):
            pass

    def _handle(self, message: Message) -> None:
        body = message.body
        try:
            kind = body["kind"]
            if (kind == "hello") is hasattr(self, "driver"):
                raise Violation(f"{kind!r} is out of order")
            if kind == "channel":
                self._open_channel(message.descriptors)
            elif kind == "hello":
                send(self._connection, self._hello(body))
                self._connection.settimeout(None)
            elif kind == "release":
                for number in body["models"]:
                    self.models.pop(number, None)
                for number in body["prepared"]:
                    self.release(number)
        finally:
            message.close()

    def _open_channel(self, descriptors: list[int]) -> None:
        """Serve a channel on a thread of its own. Its first message is the error where that cannot be done."""
        if len(descriptors) != 4:
            raise Violation("a channel has four descriptors")
        need_socket(descriptors[0])
        connection = socket.socket(fileno=descriptors.pop(0))
        slot = None
        try:
            self._allowance.need_fewer(len(self._channels), "threads")
            slot = self._free.pop()
            server = ChannelServer(self, make_channel(connection, descriptors), slot)
            self._channels[slot] = server
            try:
                threading.Thread(target=server.run, name="nnapi-channel", daemon=True).start()
            except RuntimeError as error:
                raise OutOfMemoryError(f"no thread can be started: {error}") from None
        except Exception as error:
            if slot is not None:
                self.forget_channel(slot)
            refuse(connection, self.describe_error(error) | {"closed": True})

    def forget_channel(self, slot: int) -> None:
        """Let another channel have the place of one that is closed."""
        self.clock[slot] = 0
        self._channels.pop(slot, None)
        self._free.append(slot)

    def describe_error(self, error: Exception) -> Body:
        """Return the answer that says what went wrong."""
        name = self.driver.info.name if hasattr(self, "driver") else "the driver"
        return {"error": plain_values.of_error(self._allowance.explain(error), name)}

    def _hello(self, body: Body) -> Body:
        try:
            self.driver = self._find(body)
            return plain_values.of_greeting(self.driver) | {"pid": os.getpid()}
        except Exception as error:
            return {"error": plain_values.of_error(error, "the driver")}

    def to_options(self, values: Any) -> PrepareOptions:
        """Return the options of a preparation; ResourceExhaustedPersistentError for more threads than are allowed."""
        options = plain_values.to_options(values)
        self._allowance.need_fewer((options.threads or 1) - 1, "threads")
        return options

    def hold(self, held: Held) -> int:
        """Keep a prepared model, and return its number."""
        number = next(self._numbers)
        self.prepared[number] = held
        return number

    def keep(self, model: Model) -> int:
        """Keep a model, and return its number."""
        number = next(self._numbers)
        self.models[number] = model
        return number

    def need_place(self, kept: dict[int, Any]) -> None:
        """Raise ResourceExhaustedPersistentError where the application has as many models as it may."""
        self._allowance.need_fewer(len(kept), "models")

    def release(self, number: int) -> None:
        held = self.prepared.pop(number, None)
        if held is not None:
            for channel in list(self._channels.values()):
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
