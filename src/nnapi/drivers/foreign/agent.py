"""An NNAPI library that an agent (native/agent/) calls at the other end of a connection."""

from __future__ import annotations

import os
import struct
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from nnapi.codes import ResultCode
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
from nnapi.drivers.isolated.process import describe_end
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

OnLoss = Callable[[str, bool], None]
"""Called with the reason when a connection is lost, and whether the library's process ended by itself."""


class DeviceFacts(NamedTuple):
    """The facts that a library reports of a device, unchecked: a DeviceTypeCode, a FeatureLevelCode."""

    name: str
    version: str
    type: int
    level: int


def keep(reason: str, by_itself: bool) -> None:
    """Let every later call say the reason."""


class Agent:
    """A connection to an agent. One request is under way at a time."""

    def __init__(self, address: str, on_loss: OnLoss = keep) -> None:
        """Connect to ``adb:SERIAL``, ``ssh:HOST``, ``tcp:HOST:PORT`` or ``unix:PATH``; UnavailableDeviceError, with the
        reason, if that fails or the library there is unusable."""
        self.path, self._address = address, address
        self._on_loss: OnLoss = keep
        self._lock, self._lost = make_lock(), ""
        self._stream: Stream = connect(address)
        self._answers = Answers(self._stream.socket)
        weakref.finalize(self, self._stream.close)
        self.constants = Constants()
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
        self.path, self._on_loss = library if library == address else f"{library} at {address}", on_loss

    def ask(self, kind: Ask, head: bytes, data: Sequence[Any] = (), size: int = 0) -> Answer:
        """Send a request and return the answer. Raises the error in it, and DeadObjectError once the connection is
        lost."""
        with self._lock:
            return self.ask_locked(kind, head, data, size)

    def ask_locked(self, kind: Ask, head: bytes, data: Sequence[Any] = (), size: int = 0) -> Answer:
        if self._lost:
            raise DeadObjectError(self._lost)
        try:
            with suppress(BrokenPipeError):  # the agent has said why it left
                send(self._stream.socket, kind, head, data, size)
            answer = self._answers.receive()
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

    def lock(self) -> Any:
        return self._lock

    def list_devices(self) -> list[DeviceFacts]:
        head = self.ask(Ask.DEVICES, b"").head
        found = []
        for _ in range(head.read_word()):
            type, level = head.read("iq")
            found.append(DeviceFacts(head.read_text(), head.read_text(), type, level))
        return found

    def release(self, *numbers: int) -> None:
        """Release objects; without a connection they are gone already."""
        for number in numbers:
            with suppress(DeadObjectError):
                self.ask(Ask.RELEASE, struct.pack("<I", number))

    def close(self) -> None:
        self._lost = self._lost or f"the connection to {self._address} was closed"
        self._stream.close()

    def send_constants(self, arrays: Sequence[Array]) -> tuple[int, Sequence[int]]:
        offsets, parts, size = lay_out(arrays)
        return self.ask(Ask.CONSTANTS, b"", parts, size).head.read_word(), offsets

    def _lose_connection(self, error: str) -> DeadObjectError:
        said = self._stream.read_last_words() or error
        return self._lose(f"the connection to {self._address} was lost{said and f': {said}'}")

    def _lose(self, reason: str, by_itself: bool = False) -> DeadObjectError:
        self._lost = reason
        self._stream.close()
        self._on_loss(reason, by_itself)
        return DeadObjectError(reason)


def find_rest(deadline: int) -> int:
    """Return the nanoseconds until a deadline; MissedDeadlinePersistentError if it has passed."""
    rest = deadline - time.monotonic_ns()
    need(rest > 0, "the time limit has passed", MissedDeadlinePersistentError)
    return rest
