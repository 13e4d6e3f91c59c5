"""The driver's side of a connection: greeting, channels and released models."""

import os
import socket
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from nnapi.contract.driver import Driver
from nnapi.drivers.isolated import connection_server as server_module
from nnapi.drivers.isolated import plain_values, protocol
from nnapi.drivers.isolated.allowance import Allowance
from nnapi.drivers.isolated.channel import SIZE
from nnapi.drivers.isolated.connection_server import Server
from nnapi.drivers.isolated.descriptors import shared_file
from nnapi.drivers.isolated.protocol import Body
from nnapi.drivers.isolated.session import Session
from nnapi.errors import UnavailableDeviceError
from tests.drivers.isolated.isolated_cases import Misbehaving, model
from tests.drivers.isolated.service_cases import error_of
from tests.waiting import comes_true, count_descriptors

pytestmark = pytest.mark.usefixtures("collect_nothing")
HELLO = {"kind": "hello", "device": "misbehaving"}


def find(body: Body) -> Driver:
    if body["device"] != "misbehaving":
        raise UnavailableDeviceError("no such device")
    return Misbehaving("", "")


def serve(*bodies: Any, session: Session | None = None, descriptors: Sequence[Sequence[int]] = ()) -> list[Body]:
    """Serve these messages, then the end; return the answers."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        for number, body in enumerate(bodies):
            if isinstance(body, bytes):
                ours.send(body)
            else:
                protocol.send(ours, body, descriptors[number] if descriptors else ())
        ours.shutdown(socket.SHUT_WR)
        Server(theirs, find, session).run()
        ours.setblocking(False)
        answers: list[Body] = []
        with suppress(BlockingIOError):
            while message := protocol.receive(ours):
                answers.append(message.body)
        return answers


def test_a_greeting() -> None:
    assert serve(HELLO) == [
        {"greeting": plain_values.of_value(plain_values.Greeting.of(Misbehaving("", ""))), "pid": os.getpid()}
    ]
    (answer,) = serve({"kind": "hello", "device": "other"})
    assert error_of(answer) == "no such device"


def test_a_device_that_is_not_there_may_be_followed_by_another() -> None:
    first, second = serve({"kind": "hello", "device": "other"}, HELLO)
    assert error_of(first) == "no such device"
    assert second["pid"] == os.getpid()


def test_an_application_has_a_time_limit_for_its_first_message_only() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    limits: list[float | None] = []
    with ours, theirs:
        theirs.settimeout(30)
        made = Server(theirs, find)
        for body in (HELLO, {"kind": "release", "numbers": []}):
            made._handle(protocol.Message(body, []))
            limits.append(theirs.gettimeout())
    assert limits == [None, None]


@pytest.mark.parametrize(
    ("bodies", "count"),
    [
        ([HELLO, HELLO, HELLO], 1),
        ([{"kind": "release", "numbers": [1]}, HELLO], 0),
        ([{"kind": "channel"}, HELLO], 0),
        ([{}, HELLO], 0),
        ([b"noise", HELLO], 0),
        ([HELLO, {"kind": "release"}, HELLO], 1),
        ([{"kind": "hello"}, HELLO], 2),
    ],
)
def test_messages_out_of_order_end_the_connection(bodies: list[Any], count: int) -> None:
    assert len(serve(*bodies)) == count


def test_models_are_released_together(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session()
    session.models = {number: model() for number in (1, 2, 3)}
    freed: list[int] = []
    monkeypatch.setattr(server_module, "free_memory", lambda: freed.append(len(session.models)))
    serve(HELLO, {"kind": "release", "numbers": [3, 9, 1]}, {"kind": "unknown"}, session=session)
    assert (list(session.models), freed) == ([2], [1])


def make_channel() -> tuple[socket.socket, list[int]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    return ours, [theirs.detach(), shared_file(SIZE, "page"), *(os.eventfd(0, os.EFD_NONBLOCK) for _ in range(2))]


@pytest.mark.parametrize("limit", [1, 2])
def test_a_channel_is_served_or_told_why_not(limit: int) -> None:
    before = count_descriptors()
    session = Session(Allowance(threads=limit))
    channels = [make_channel() for _ in range(2)]
    answers = serve(
        HELLO,
        *[{"kind": "channel"}] * 2,
        session=session,
        descriptors=[[], *(descriptors for _, descriptors in channels)],
    )
    assert len(answers) == 1
    told: list[Body] = []
    for ours, descriptors in channels:
        if len(told) < limit:
            protocol.send(ours, {"kind": "spans", "first": 0})
        message = protocol.receive(ours)
        assert message is not None
        told.append(message.body)
        ours.close()
        for descriptor in descriptors:
            os.close(descriptor)
    words = "this application has 1 threads, as many as the service allows one (nnapi serve --max-threads)"
    assert told[0] == {"spans": []}
    assert told[1] == ({"spans": []} if limit == 2 else {"error": [13, words, False], "closed": True})
    assert comes_true(lambda: session._channels == {} and count_descriptors() <= before)


@pytest.mark.parametrize(("count", "is_channel"), [(3, False), (4, True), (5, False)])
def test_a_channel_has_four_descriptors(count: int, is_channel: bool) -> None:
    before = count_descriptors()
    ours, descriptors = make_channel()
    sent = [*descriptors, descriptors[-1]][:count]
    answers = serve(HELLO, {"kind": "channel"}, {"kind": "hello"}, descriptors=[[], sent, []])
    assert len(answers) == 1
    for descriptor in descriptors:
        os.close(descriptor)
    ours.setblocking(False)
    if is_channel:
        with pytest.raises(BlockingIOError):
            ours.recv(1)
    else:
        assert ours.recv(1) == b""
    ours.close()
    assert comes_true(lambda: count_descriptors() <= before)


@pytest.mark.parametrize(
    ("wrong", "words"), [(1, "a descriptor to be mapped is not a file"), (3, "a descriptor is not an eventfd")]
)
def test_a_channel_of_wrong_descriptors(wrong: int, words: str) -> None:
    before = count_descriptors()
    ours, descriptors = make_channel()
    null = os.open(os.devnull, os.O_RDWR)
    sent = [null if index == wrong else each for index, each in enumerate(descriptors)]
    assert len(serve(HELLO, {"kind": "channel"}, descriptors=[[], sent])) == 1
    message = protocol.receive(ours)
    assert message is not None
    assert (error_of(message.body), message.body["closed"]) == (words, True)
    ours.close()
    for descriptor in (null, *descriptors):
        os.close(descriptor)
    assert count_descriptors() == before


def test_a_system_without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(threading.Thread):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(server_module.threading, "Thread", Failing)  # type: ignore[attr-defined]
    ours, descriptors = make_channel()
    session = Session()
    serve(HELLO, {"kind": "channel"}, session=session, descriptors=[[], descriptors])
    message = protocol.receive(ours)
    assert message is not None
    assert message.body == {"error": [1, "no thread can be started: can't start new thread", False], "closed": True}
    assert session._channels == {}
    ours.close()
    for descriptor in descriptors:
        os.close(descriptor)
