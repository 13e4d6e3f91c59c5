"""Messages between an application and the process of a driver: JSON in packets of a Unix socket, and descriptors.

A message is an object of plain values behind a small header. One that is too long for a packet travels in a memory file
instead, whose descriptor comes first. Whatever the other side sends, reading it runs no code of its choice: what is not
as it should be is a :class:`Violation`.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

VERSION = 1
"""Of everything in this package that both sides must agree about."""

HEADER = struct.Struct("<4sHHI")
"""Magic, version, flags, and the bytes of the body."""
MAGIC = b"NNIP"
IN_FILE = 1
"""The flag of a body that lies in a memory file."""
PACKET = 1 << 15
"""Bytes of a body that still goes into a packet."""
MOST = 1 << 28
"""Bytes that a body may have."""
MOST_DESCRIPTORS = 64

INT = array("i")

Body: TypeAlias = dict[str, Any]
SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


class Violation(Exception):
    """What the other side sent breaks the protocol."""


class Message(NamedTuple):
    """A body and the descriptors that came with it, which belong to who received them."""

    body: Body
    descriptors: list[int]

    def read(self, length: int) -> bytes:
        """So many bytes of the file that came with the message; ValueError where it has not as many."""
        found = b""
        while len(found) < length:
            part = os.pread(self.descriptors[0], length - len(found), len(found))
            if not part:
                raise ValueError(f"{length - len(found)} bytes are missing")
            found += part
        return found

    def close(self) -> None:
        """Close the descriptors."""
        while self.descriptors:
            os.close(self.descriptors.pop())


def send(connection: socket.socket, body: Body, descriptors: Sequence[int] = ()) -> None:
    """Send a message; OSError where nobody is there to receive it."""
    text = json.dumps(body, separators=(",", ":")).encode()
    if len(text) <= PACKET:
        packet = HEADER.pack(MAGIC, VERSION, 0, len(text)) + text
        socket.send_fds(connection, [packet], list(descriptors))
        return
    file = memory_file([text])
    try:
        socket.send_fds(connection, [HEADER.pack(MAGIC, VERSION, IN_FILE, len(text))], [file, *descriptors])
    finally:
        os.close(file)


def receive(connection: socket.socket) -> Message | None:
    """The next message, None after the last; OSError where the connection broke."""
    room = socket.CMSG_SPACE((MOST_DESCRIPTORS + 1) * INT.itemsize)
    packet, came, flags, _ = connection.recvmsg(HEADER.size + PACKET, room, socket.MSG_CMSG_CLOEXEC)
    descriptors: list[int] = []
    for level, type, data in came:
        if (level, type) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors += array("i", data[: len(data) - len(data) % INT.itemsize])
    try:
        if not packet and not descriptors:
            return None
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            raise Violation("a packet is too long, or brings too many descriptors")
        return Message(_body(packet, descriptors), descriptors)
    except Violation:
        Message({}, descriptors).close()
        raise


def _body(packet: bytes, descriptors: list[int]) -> Body:
    if len(packet) < HEADER.size:
        raise Violation(f"a packet of {len(packet)} bytes is no message")
    magic, version, flags, length = HEADER.unpack_from(packet)
    if magic != MAGIC:
        raise Violation("a packet does not begin as a message does")
    if version != VERSION:
        raise Violation(f"a message has version {version}, ours is {VERSION}")
    text = packet[HEADER.size :]
    if flags & IN_FILE:
        if not descriptors or length > MOST:
            raise Violation(f"a message of {length} bytes is not where it should be")
        file = descriptors.pop(0)
        try:
            text = os.pread(file, length, 0)
        except OSError as error:
            raise Violation(f"a message cannot be read: {error}") from None
        finally:
            os.close(file)
    if len(text) != length:
        raise Violation(f"a message has {len(text)} bytes where it says {length}")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Violation(f"a message is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise Violation("a message is no object")
    return body


def memory_file(parts: Sequence[Any], name: str = "nnapi-message") -> int:
    """A descriptor of a memory file that holds the parts, one after the other, and that nobody changes any more."""
    file = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        at = 0
        for part in parts:
            at = write_at(file, part, at)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, SEALS | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL)
    except BaseException:
        os.close(file)
        raise
    return file


def write_at(file: int, part: Any, at: int) -> int:
    """Write all of a part, which is contiguous bytes, and give the place behind it."""
    rest = memoryview(part).cast("B")
    while rest:
        written = os.pwrite(file, rest, at)
        rest, at = rest[written:], at + written
    return at


def shared_file(size: int, name: str) -> int:
    """A descriptor of a memory file of zeros that both sides may write to and nobody can make shorter: who reads what
    the other side has cut off is ended by the system."""
    file = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.ftruncate(file, size)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, SEALS | fcntl.F_SEAL_SEAL)
    except BaseException:
        os.close(file)
        raise
    return file


def is_sealed(file: int) -> bool:
    """Whether nobody can make the file shorter."""
    try:
        return bool(fcntl.fcntl(file, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK)
    except OSError:  # no memory file
        return False
