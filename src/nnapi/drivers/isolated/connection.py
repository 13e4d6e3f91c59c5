"""The application's side of one process of a driver, from its start to its end: lanes, calls, models."""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from nnapi.drivers.base import Capabilities, DeviceInfo, DriverDiedError
from nnapi.drivers.isolated import values
from nnapi.drivers.isolated.arena import Arena
from nnapi.drivers.isolated.constants import lay_out
from nnapi.drivers.isolated.lane import ANSWER, BINDING, DONE, LONG_SPIN, REQUEST, SIZE, SPIN, STATUS, Lane, bell
from nnapi.drivers.isolated.process import PATIENCE, Process, background, told
from nnapi.drivers.isolated.protocol import Body, Message, Violation, receive, send, shared_file
from nnapi.errors import MissedDeadlineTransientError
from nnapi.model.model import Model
from nnapi.model.operand import Array

LATE = 0.05
"""Seconds beyond a time limit in which the driver may still say by itself that it passed."""


class Binding(NamedTuple):
    """A run that needs no message: its number, and views of an arena."""

    number: int
    inputs: list[Array]
    outputs: list[Array]


class ClientLane(Lane):
    """A lane with what its runs have prepared."""

    def __init__(self, connection: socket.socket, page: int, bell: int, other_bell: int) -> None:
        super().__init__("application", connection, page, bell, other_bell)
        self.bindings: dict[Any, Binding | None] = {}
        """By the number of the prepared model and the shapes; None where there is no such way."""
        self.arena: Arena | None = None
        self.runs = 0
        self.is_lost = False
        """Whether it is of no use, or not before somebody has heard what it still has to say."""


class Greeting(NamedTuple):
    """What a driver says of itself first."""

    info: DeviceInfo
    capabilities: Capabilities
    allocates: bool
    caches: bool


