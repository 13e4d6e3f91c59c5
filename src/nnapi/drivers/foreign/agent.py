"""A connection to nnapi-agent (native/agent/), which calls another NNAPI library."""

import os
import struct
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import inf
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
    Stall,
    Told,
    lay_out,
    pack_text,
    send,
)
from nnapi.drivers.isolated.probing import PATIENCE
from nnapi.drivers.isolated.process import describe_end, note_connection
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

MOST_TOKEN, MOST_DEVICES = 1024, 256
"""As in native/agent/agent.h."""
GRACE = 5.0
"""Seconds that an answer may take longer than the time limit."""
QUICK = Ask.HELLO, Ask.DEVICES, Ask.RELEASE
"""Requests that have an answer within PATIENCE, even if other requests have no limit."""


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
        library. Raise UnavailableDeviceError with the reason if that fails. If the agent has not answered a request
        after ``patience`` seconds, the connection is lost."""
        self.path, self._address = address, address
        self._lock, self._lost, self._patience = make_lock(), "", patience
        self._by_itself, self._losing = False, make_lock()
        token = os.environ.get(TOKEN, "").encode()
        need(len(token) <= MOST_TOKEN, f"{TOKEN} may have at most {MOST_TOKEN} characters", UnavailableDeviceError)
        self._stream: Stream = connect(address)
        self._finalizer = weakref.finalize(self, self._stream.close)
        self._finalizer.atexit = False
        self._answers = Answers(self._stream.socket)
        self.constants = Constants()
        self._released: deque[int] = deque()
        note_connection(self)
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
        most: int = 0,
    ) -> Answer:
        """Send a request and return the answer, with at most ``most`` bytes of data; raise the error that the answer
        contains.

        With a ``deadline``, wait until GRACE after it. DriverDiedError if the connection is lost or no answer comes. A
        head with the remaining time is given as a function, which is called when no other request is in progress.
        """
        with self._lock:
            content = head() if callable(head) else head
            if self._released:
                with suppress(NnapiError):
                    self._send_released(deadline)
            return self._exchange(kind, content, data, size, deadline, most)

    def _send_released(self, deadline: int | None = None) -> None:
        with suppress(DeadObjectError):
            while self._released:
                self._exchange(Ask.RELEASE, struct.pack("<I", self._released.popleft()), deadline=deadline)

    def _find_patience(self, kind: Ask, deadline: int | None) -> float:
        """Return the maximum seconds until the answer is complete."""
        if deadline is not None:
            return (deadline - time.monotonic_ns()) / 1e9 + GRACE
        if self._patience is None:
            return PATIENCE if kind in QUICK else inf
        return self._patience

    def _exchange(
        self,
        kind: Ask,
        head: bytes,
        data: Sequence[Any] = (),
        size: int = 0,
        deadline: int | None = None,
        most: int = 0,
    ) -> Answer:
        if self._lost:
            raise self._make_error(was_alone=False)
        patience = self._find_patience(kind, deadline)
        end = patience if patience == inf else time.monotonic() + patience
        try:
            with suppress(BrokenPipeError):  # the agent has sent the reason
                send(self._stream.socket, kind, head, data, size, end)
            answer = self._answers.receive(end, most)
        except TimeoutError:
            raise self._lose(f"{self.path} did not answer for {patience:.3g} s") from None
        except Stall as error:
            raise self._lose_connection(str(error)) from None
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
        count, found = head.read_word(), []
        need(count <= MOST_DEVICES, f"{self.path} lists {count} devices, at most {MOST_DEVICES} are possible", Garbage)
        for _ in range(count):
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
        self._note_loss(f"the connection to {self._address} was closed")
        self._finalizer()

    def _note_loss(self, reason: str, by_itself: bool = False) -> None:
        """Note why the connection is lost; the first reason counts."""
        with self._losing:
            if not self._lost:
                self._lost, self._by_itself = reason, by_itself

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
        self._note_loss(reason, by_itself)
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
