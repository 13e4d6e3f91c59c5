"""The application's side of a channel."""

from __future__ import annotations

import os
import select
import socket
from typing import Any, NamedTuple

from nnapi.drivers.isolated.arena import Arena
from nnapi.drivers.isolated.channel import SIZE, Channel, bell, milliseconds
from nnapi.drivers.isolated.descriptors import shared_file
from nnapi.drivers.isolated.protocol import send
from nnapi.model.operand import Array


class Binding(NamedTuple):
    """A run without a message: its number, and views of an arena."""

    number: int
    inputs: list[Array]
    outputs: list[Array]


class ClientChannel(Channel):
    """A channel with the bindings of its runs."""

    def __init__(self, connection: socket.socket, page: int, bell: int, other_bell: int) -> None:
        super().__init__("application", connection, page, bell, other_bell)
        self.bindings: dict[Any, Binding | None] = {}
        """By the number of the prepared model and the shapes; None where the driver has no fast path."""
        self.arena: Arena | None = None
        self.runs = 0
        self.is_lost = False
        """The channel is unusable, at least until a late answer has been read."""


def open_channel(connection: socket.socket, end: float | None = None) -> ClientChannel:
    """Open a channel and send it to the process; ConnectionError if that has ended, TimeoutError if it does not read
    until the ``end`` (seconds of the monotonic clock)."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    page = shared_file(SIZE, "nnapi-channel")
    bells = bell(), bell()
    try:
        while True:
            try:
                send(connection, {"kind": "channel"}, [theirs.fileno(), page, *bells])
                break
            except BlockingIOError:
                _wait_until_writable(connection, end)
    except OSError as error:
        ours.close()
        for descriptor in (page, *bells):
            os.close(descriptor)
        raise error if isinstance(error, TimeoutError) else ConnectionError(str(error)) from None
    finally:
        theirs.close()
    return ClientChannel(ours, page, bells[1], bells[0])


def _wait_until_writable(connection: socket.socket, end: float | None) -> None:
    poll = select.poll()
    poll.register(connection, select.POLLOUT)
    if not poll.poll(milliseconds(end)):
        raise TimeoutError("what it is told is not read")
