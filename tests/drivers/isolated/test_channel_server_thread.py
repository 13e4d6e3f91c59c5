"""The thread of a channel server: the clock of its slot, its end, and its descriptors."""

import os
import socket
from collections.abc import Sequence

import pytest

from nnapi.contract.driver import Outcome, Request
from nnapi.drivers.isolated import protocol
from nnapi.drivers.isolated.channel import BINDING, SIZE
from nnapi.drivers.isolated.channel_server import ChannelServer, make_channel
from nnapi.drivers.isolated.descriptors import shared_file
from tests.drivers.isolated.channel_server_cases import OPTIONS, X, adopt, bind, make_server, send_model
from tests.drivers.isolated.isolated_cases import model
from tests.drivers.isolated.loopback_cases import BarePrepared

pytestmark = pytest.mark.usefixtures("collect_nothing")


def test_runs_and_messages_set_the_clock_of_their_slot(server: ChannelServer) -> None:
    """The service ends a worker whose run takes too long."""
    session = server._session
    other, ours = make_server(session)
    seen: list[list[int]] = []
    idle: list[list[int]] = []

    def execute(request: Request) -> Outcome:
        seen.append([int(begun > 0) for begun in session.clock.tolist()])
        return Outcome([X])

    number = adopt(server, BarePrepared(execute))
    binding, arena = bind(other, number)
    assert binding is not None
    waits = iter([(), ()])

    def wait(word: int, old: int, spin: int) -> Sequence[int]:
        idle.append(session.clock.tolist())
        other._channel.words[word] = old + 1
        return next(waits, [5])

    other._channel.wait = wait  # type: ignore[method-assign,assignment]
    other._channel.words[BINDING] = binding
    ours.close()
    other.run()
    assert seen == [[0, 1], [0, 1]]
    assert idle == [[0, 0]] * 3, "nothing runs while the next run is waited for"
    assert session.clock.tolist() == [0, 0]
    assert other._channel.words[8] == 2, "the number of the run that has ended"
    assert (other._bindings, other._channel.socket.fileno()) == ({}, -1)
    assert session.enter_channel(print) == 1, "its slot is free again"
    session.leave_channel(1)
    os.close(arena)


def test_a_message_sets_the_clock_while_it_is_answered(server: ChannelServer) -> None:
    session = server._session
    other, ours = make_server(session)
    seen: list[list[int]] = []
    session.driver.strike = lambda phase, model: seen.append(session.clock.tolist())  # type: ignore[attr-defined]
    number = send_model(server, model())
    protocol.send(ours, {"kind": "prepare", "model": number, "options": OPTIONS})
    assert other._serve_message()
    assert [(first, second > 0) for first, second in seen] == [(0, True)]
    assert session.clock.tolist() == [0, 0]
    ours.shutdown(socket.SHUT_WR)
    assert not other._serve_message(), "the end"
    other.close()
    ours.close()


@pytest.mark.parametrize("kind", ["prepare", "verdicts"])
def test_a_model_that_nobody_heard_of_is_released(server: ChannelServer, kind: str) -> None:
    session = server._session
    number = send_model(server, model())
    other, ours = make_server(session)
    protocol.send(ours, {"kind": kind, "model": number, "options": OPTIONS})
    ours.close()
    with pytest.raises(BrokenPipeError):
        other._serve_message()
    assert (list(session.models), session.prepared) == ([number], {})
    other.close()


@pytest.mark.parametrize("count", [2, 4])
def test_a_channel_has_a_page_and_two_bells(count: int) -> None:
    bells = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(count - 1)]
    page = shared_file(SIZE, "page")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    descriptors = [page, *bells]
    with ours, theirs, pytest.raises(TypeError):
        make_channel(theirs, descriptors)
    for bell in bells:
        os.close(bell)