class Connection:
    """A process of a driver. Once it has ended everything raises DriverDiedError."""

    def __init__(self, name: str, hello: Body, patience: float | None, grace: float) -> None:
        """Start the process. ``patience`` is for calls without a time limit, ``grace`` for what goes on beyond its own:
        who does not answer within these seconds is ended."""
        self.name, self._patience, self._grace = name, patience, grace
        self._lock = threading.Lock()
        self._lanes: list[ClientLane] = []
        self._idle: list[ClientLane] = []
        self._models: weakref.WeakKeyDictionary[Model, int] = weakref.WeakKeyDictionary()
        self._released: deque[tuple[str, int]] = deque()
        self._active: list[None] = []
        self._end: tuple[str, bool] | None = None
        self._process = Process()
        self.pid = self._process.pid
        self._finalizer = weakref.finalize(self, _abandon, self._process, self._lanes)
        _connections.add(self)
        try:
            self.greeting = self._greet(hello)
        except BaseException:
            self.close()
            raise

    @property
    def is_alive(self) -> bool:
        return self._end is None

    def _greet(self, hello: Body) -> Greeting:
        main = self._process.connection
        try:
            send(main, {"kind": "hello", **hello})
            main.settimeout(self._patience)
            message = receive(main)
        except TimeoutError:
            raise self.end(f"it said nothing for {self._patience:g} s") from None
        except (Violation, OSError) as error:
            raise self.end(str(error)) from None
        if message is None:
            raise self.died()
        main.setblocking(False)
        message.close()
        with self.reading(message) as body:
            return Greeting(
                values.to_info(body["info"]),
                values.to_capabilities(body["capabilities"]),
                bool(body["allocates"]),
                bool(body["caches"]),
            )

    # Lanes

    def take(self) -> ClientLane:
        """A lane that is nobody else's until it is put back."""
        if self._end is not None:
            raise self.died()
        try:
            return self._idle.pop()  # atomic
        except IndexError:
            return self._new_lane()

    def put(self, lane: ClientLane) -> None:
        """Give a lane back, unless a call has lost it."""
        if not lane.is_lost:
            self._idle.append(lane)
            if self._end is not None:
                self._close_idle()

    def drop(self, lane: ClientLane) -> None:
        """Give up a lane on which an answer may still come."""
        with self._lock:
            if lane in self._lanes:
                self._lanes.remove(lane)
        lane.is_lost = True
        lane.close()

    @property
    def is_busy(self) -> bool:
        """Whether more than one call is under way, so that looking at the page would keep others from computing."""
        return len(self._active) > 1

    def _new_lane(self) -> ClientLane:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        page = shared_file(SIZE, "nnapi-lane")
        bells = bell(), bell()
        try:
            send(self._process.connection, {"kind": "lane"}, [theirs.fileno(), page, *bells])
        except OSError:
            ours.close()
            for descriptor in (page, *bells):
                os.close(descriptor)
            raise self.died() from None
        finally:
            theirs.close()
        lane = ClientLane(ours, page, bells[1], bells[0])
        process = self._process.descriptor
        if process is not None:
            lane.watch(process)
        with self._lock:
            self._lanes.append(lane)
        return lane

    # Calls

    def call(self, body: Body, descriptors: Sequence[int] = (), deadline: int | None = None) -> Message:
        """What the driver answers; what it raised is raised. The message is the caller's to close."""
        lane = self.take()
        try:
            message = self.exchange(lane, body, descriptors, deadline)
        finally:
            self.put(lane)
        with self.reading(message):
            return message

    def exchange(self, lane: ClientLane, body: Body, descriptors: Sequence[int], deadline: int | None) -> Message:
        """What the driver answers on a lane, errors too. Where this raises, the lane is lost."""
        self._tell_released()
        self._active.append(None)
        try:
            message = self._exchange(lane, body, descriptors, deadline)
        except BaseException:
            self.drop(lane)
            raise
        finally:
            self._active.pop()
        if message is None:
            lane.is_lost = True
            threading.Thread(target=self._await_late, args=(lane,), name="nnapi-late", daemon=True).start()
            raise MissedDeadlineTransientError(f"{self.name} did not answer within the time limit")
        return message

    def _exchange(
        self, lane: ClientLane, body: Body, descriptors: Sequence[int], deadline: int | None
    ) -> Message | None:
        """What the driver answers; None where it did not answer in time."""
        message = None
        try:
            send(lane.socket, body, descriptors)
            ready = lane.wait_for_message(deadline / 1e9 + LATE if deadline is not None else self._patience_ends())
            if ready is None and deadline is not None:
                return None
            if ready is None:
                raise self.end(f"it did not answer for {self._patience:g} s")
            if lane.socket.fileno() in ready:
                message = receive(lane.socket)
        except Violation as violation:
            raise self.end(f"it sent garbage: {violation}") from None
        except OSError:
            pass
        if message is None:
            raise self.died()
        return message

    @contextmanager
    def reading(self, message: Message) -> Iterator[Body]:
        """For a block that reads an answer: an error in it is raised, and a mistake in it is the end of the process."""
        try:
            if "error" in message.body:
                raise values.to_error(message.body["error"])
            yield message.body
        except values.WRONG as error:
            message.close()
            raise self.end(f"it sent garbage: {type(error).__name__}: {error}") from None
        except BaseException:
            message.close()
            raise

    def run(self, lane: ClientLane, binding: Binding, is_burst: bool) -> bool:
        """Run what is bound; whether it went well."""
        words = lane.words
        lane.runs = number = lane.runs + 1
        words[BINDING] = binding.number
        self._active.append(None)
        try:
            lane.tell(REQUEST, number)
            spin = LONG_SPIN if is_burst else 0 if self.is_busy else SPIN
            others = lane.wait(ANSWER, number - 1, spin, self._patience_ends())
            if others is None:
                raise self.end(f"it did not answer for {self._patience:g} s")
            if others:
                raise self.died()
            return words[STATUS] == DONE
        except BaseException:
            self.drop(lane)
            raise
        finally:
            self._active.pop()

    def _patience_ends(self) -> float | None:
        return None if self._patience is None else time.monotonic() + self._patience

    def _await_late(self, lane: ClientLane) -> None:
        ready = lane.wait_for_message(time.monotonic() + self._grace)
        if ready is None:
            self.end(f"it did not answer for {self._grace:g} s after the time limit")
            self.drop(lane)
            return
        with suppress(Violation, OSError):
            message = receive(lane.socket) if lane.socket.fileno() in ready else None
            if message is not None:
                message.close()
                if isinstance(number := message.body.get("prepared"), int):
                    self.release("prepared", number)
                lane.is_lost = False
                self.put(lane)
                return
        self.drop(lane)
        self.died()

    # Models and what they become

    def model(self, model: Model) -> int:
        """The number under which the process knows a model, which it is sent the first time."""
        with self._lock:
            number = self._models.get(model, 0)
        if not number:
            described, arrays = values.of_model(model)
            layout, descriptors = lay_out(arrays)
            try:
                message = self.call({"kind": "model", "model": described, "layout": layout}, descriptors)
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
            message.close()
            with self.reading(message) as body:
                number = int(body["model"])
            with self._lock:
                self._models[model] = number
            finalizer = weakref.finalize(model, self.release, "models", number)
            finalizer.atexit = False
        return number

    def release(self, kind: str, number: int) -> None:
        """Let the process forget a model or a prepared one, soon. May be called while memory is given back."""
        if self._end is not None:
            return
        self._released.append((kind, number))
        if kind == "prepared":
            for lane in list(self._lanes):
                for key in [key for key in list(lane.bindings) if key[0] == number]:
                    lane.bindings.pop(key, None)
        background.do(self._tell_released)

    def _tell_released(self) -> None:
        if not self._released or self._end is not None:
            return
        with self._lock:
            given: dict[str, list[int]] = {"models": [], "prepared": []}
            while self._released:
                kind, number = self._released.popleft()
                given[kind].append(number)
            try:
                send(self._process.connection, {"kind": "release", **given})
            except BlockingIOError:  # the next call says it
                self._released.extend((kind, number) for kind in given for number in given[kind])
            except OSError:
                pass  # with the process everything is released

    # The end

    def died(self) -> DriverDiedError:
        """What to raise when the process has gone."""
        if self._end is None:
            self._process.has_ended(PATIENCE / 10)  # it may still be on its way
            return self.end("")
        return self._error(*self._end, was_alone=False)

    def end(self, reason: str) -> DriverDiedError:
        """End the process for that reason; what to raise then. Without a reason it says itself why."""
        was_alone = len(self._active) <= 1
        status, by_itself = told(self._process.end())
        with self._lock:
            is_first = self._end is None
            if is_first:
                self._end = (reason, False) if reason else (f"its process was {status}", by_itself)
            what, by_itself = self._end or ("", False)
        if is_first:
            self._close_idle()
            self._process.close()
        return self._error(what, by_itself, was_alone)

    def _error(self, reason: str, by_itself: bool, was_alone: bool) -> DriverDiedError:
        error = DriverDiedError(f"{self.name} has died: {reason}")
        error.by_itself, error.was_alone = by_itself, was_alone
        return error

    def _close_idle(self) -> None:
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()

    def close(self) -> None:
        """End the process, which is asked nothing any more."""
        if self._end is None:
            self.end("it was closed")

    def forget(self) -> None:
        """Leave the process to the one that this was forked from."""
        self._end = ("it belongs to the process that this one was forked from", False)
        self._lock = threading.Lock()
        self._finalizer.detach()
        for lane in self._lanes:
            lane.close()
        self._idle.clear()
        self._process.forget()


def _abandon(process: Process, lanes: list[ClientLane]) -> None:
    """End a process that nobody refers to any more, or that this one's end leaves alone."""
    process.end()
    process.close()
    for lane in lanes:
        lane.close()


_connections: weakref.WeakSet[Connection] = weakref.WeakSet()


def _forget_all() -> None:
    for connection in list(_connections):
        if connection.is_alive:
            connection.forget()


os.register_at_fork(after_in_child=_forget_all)
