"""A channel server without its thread, and what tests ask it."""

import os
import socket
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi import Model
from nnapi.contract.driver import PrepareOptions
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.channel import SIZE
from nnapi.drivers.isolated.channel_server import ChannelServer, make_channel
from nnapi.drivers.isolated.constants import lay_out
from nnapi.drivers.isolated.descriptors import shared_file
from nnapi.drivers.isolated.protocol import Body, Message
from nnapi.drivers.isolated.session import PreparedModel, Session
from nnapi.model.operand import Array
from tests.drivers.isolated.isolated_cases import model

X = np.array([1, -2, 3, -4], np.float32)
OPTIONS = plain_values.of_value(PrepareOptions())


def make_server(session: Session) -> tuple[ChannelServer, socket.socket]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    bells = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2)]
    return ChannelServer(session, make_channel(theirs, [shared_file(SIZE, "page"), *bells])), ours


def ask(server: ChannelServer, body: Body, descriptors: Sequence[int] = ()) -> tuple[Body, list[int]]:
    return server._answer(Message(body, [os.dup(each) for each in descriptors]))


def send_model(server: ChannelServer, sent: Model) -> int:
    described, arrays = plain_values.of_model(sent)
    layout, descriptors = lay_out(arrays)
    number: int = ask(server, {"kind": "model", "model": described, "layout": layout}, descriptors)[0]["model"]
    for descriptor in descriptors:
        os.close(descriptor)
    return number


def adopt(server: ChannelServer, prepared: Any, sent: Model | None = None, *, is_burst: bool = False) -> int:
    """Add a prepared model, or a burst on it; return its number."""
    held = PreparedModel.of(prepared, sent or model())
    return server._session.add(server._session.prepared, held.open_burst() if is_burst else held)


def in_arena(inputs: Sequence[Array], size: int) -> tuple[int, list[Any]]:
    """Return an arena with inputs at multiples of 64, and their locations."""
    arena = shared_file(size, "arena")
    for index, array in enumerate(inputs):
        os.pwrite(arena, array.tobytes(), 64 * index)
    return arena, [[64 * index, array.shape] for index, array in enumerate(inputs)]


def bind(server: ChannelServer, prepared: int) -> tuple[int | None, int]:
    arena, _ = in_arena([X], 192)
    body = {"kind": "bind", "prepared": prepared, "locations": [[[0, [4]]], [[128, [4]]]], "size": 192}
    answer, _ = ask(server, body, [arena])
    return answer["binding"], arena
