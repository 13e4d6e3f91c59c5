"""A connection to nnapi-agent (native/agent/), which calls another NNAPI library."""

import os
import struct
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from nnapi.codes import ResultCode
from nnapi.contract.driver import DriverDiedError
from nnapi.drivers.foreign.constants import Constants
from nnapi.drivers.foreign.transports import Stream, connect
from nnapi.drivers.foreign.wire import (
    MAGIC,
    VERSION,
    Answer,
    Answers,
    Ask,
    Garbage,
    Told,
    lay_out,
    pack_text,
    send,
)
from nnapi.drivers.isolated.process import connections, describe_end
from nnapi.errors import (
    DeadObjectError,
    MissedDeadlinePersistentError,
    NnapiError,
    OpFailedError,
    UnavailableDeviceError,
    error_for,
    need,
)
from nnapi.locks import make_lock
from nnapi.model.operand import Array

PREFIX = "ANeuralNetworks"
TOKEN = "NNAPI_AGENT_TOKEN"

GRACE = 5.0
"""Seconds that an answer may take longer than the time limit."""


class DeviceFacts(NamedTuple):
    """A device as its library reports it, unchecked; ``type`` is a DeviceTypeCode, ``level`` a FeatureLevelCode."""

    name: str
    version: str
    type: int
    level: int


class Agent:
    """A connection to an agent; one request at a time."""

    def __init__(self, address: str, patience: float | None = None) -> None:
        """Connect to ``adb:SERIAL``, ``ssh:HOST``, ``tcp:HOST:PORT`` or ``unix:PATH``, or start an agent for a local
        library. Raise UnavailableDeviceError with the reason if that fails. If the agent does not answer a request for
        ``patience`` seconds, the connection is lost."""
        self.path, self._address = address, address
        self._lock, self._lost, self._patience = make_lock(), "", patience
        self._by_itself = False
        self._stream: Stream = connect(address)
        self._finalizer = weakref.finalize(self, self._stream.close)
        self._finalizer.atexit = False
        self._answers = Answers(self._stream.socket)
        self.constants = Constants()
        self._released: deque[int] = deque()
        connections.add(self)
        token = os.environ.get(TOKEN, "").encode()
        try:
            head = self.ask(Ask.HELLO, struct.pack("<II", MAGIC, VERSION) + pack_text(token)).head
            version, self.pid, self.level, has_bursts = head.read("4I")
            library = head.read_text()
            need(version == VERSION, f"the agent speaks version {version}, not {VERSION}", UnavailableDeviceError)
        except NnapiError as error:
            self.close()
            raise UnavailableDeviceError(str(error)) from None
        self.has_bursts = bool(has_bursts)
        self.path = library if library == address else f"{library} at {address}"

    @property
    def is_alive(self) -> bool:
        return not self._lost

    def ask(
        self,
        kind: Ask,
        head: bytes | Callable[[], bytes],
        data: Sequence[Any] = (),
        size: int = 0,
        deadline: int | None = None,
    ) -> Answer:
        """Send a request and return the answer; raise the error that the answer contains.

        With a ``deadline``, wait until GRACE after it. DriverDiedError if the connection is lost or no answer comes. A
        head with the remaining time is given as a function, which is called when no other request is in progress.
        """
        with self._lock:
            content = head() if callable(head) else head
            if self._released:
                with suppress(NnapiError):
                    self._send_released()
            return self._exchange(kind, content, data, size, deadline)

    def _send_released(self) -> None:
        with suppress(DeadObjectError):
            while self._released:
                self._exchange(Ask.RELEASE, struct.pack("<I", self._released.popleft()))

    def _exchange(
        self, kind: Ask, head: bytes, data: Sequence[Any] = (), size: int = 0, deadline: int | None = None
    ) -> Answer:
        if self._lost:
            raise self._make_error(was_alone=False)
        patience = self._patience if deadline is None else (deadline - time.monotonic_ns()) / 1e9 + GRACE
        try:
            with suppress(BrokenPipeError):  # the agent has sent the reason
                send(self._stream.socket, kind, head, data, size)
            answer = self._answers.receive(patience)
        except TimeoutError:
            raise self._lose(f"{self.path} did not answer for {patience:.3g} s") from None
        except OSError as error:
            raise self._lose_connection(error.strerror or str(error)) from None
        except Garbage as error:
            raise self._lose(f"{self._address} sent garbage: {error}") from None
        except BaseException:
            self._lose("a call was interrupted")
            raise
        if answer is None:
            raise self._lose_connection("")
        if answer.kind is Told.ANSWER:
            return answer
        (code,), text = answer.head.read("i"), answer.head.rest()
        if answer.kind is Told.ENDED:
            reason, by_itself = describe_end(code)
            raise self._lose(f"{self.path}: {reason}", by_itself)
        known = code in ResultCode.__members__.values()
        if text.startswith(PREFIX):
            said = ResultCode(code).name if known else f"result code {code}, which NNAPI does not have"
            text = f"{text} of {self.path} gives {said}"
        raise (error_for(code) if known else OpFailedError)(text)

    def list_devices(self) -> list[DeviceFacts]:
        head = self.ask(Ask.DEVICES, b"").head
        found = []
        for _ in range(head.read_word()):
            type, level = head.read("iq")
            found.append(DeviceFacts(head.read_text(), head.read_text(), type, level))
        return found

    def release(self, *numbers: int) -> None:
        """Release objects, after the request in progress, if any. A lost connection has released them already."""
        self._released.extend(numbers)
        if self._lock.acquire(blocking=False):
            try:
                self._send_released()
            finally:
                self._lock.release()

    def close(self) -> None:
        self._lost = self._lost or f"the connection to {self._address} was closed"
        self._finalizer()

    def forget(self) -> None:
        """Leave the connection to the parent of this fork; close this process's descriptor only."""
        self._lost, self._lock = "the connection belongs to the process that this one was forked from", make_lock()
        self.leave()
        self._stream.socket.close()  # the parent's descriptor stays open
        self.close()

    def leave(self) -> None:
        """Let the agent's process end when this process does."""
        self._stream.leave()

    def send_constants(self, arrays: Sequence[Array]) -> tuple[int, Sequence[int]]:
        offsets, parts, size = lay_out(arrays)
        return self.ask(Ask.CONSTANTS, b"", parts, size).head.read_word(), offsets

    def _lose_connection(self, error: str) -> DriverDiedError:
        said = self._stream.read_last_words() or error
        return self._lose(f"the connection to {self._address} was lost{said and f': {said}'}")

    def _lose(self, reason: str, by_itself: bool = False) -> DriverDiedError:
        self._lost, self._by_itself = reason, by_itself
        self.close()
        return self._make_error(was_alone=True)

    def _make_error(self, was_alone: bool) -> DriverDiedError:
        error = DriverDiedError(self._lost)
        error.by_itself, error.was_alone = self._by_itself, was_alone
        return error


def find_rest(deadline: int) -> int:
    """Return the nanoseconds until a deadline; raise MissedDeadlinePersistentError if it has passed."""
    rest = deadline - time.monotonic_ns()
    need(rest > 0, "the time limit has passed", MissedDeadlinePersistentError)
    return rest
