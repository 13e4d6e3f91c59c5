"""Answers of a driver: in time, late, never, and garbage."""

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from nnapi import Model
from nnapi.contract.driver import DriverDiedError, OpenOptions, PrepareOptions
from nnapi.contract.handles import open_handle
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.channel import Binding
from nnapi.drivers.isolated.connection import Connection
from nnapi.drivers.isolated.prepared import RemotePrepared, read_number
from nnapi.drivers.isolated.protocol import send
from nnapi.errors import MissedDeadlineTransientError, OpFailedError
from tests.drivers.isolated.isolated_cases import model
from tests.drivers.isolated.loopback_cases import Holding, Loopback, StandIn, connected, stop_clock
from tests.waiting import comes_true

X = np.array([1, -2, 3, -4], np.float32)
OPTIONS = plain_values.of_value(PrepareOptions())

pytestmark = pytest.mark.usefixtures("collect_nothing")


@pytest.fixture
def found() -> Iterator[tuple[Connection, Loopback]]:
    with connected() as made:
        yield made


@pytest.mark.parametrize(
    ("is_burst", "others", "spin"), [(False, 0, 20_000), (False, 1, 0), (True, 0, 100_000), (True, 1, 100_000)]
)
@pytest.mark.parametrize(("patience", "end"), [(None, None), (2.0, 102.0)])
def test_a_run_without_a_message(
    found: tuple[Connection, Loopback],
    monkeypatch: pytest.MonkeyPatch,
    is_burst: bool,
    others: int,
    spin: int,
    patience: float | None,
    end: float | None,
) -> None:
    """While others compute too, spinning would take a processor from them."""
    connection, _ = found
    connection._patience, connection._active = patience, [None] * others
    stop_clock(monkeypatch)
    for status, is_done in ((0, True), (1, False), (2, False)):
        channel: Any = StandIn((), status)
        assert connection.run(channel, Binding(3, [], []), is_burst) is is_done
        assert channel.words[1] == 3
        assert (channel.told, channel.runs) == ([(0, 5)], 5)
        assert channel.waited == [(8, 4, spin, end)]
        assert len(connection._active) == others
        assert not channel.is_lost
        channel.close()


@pytest.mark.parametrize(
    ("ready", "words"), [(None, "it did not answer for 2 s"), ([5], "its process ended with status 7")]
)
def test_a_run_that_does_not_end(found: tuple[Connection, Loopback], ready: Any, words: str) -> None:
    connection, _ = found
    connection._patience = 2.0
    channel: Any = StandIn(ready)
    with pytest.raises(DriverDiedError, match=f"^test has died: {words}$") as caught:
        connection.run(channel, Binding(3, [], []), False)
    assert caught.value.was_alone
    assert (channel.is_lost, connection._active) == (True, [])


@pytest.mark.parametrize(
    ("deadline", "patience", "end"), [(3 * 10**9, None, 3.05), (3 * 10**9, 2.0, 3.05), (None, 2.0, 102.0)]
)
def test_the_time_limit_of_an_answer(
    found: tuple[Connection, Loopback],
    monkeypatch: pytest.MonkeyPatch,
    deadline: int | None,
    patience: float | None,
    end: float,
) -> None:
    """The driver may report a missed deadline itself for 50 ms."""
    connection, _ = found
    connection._patience = patience
    stop_clock(monkeypatch)
    channel: Any = StandIn(None)
    if deadline is None:
        with pytest.raises(DriverDiedError, match="^test has died: it did not answer for 2 s$"):
            connection._exchange(channel, {}, (), deadline)
    else:
        assert connection._exchange(channel, {}, (), deadline) is None
        assert connection.is_alive
    assert channel.waited == [(pytest.approx(end, abs=1e-9),)]
    channel.close()


def test_an_endless_wait(found: tuple[Connection, Loopback]) -> None:
    channel: Any = StandIn(())
    with pytest.raises(DriverDiedError, match="its process ended with status 7"):
        found[0].ask_on(channel, {}, read_number, (), None)
    assert channel.waited == [(None,)]
    assert (channel.is_lost, found[0]._active) == (True, [])


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_last_answer(found: tuple[Connection, Loopback], is_closed: bool) -> None:
    connection, _ = found
    channel: Any = StandIn(None)
    channel.found = [channel.socket.fileno()]
    error = plain_values.of_error(OpFailedError("no room"), "")
    send(channel.theirs, {"error": error} | ({"closed": True} if is_closed else {}))
    with pytest.raises(OpFailedError, match="^no room$"):
        connection.ask_on(channel, {}, read_number, (), None)
    assert (channel.is_lost, connection.is_alive) == (is_closed, True)
    channel.close()


def test_an_answer_that_is_noise(found: tuple[Connection, Loopback]) -> None:
    channel: Any = StandIn(None)
    channel.found = [channel.socket.fileno()]
    channel.theirs.send(b"noise")
    with pytest.raises(DriverDiedError, match="^test has died: it sent garbage: a packet of 5 bytes is not a message$"):
        found[0].ask_on(channel, {}, read_number, (), None)


def test_a_late_answer_is_released_and_its_channel_used_again() -> None:
    driver = Holding("prepare")
    with connected(driver) as (connection, process):
        kept = model()
        number = connection.model(kept)
        (channel,) = connection._idle
        body = {"kind": "prepare", "model": number, "options": OPTIONS}
        with pytest.raises(MissedDeadlineTransientError, match="^test did not answer within the time limit$"):
            connection.ask(body, read_number, (), 1)
        assert driver.arrived.acquire(timeout=60)
        assert (connection._idle, channel.is_lost) == ([], True)
        assert process.session.prepared == {}
        driver.go_on.set()
        assert comes_true(lambda: connection._idle == [channel])
        assert not channel.is_lost
        assert comes_true(lambda: process.session.prepared == {})
        assert (list(process.session.models), connection.is_alive) == ([number], True)


def test_an_answer_that_is_later_than_the_grace() -> None:
    with connected(Holding("prepare"), grace=0.0) as (connection, _):
        kept = model()
        number = connection.model(kept)
        with pytest.raises(MissedDeadlineTransientError):
            connection.ask({"kind": "prepare", "model": number, "options": OPTIONS}, read_number, (), 1)
        assert comes_true(lambda: not connection.is_alive and connection._channels == [])
        with pytest.raises(DriverDiedError, match="^test has died: it did not answer for 0 s after the time limit$"):
            connection.take()


@pytest.mark.parametrize("packet", [b"", b"noise"])
def test_late_noise_or_the_end_is_a_death(found: tuple[Connection, Loopback], packet: bytes) -> None:
    channel: Any = StandIn(None)
    channel.found = [channel.socket.fileno()]
    channel.theirs.send(packet)
    found[0]._await_late(channel)
    assert (found[0].is_alive, channel.is_lost) == (False, True)


def prepare(kept: Model, connection: Connection) -> int:
    body = {"kind": "prepare", "model": connection.model(kept), "options": OPTIONS}
    return connection.ask(body, read_number)


def test_the_end_of_the_process_wakes_its_channels() -> None:
    process = Loopback(Holding("execute"))
    process.descriptor, signal = os.pipe()
    with connected(process=process) as (connection, _):
        kept = model()
        prepared = RemotePrepared(kept, lambda: connection, partial(prepare, kept))
        infer = open_handle(prepared, OpenOptions([(4,)])).call
        assert infer is not None
        os.write(signal, b"x")
        with pytest.raises(DriverDiedError, match="its process ended with status 7"):
            infer([X])
        process._driver.go_on.set()  # type: ignore[attr-defined]
    os.close(process.descriptor)
    os.close(signal)
