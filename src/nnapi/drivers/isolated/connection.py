"""The application's side of a driver's process: channels, calls, models."""

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from nnapi.contract.driver import DriverDiedError
from nnapi.contract.futures import late_error
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.channel import (
    ANSWER,
    BINDING,
    BURST_SPIN,
    DONE,
    REQUEST,
    SPIN,
    STATUS,
    Binding,
    ClientChannel,
    open_channel,
)
from nnapi.drivers.isolated.constants import lay_out
from nnapi.drivers.isolated.process import PATIENCE, Peer, Process, background, note_connection
from nnapi.drivers.isolated.protocol import SPANS, Body, Message, Violation, receive, send
from nnapi.errors import BadDataError, NnapiError, OutOfMemoryError, UnavailableDeviceError
from nnapi.model.model import Model
from nnapi.trace import spans
from nnapi.trace.recorder import Recorder, Span

T = TypeVar("T")
Read = Callable[[Message], T]
"""Reads an answer; raises one of WRONG if it is malformed."""

LATE = 0.05
"""Seconds after a time limit in which the driver may still report the timeout."""


class Connection:
    """A connection to a driver's process. Once the process has ended, every method raises DriverDiedError."""

    def __init__(
        self,
        name: str,
        hello: Body,
        patience: float | None,
        grace: float,
        start: Callable[[], Process | Peer],
        limited: str = "",
    ) -> None:
        """``start`` starts the process. It is ended if it does not answer for ``patience`` seconds without a time
        limit, or ``grace`` seconds after one. ``limited`` describes the memory limit in error messages."""
        self.name, self._patience, self._grace, self._limited = name, patience, grace, limited
        self._lock = threading.Lock()
        self._channels: list[ClientChannel] = []
        self._idle: list[ClientChannel] = []
        self._models: weakref.WeakKeyDictionary[Model, int] = weakref.WeakKeyDictionary()
        self._released: deque[int] = deque()
        self._active: list[None] = []
        self._end: tuple[str, bool] | None = None
        background.start()
        self._process = start()
        self.pid = self._process.pid
        self._finalizer = weakref.finalize(self, _abandon, self._process, self._channels)
        self._finalizer.atexit = False  # at exit, a trace may still be read
        self._recorder: weakref.ref[Recorder] | None = None
        self._recordings = 0
        note_connection(self)
        try:
            self.greeting = self._greet(hello)
        except BaseException:
            self.close()
            raise

    @property
    def is_alive(self) -> bool:
        return self._end is None

    def _greet(self, hello: Body) -> plain_values.Greeting:
        main = self._process.connection
        try:
            main.settimeout(self._patience)
            with suppress(BrokenPipeError):  # a service that refuses has sent the reason
                send(main, {"kind": "hello", **hello})
            message = receive(main)
        except TimeoutError:
            raise self.end(f"it sent nothing for {self._patience:g} s") from None
        except (Violation, OSError) as error:
            raise self.end(str(error)) from None
        if message is None:
            raise self.note_death()
        main.setblocking(False)
        return self._read(message, self._to_greeting)

    def _to_greeting(self, answer: Message) -> plain_values.Greeting:
        self.pid = self.pid or int(answer.body["pid"])
        return plain_values.to_greeting(answer.body["greeting"])

    # Channels

    def take(self) -> ClientChannel:
        """Return a channel for exclusive use, until it is given to :meth:`put`."""
        if self._end is not None:
            raise self.note_death()
        try:
            return self._idle.pop()  # atomic
        except IndexError:
            return self._new_channel()

    def put(self, channel: ClientChannel) -> None:
        """Return a channel to the idle channels, unless a call has lost it."""
        if not channel.is_lost:
            self._idle.append(channel)
            if self._end is not None:
                self._close_idle()

    def drop(self, channel: ClientChannel) -> None:
        """Close a channel on which a late answer may still come."""
        with self._lock:
            if channel in self._channels:
                self._channels.remove(channel)
        channel.is_lost = True
        channel.close()

    def _new_channel(self) -> ClientChannel:
        try:
            channel = open_channel(self._process.connection, self._patience_ends())
        except TimeoutError:
            raise self.end(f"it did not answer for {self._patience:g} s") from None
        except ConnectionError:
            raise self.note_death() from None
        process = self._process.descriptor
        if process is not None:
            channel.watch(process)
        with self._lock:
            self._channels.append(channel)
        return channel

    # Calls

    def ask(self, body: Body, read: Read[T], descriptors: Sequence[int] = (), deadline: int | None = None) -> T:
        channel = self.take()
        try:
            return self.ask_on(channel, body, read, descriptors, deadline)
        finally:
            self.put(channel)

    def ask_on(
        self, channel: ClientChannel, body: Body, read: Read[T], descriptors: Sequence[int], deadline: int | None
    ) -> T:
        """Send a message on the caller's channel, and read the answer; without one the channel is lost."""
        self._tell_released()
        self._active.append(None)
        if spans.active:
            body = self._add_trace(body)
        try:
            message = self._exchange(channel, body, descriptors, deadline)
        except BaseException:
            self.drop(channel)
            raise
        finally:
            self._active.pop()
        if message is None:
            channel.is_lost = True
            threading.Thread(target=self._await_late, args=(channel,), name="nnapi-late", daemon=True).start()
            raise late_error(self.name)
        return self._read(message, read)

    def _exchange(
        self, channel: ClientChannel, body: Body, descriptors: Sequence[int], deadline: int | None
    ) -> Message | None:
        """Return the driver's answer; None if the deadline passes first."""
        message = None
        with suppress(OSError):  # the process may have sent the reason
            send(channel.socket, body, descriptors)
        try:
            ready = channel.wait_for_message(deadline / 1e9 + LATE if deadline is not None else self._patience_ends())
            if ready is None and deadline is not None:
                return None
            if ready is None:
                raise self.end(f"it did not answer for {self._patience:g} s")
            if channel.socket.fileno() in ready:
                message = receive(channel.socket)
        except Violation as violation:
            raise self.end(f"it sent garbage: {violation}") from None
        except OSError:
            pass
        if message is None:
            raise self.note_death()
        if message.body.get("closed"):
            self.drop(channel)
        return message

    def _read(self, answer: Message, read: Read[T]) -> T:
        """Read an answer and close it. Raise the error in it, with the memory limit if that may be the cause. A
        malformed answer ends the process."""
        try:
            if "error" not in answer.body:
                return read(answer)
            error = plain_values.to_error(answer.body["error"])
        except (BadDataError, *plain_values.WRONG) as wrong:
            raise self.end(f"it sent garbage: {type(wrong).__name__}: {wrong}") from None
        finally:
            answer.close()
        lacks_memory = isinstance(error, OutOfMemoryError | UnavailableDeviceError) and self._limited
        raise type(error)(f"{error}; {self._limited}") if lacks_memory else error

    def run(self, channel: ClientChannel, binding: Binding, is_burst: bool) -> bool:
        """Run a binding, without messages; return whether it succeeded."""
        words, active = channel.words, self._active
        channel.runs = number = channel.runs + 1
        words[BINDING] = binding.number
        active.append(None)
        try:
            channel.tell(REQUEST, number)
            # While other runs compute, spinning would take their processor time.
            spin = BURST_SPIN if is_burst else 0 if len(active) > 1 else SPIN
            others = channel.wait(ANSWER, number - 1, spin, None if self._patience is None else self._patience_ends())
            if others is None:
                raise self.end(f"it did not answer for {self._patience:g} s")
            if others:
                raise self.note_death()
            return words[STATUS] == DONE
        except BaseException:
            self.drop(channel)
            raise
        finally:
            active.pop()

    def _patience_ends(self) -> float | None:
        return None if self._patience is None else time.monotonic() + self._patience

    def _await_late(self, channel: ClientChannel) -> None:
        ready = channel.wait_for_message(time.monotonic() + self._grace)
        if ready is None:
            self.end(f"it did not answer for {self._grace:g} s after the time limit")
            self.drop(channel)
            return
        with suppress(Violation, OSError):
            message = receive(channel.socket) if channel.socket.fileno() in ready else None
            if message is not None:
                message.close()
                if isinstance(number := message.body.get("prepared"), int):
                    self.release(number)
                channel.is_lost = False
                self.put(channel)
                return
        self.drop(channel)
        self.note_death()

    # Traces

    def _add_trace(self, body: Body) -> Body:
        """Add a trace request to a message if this thread is being traced."""
        found = spans.find_open_section()
        if found is None:
            return body
        recorder, section = found
        with self._lock:
            if self._recorder is None or self._recorder() is not recorder:
                self._recorder = weakref.ref(recorder)
                self._recordings += 1
                recorder.sources.append(self._spans)
        operations = section.args.get("operations") if section else None
        return {**body, "trace": [self._recordings, operations]}

    def _spans(self) -> list[Span]:
        found: list[Span] = []
        with suppress(NnapiError):
            while len(found) % SPANS == 0:
                part = self.ask({"kind": "spans", "first": len(found)}, self._to_spans)
                if not part:
                    break
                found += part
        return found

    def _to_spans(self, answer: Message) -> list[Span]:
        return [plain_values.to_span(span, self.pid) for span in answer.body["spans"]]

    # Models and prepared models

    def model(self, model: Model) -> int:
        """Return the number of a model in the process; send the model at first use."""
        with self._lock:
            number = self._models.get(model, 0)
        if not number:
            described, arrays = plain_values.of_model(model)
            layout, descriptors = lay_out(arrays)
            body = {"kind": "model", "model": described, "layout": layout}
            try:
                number = self.ask(body, lambda answer: int(answer.body["model"]), descriptors)
            finally:
                for descriptor in descriptors:
                    os.close(descriptor)
            with self._lock:
                self._models[model] = number
            self.release_with(model, number)
        return number

    def release_with(self, owner: object, number: int) -> None:
        """Release a number when ``owner`` is garbage-collected, without keeping this connection alive."""
        method = weakref.WeakMethod(self.release)

        def tell() -> None:
            if release := method():
                release(number)

        finalizer = weakref.finalize(owner, tell)
        finalizer.atexit = False

    def release(self, number: int) -> None:
        """Release a model or prepared model in the background. May be called from a finalizer."""
        if self._end is not None:
            return
        self._released.append(number)
        for channel in list(self._channels):
            for key in [key for key in list(channel.bindings) if key[0] == number]:
                channel.bindings.pop(key, None)
        background.do(self._tell_released)

    def _tell_released(self) -> None:
        if not self._released or self._end is not None:
            return
        with self._lock:
            numbers = [self._released.popleft() for _ in range(len(self._released))]
            try:
                send(self._process.connection, {"kind": "release", "numbers": numbers})
            except BlockingIOError:  # the next call tries again
                self._released.extend(numbers)
            except OSError:
                pass  # the process has ended

    # The end

    def note_death(self) -> DriverDiedError:
        """Return the error to raise after the process has ended."""
        if self._end is None:
            return self.end("", PATIENCE / 10)  # the system may report the end a moment later
        return self._error(*self._end, was_alone=False)

    def end(self, reason: str, patience: float = 0) -> DriverDiedError:
        """End the process, unless it ends by itself within ``patience`` seconds; return the error to raise. Without a
        ``reason``, its exit status is the reason."""
        was_alone = len(self._active) <= 1
        status, by_itself = self._process.end(patience)
        with self._lock:
            is_first = self._end is None
            if self._end is None:
                said, limited = self._process.read_last_words(), self._limited if by_itself else ""
                words = [reason or status, said and f"it said last: {said}", limited]
                self._end = "; ".join(filter(None, words)), by_itself and not reason and not limited
            what, by_itself = self._end
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
        if self._end is None:
            self.end("it was closed")

    def leave(self) -> None:
        """Let the process end when this process does."""
        self._process.leave()

    def forget(self) -> None:
        """Leave the process to the parent of this fork."""
        self._end = ("it belongs to the process that this one was forked from", False)
        self._lock = threading.Lock()
        self._finalizer.detach()
        for channel in self._channels:
            channel.close()
        self._idle.clear()
        self._process.leave()
        self._process.close()


def _abandon(process: Process | Peer, channels: list[ClientChannel]) -> None:
    process.end()
    process.close()
    for channel in channels:
        channel.close()
