"""Messages between this package and an agent (native/agent/agent.h): header, head (32-bit words), and data."""

import select
import socket
import struct
from collections import deque
from collections.abc import Iterable, Sequence
from enum import IntEnum
from itertools import islice
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
LONGEST_PAUSE = 15
"""Seconds that a pause within a message may take."""


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
        return str(self.read(f"{length}s{-length % 4}x")[0], "utf-8", "replace")

    def rest(self) -> str:
        return self.content[self._at :].decode("utf-8", "replace")


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


def send(connection: socket.socket, kind: Ask, head: bytes, data: Sequence[Any] = (), size: int = 0) -> None:
    """Send a message; raises OSError."""
    parts = [HEADER.pack(kind, len(head), size), head, *data]
    sent = connection.sendmsg(parts[:MOST_PARTS])
    if sent == HEADER.size + len(head) + size:
        return
    waiting = deque(view for part in parts if (view := memoryview(part).cast("B")))
    while True:
        while sent:
            first = waiting.popleft()
            if sent < len(first):
                waiting.appendleft(first[sent:])
            sent -= min(sent, len(first))
        if not waiting:
            return
        sent = connection.sendmsg([*islice(waiting, MOST_PARTS)])


class Answer(NamedTuple):
    kind: Told
    head: Reader
    data: Array


class Answers:
    """Receives the messages of an agent."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", LONGEST_PAUSE, 0))
        self._poll = select.poll()
        self._poll.register(connection, select.POLLIN)
        self._buffer = memoryview(bytearray(AT_ONCE))
        self._held = 0

    def receive(self, patience: float | None = None) -> Answer | None:
        """Return the next message; None at the end of the stream. Raises OSError, Garbage, or TimeoutError if no
        message begins within ``patience`` seconds."""
        if patience is not None and not self._held and not self._poll.poll(max(0, patience) * 1000):
            raise TimeoutError
        while self._held < HEADER.size:
            try:
                count = self._connection.recv_into(self._buffer[self._held :])
            except BlockingIOError:
                if self._held:
                    raise
                continue  # the agent still computes
            if not count:
                return None
            self._held += count
        kind, head, size = HEADER.unpack_from(self._buffer)
        if kind not in TOLD or head > MOST_HEAD or size > MOST_DATA:
            raise Garbage(f"a message of kind {kind} has {head} and {size} bytes")
        data = HEADER.size + head
        content = self._take(data + size)
        return (
            None
            if content is None
            else Answer(TOLD[kind], Reader(content[HEADER.size : data].tobytes()), content[data:])
        )

    def _take(self, size: int) -> Array | None:
        """Return the next ``size`` bytes, beginning with buffered ones; None if the stream ends before."""
        content = np.empty(size, np.uint8)
        view, held = content.data, min(self._held, size)
        view[:held] = self._buffer[:held]
        self._held -= held
        self._buffer[: self._held] = self._buffer[held : held + self._held]
        while held < size:
            count = self._connection.recv_into(view[held:], 0, socket.MSG_WAITALL)
            if not count:
                return None
            held += count
        return content
