"""Messages between an application and a driver's process: a header, up to 1 MiB of JSON (the body), and descriptors. A
long body is in a memory file, the first descriptor. Invalid messages raise :class:`Violation`; reading never runs
foreign code."""

import json
import os
import socket
import stat
import struct
from array import array
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from nnapi.drivers.isolated.descriptors import memory_file
from nnapi.errors import BadDataError, need

VERSION = 4
"""Version of the protocol: of everything in this package that both sides must share."""

HEADER = struct.Struct("<4sHHI")
MAGIC = b"NNIP"
IN_FILE = 1
"""Header flag: the body is in a memory file."""
PACKET = 1 << 15
"""Maximum bytes of a body inside the packet."""
MOST = 1 << 20
"""Maximum bytes of a body. Constants, inputs and outputs are sent as descriptors instead."""
MOST_DESCRIPTORS = 64
SPANS = 1000
"""Maximum number of spans in a message."""

INT = array("i")

Body: TypeAlias = dict[str, Any]


class Violation(BadDataError):
    """A message that breaks the protocol."""


class Message(NamedTuple):
    """A body and descriptors, which the receiver must close."""

    body: Body
    descriptors: list[int]

    def close(self) -> None:
        while self.descriptors:
            os.close(self.descriptors.pop())


def send(connection: socket.socket, body: Body, descriptors: Sequence[int] = ()) -> None:
    """Send a message; raise OSError without a receiver, Violation if the body is too long."""
    text = json.dumps(body, separators=(",", ":")).encode()
    _need_possible(len(text))
    if len(text) <= PACKET:
        packet = HEADER.pack(MAGIC, VERSION, 0, len(text)) + text
        socket.send_fds(connection, [packet], list(descriptors))
        return
    file = memory_file([text])
    try:
        socket.send_fds(connection, [HEADER.pack(MAGIC, VERSION, IN_FILE, len(text))], [file, *descriptors])
    finally:
        os.close(file)


def refuse(connection: socket.socket, body: Body) -> None:
    """Send a last message, drain unread packets, which would hide it, and close the connection."""
    with connection, suppress(OSError):
        connection.settimeout(0)
        send(connection, body)
        connection.shutdown(socket.SHUT_RDWR)
        while connection.recv(1):
            pass


def receive(connection: socket.socket) -> Message | None:
    """Return the next message, None if the other side has closed; raise OSError if the connection broke."""
    room = socket.CMSG_LEN((MOST_DESCRIPTORS + 1) * INT.itemsize)
    packet, came, flags, _ = connection.recvmsg(HEADER.size + PACKET, room, socket.MSG_CMSG_CLOEXEC)
    descriptors: list[int] = []
    for level, type, data in came:
        if (level, type) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors += array("i", data[: len(data) - len(data) % INT.itemsize])
    try:
        if not packet and not descriptors:
            return None
        is_whole = not flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC)
        need(is_whole, "a packet is too long, or brings more descriptors than may be open", Violation)
        return Message(_body(packet, descriptors), descriptors)
    except Violation:
        Message({}, descriptors).close()
        raise


def _need_possible(length: int) -> None:
    need(length <= MOST, f"a message has {length} bytes, at most {MOST} are possible", Violation)


def _body(packet: bytes, descriptors: list[int]) -> Body:
    need(len(packet) >= HEADER.size, f"a packet of {len(packet)} bytes is not a message", Violation)
    magic, version, flags, length = HEADER.unpack_from(packet)
    need(magic == MAGIC, "a packet does not begin as a message does", Violation)
    need(version == VERSION, f"a message has version {version}, ours is {VERSION}", Violation)
    text = packet[HEADER.size :]
    if flags & IN_FILE:
        _need_possible(length)
        need(descriptors, f"a message of {length} bytes came without its file", Violation)
        text = _read_file(descriptors.pop(0), length)
    need(len(text) == length, f"a message has {len(text)} bytes where it says {length}", Violation)
    try:
        body: Body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Violation(f"a message is not JSON: {error}") from None
    need(isinstance(body, dict), "a message is not an object", Violation)
    return body


def _read_file(file: int, length: int) -> bytes:
    try:
        need(stat.S_ISREG(os.fstat(file).st_mode), "a message cannot be read: its descriptor is not a file", Violation)
        return os.pread(file, length, 0)
    except OSError as error:
        raise Violation(f"a message cannot be read: {error}") from None
    finally:
        os.close(file)
