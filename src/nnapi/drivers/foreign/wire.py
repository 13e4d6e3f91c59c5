"""Messages between this package and an agent (native/agent/agent.h): header, head (32-bit words), and data."""

import select
import socket
import struct
import time
from collections import deque
from collections.abc import Iterable, Sequence
from enum import IntEnum
from itertools import islice
from math import inf
from typing import Any, NamedTuple

import numpy as np

from nnapi.errors import OpFailedError
from nnapi.model.operand import Array, OperandType

VERSION = 1
MAGIC = 0x41414E4E
HEADER = struct.Struct("<IIQ")
MOST_HEAD = 64 << 20
MOST_DATA = 1 << 30
ALIGNMENT = 64
MOST_PARTS = 512
"""Maximum buffers per call of sendmsg."""
AT_ONCE = 4096
"""Bytes of the first receive of a message; most answers fit."""
MOST_TEXT = 1024
"""Maximum bytes of a name or of an error's text."""
TICK = 1
"""Maximum seconds of one call of the system, after which the time is checked."""
LONGEST, SLOWEST = 15.0, 64 << 10
"""A message may take ``LONGEST`` seconds, and another second for each ``SLOWEST`` bytes."""


class Ask(IntEnum):
    HELLO = 1
    DEVICES = 2
    CONSTANTS = 3
    MODEL = 4
    SUPPORTED = 5
    COMPILE = 6
    BURST = 7
    RUN = 8
    RELEASE = 9


class Told(IntEnum):
    ANSWER = 0
    ERROR = 1
    ENDED = 2


TOLD = dict(enumerate(Told))


class Garbage(OpFailedError):
    """A message that breaks the protocol."""


class Stall(OpFailedError):
    """A message that was not sent or received in time."""


class Reader:
    """Reads the words of a head in order; raises Garbage if it is too short."""

    def __init__(self, content: bytes) -> None:
        self.content, self._at = content, 0

    def read(self, format: str) -> tuple[Any, ...]:
        """Return the values of a :mod:`struct` format."""
        size = struct.calcsize("<" + format)
        if size > len(self.content) - self._at:
            raise Garbage("a message is too short")
        found = struct.unpack_from("<" + format, self.content, self._at)
        self._at += size
        return found

    def read_word(self) -> int:
        return int(self.read("I")[0])

    def read_text(self) -> str:
        length = self.read_word()
        if length > MOST_TEXT:
            raise Garbage(f"a text has {length} bytes, at most {MOST_TEXT} are possible")
        return str(self.read(f"{length}s{-length % 4}x")[0], "utf-8", "replace")

    def rest(self) -> str:
        """Return the text at the end of the message, up to MOST_TEXT bytes."""
        return self.content[self._at : self._at + MOST_TEXT].decode("utf-8", "replace")


def pack_list(numbers: Sequence[int]) -> bytes:
    """Return the count and the numbers, as words."""
    return struct.pack(f"<{1 + len(numbers)}I", len(numbers), *numbers)


def pack_text(text: bytes) -> bytes:
    return struct.pack(f"<I{len(text)}s{-len(text) % 4}x", len(text), text)


def pack_type(type: OperandType) -> bytes:
    """Return an operand type as words: code, scale, zero point, dimensions."""
    return struct.pack("<ifi", type.code, type.scale, type.zero_point) + pack_list(type.dimensions)


def align(size: int) -> int:
    return size + -size % ALIGNMENT


def lay_out(arrays: Iterable[Array]) -> tuple[list[int], list[Any], int]:
    """Return the aligned offset of each array in a message's data, the data's buffers, and the total size."""
    offsets: list[int] = []
    parts: list[Any] = []
    size = 0
    for array in arrays:
        gap = -size % ALIGNMENT
        parts += [bytes(gap), array] if gap else [array]
        offsets.append(size + gap)
        size += gap + array.nbytes
    return offsets, parts, size


class Clock:
    """The time that a message has, from its first byte on: at most until ``end`` (seconds of the monotonic clock)."""

    def __init__(self, what: str, size: int, end: float) -> None:
        self._what, self._seconds = f"{what} of {size} bytes", LONGEST + size / SLOWEST
        self._own, self._end = time.monotonic() + self._seconds, end

    def check(self) -> None:
        """Raise TimeoutError after ``end``, Stall if the message takes too long for its size."""
        now = time.monotonic()
        if now > self._end:
            raise TimeoutError
        if now > self._own:
            raise Stall(f"{self._what} was not complete after {self._seconds:.3g} s")


def send(
    connection: socket.socket, kind: Ask, head: bytes, data: Sequence[Any] = (), size: int = 0, end: float = inf
) -> None:
    """Send a message until ``end`` (seconds of the monotonic clock); raises OSError, Stall, or TimeoutError."""
    parts = [HEADER.pack(kind, len(head), size), head, *data]
    sent = _send_some(connection, parts[:MOST_PARTS])
    if sent == HEADER.size + len(head) + size:
        return
    clock = Clock("a request", HEADER.size + len(head) + size, end)
    waiting = deque(view for part in parts if (view := memoryview(part).cast("B")))
    while True:
        while sent:
            first = waiting.popleft()
            if sent < len(first):
                waiting.appendleft(first[sent:])
            sent -= min(sent, len(first))
        if not waiting:
            return
        clock.check()
        sent = _send_some(connection, [*islice(waiting, MOST_PARTS)])


def _send_some(connection: socket.socket, parts: list[Any]) -> int:
    try:
        return connection.sendmsg(parts)
    except BlockingIOError:  # after TICK
        return 0


class Answer(NamedTuple):
    kind: Told
    head: Reader
    data: Array


class Answers:
    """Receives the messages of an agent."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            connection.setsockopt(socket.SOL_SOCKET, option, struct.pack("@ll", TICK, 0))
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        self._buffer = memoryview(bytearray(AT_ONCE))
        self._held = 0

    def receive(self, end: float = inf, most: int = 0) -> Answer | None:
        """Return the next message, with at most ``most`` bytes of data; None at the end of the stream. Raises OSError,
        Garbage, Stall, or TimeoutError if the message is not complete at ``end`` (seconds of the monotonic clock)."""
        if not self._held and not self._await_first(end):
            return None
        clock = None
        while self._held < HEADER.size:
            clock = clock or Clock("an answer", HEADER.size, end)
            count = self._read(self._buffer[self._held :], clock)
            if not count:
                return None
            self._held += count
        kind, head, size = HEADER.unpack_from(self._buffer)
        if kind not in TOLD or head > MOST_HEAD or size > most:
            raise Garbage(f"a message of kind {kind} has {head} and {size} bytes")
        data = HEADER.size + head
        content = self._take(data + size, end)
        return (
            None
            if content is None
            else Answer(TOLD[kind], Reader(content[HEADER.size : data].tobytes()), content[data:])
        )

    def _await_first(self, end: float) -> bool:
        """Wait for the first bytes of a message; return False at the end of the stream."""
        if end < inf and not self._poll.poll(max(0.0, end - time.monotonic()) * 1000):
            raise TimeoutError
        while True:
            try:
                self._held = self._connection.recv_into(self._buffer)
                return self._held > 0
            except BlockingIOError:  # the agent still computes
                if time.monotonic() > end:
                    raise TimeoutError from None

    def _read(self, view: Any, clock: Clock, flags: int = 0) -> int:
        """Return how many bytes were read, 0 at the end of the stream."""
        while True:
            clock.check()
            try:
                return self._connection.recv_into(view, 0, flags)
            except BlockingIOError:  # after TICK
                pass

    def _take(self, size: int, end: float) -> Array | None:
        """Return the next ``size`` bytes, beginning with buffered ones; None if the stream ends before."""
        content = np.empty(size, np.uint8)
        view, held = content.data, min(self._held, size)
        view[:held] = self._buffer[:held]
        self._held -= held
        self._buffer[: self._held] = self._buffer[held : held + self._held]
        clock = Clock("an answer", size, end) if held < size else None
        while clock and held < size:
            count = self._read(view[held:], clock, socket.MSG_WAITALL)
            if not count:
                return None
            held += count
        return content
