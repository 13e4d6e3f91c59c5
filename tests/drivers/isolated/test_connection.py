"""The application's side of a connection: channels, answers that come late or never, and the error at its end."""

import gc
import os
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from nnapi import trace
from nnapi.contract.driver import DriverDiedError
from nnapi.drivers.isolated import connection as connection_module
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.connection import Connection
from nnapi.drivers.isolated.protocol import Message, send
from nnapi.errors import BadDataError, NnapiError, OutOfMemoryError, UnavailableDeviceError
from nnapi.trace import Layer, Phase, spans
from nnapi.trace.recorder import Recorder
from tests.drivers.isolated.isolated_cases import model, reference
from tests.drivers.isolated.loopback_cases import Loopback, connected, stop_clock
from tests.waiting import comes_true

pytestmark = pytest.mark.usefixtures("collect_nothing")


@pytest.fixture
def found() -> Iterator[tuple[Connection, Loopback]]:
    with connected() as made:
        yield made


# Its beginning


def test_a_driver_is_greeted(found: tuple[Connection, Loopback]) -> None:
    connection, process = found
    assert process.hello == {"kind": "hello", "device": ""}
    assert connection.greeting == plain_values.Greeting.of(reference())
    assert connection.is_alive
    assert not process.connection.getblocking()


@pytest.mark.parametrize("known", [0, 12])
def test_the_process_id_is_known_before_or_in_the_greeting(known: int) -> None:
    process = Loopback(reference())
    process.pid = known
    with connected(process=process) as (connection, _):
        assert connection.pid == (known or os.getpid())


def begin(process: Loopback, patience: float | None = None, limited: str = "") -> str:
    with pytest.raises(NnapiError) as caught, connected(process=process, patience=patience, limited=limited):
        pass
    assert (process.told[0], process.told[-1]) == ("end", "close")
    return f"{type(caught.value).__name__}: {caught.value}"


def test_a_silent_process() -> None:
    said = begin(Loopback(), patience=0.01)
    assert said == "DriverDiedError: test has died: it sent nothing for 0.01 s"


def test_a_process_that_ends_before_its_greeting() -> None:
    process = Loopback()
    process.theirs.shutdown(socket.SHUT_RDWR)
    assert begin(process) == "DriverDiedError: test has died: its process ended with status 7"
    assert process.told == ["end", 0.5, "close"], "the end may still be on its way"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"pid": 1}, "it sent garbage: KeyError: 'greeting'"),
        ({"pid": 1, "greeting": 5}, "it sent garbage: TypeError"),
        ({"pid": 1, "error": [1]}, "it sent garbage: ValueError"),
    ],
)
def test_a_greeting_that_is_garbage(answer: dict[str, Any], words: str) -> None:
    process = Loopback()
    send(process.theirs, answer)
    assert f"DriverDiedError: test has died: {words}" in begin(process)


def test_a_greeting_that_is_not_a_message() -> None:
    process = Loopback()
    process.theirs.send(b"noise")
    assert begin(process) == "DriverDiedError: test has died: a packet of 5 bytes is not a message"


LIMITED = "its memory is limited to 1 MiB (memory=1048576)"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OutOfMemoryError("none left"), f"OutOfMemoryError: none left; {LIMITED}"),
        (UnavailableDeviceError("not here"), f"UnavailableDeviceError: not here; {LIMITED}"),
        (BadDataError("wrong"), "BadDataError: wrong"),
    ],
)
def test_an_error_names_the_limit_that_may_have_caused_it(error: NnapiError, said: str) -> None:
    for limited, expected in ((LIMITED, said), ("", said.removesuffix(f"; {LIMITED}"))):
        process = Loopback()
        send(process.theirs, {"error": plain_values.of_error(error, "")})
        assert begin(process, limited=limited) == expected


# Channels


def test_a_channel_is_used_again_unless_it_is_lost(found: tuple[Connection, Loopback]) -> None:
    connection, _ = found
    first, second = connection.take(), connection.take()
    assert first is not second
    connection.put(first)
    assert connection.take() is first
    connection.put(first)
    second.is_lost = True
    connection.put(second)
    assert connection.take() is first
    connection.drop(second)
    assert connection._channels == [first]
    assert (second.is_lost, second.socket.fileno()) == (True, -1)
    assert not first.is_lost


def test_a_channel_that_comes_back_after_the_end_is_closed(found: tuple[Connection, Loopback]) -> None:
    connection, _ = found
    channel, idle = connection.take(), connection.take()
    connection.put(idle)
    connection.close()
    assert (idle.socket.fileno(), connection.is_alive) == (-1, False)
    assert channel.socket.fileno() >= 0
    connection.put(channel)
    assert channel.socket.fileno() == -1
    with pytest.raises(DriverDiedError, match="^test has died: it was closed$"):
        connection.take()


def test_a_process_that_does_not_read_a_new_channel(
    found: tuple[Connection, Loopback], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, _ = found
    connection._patience = 2.0
    stop_clock(monkeypatch)
    ends: list[float | None] = []

    def fail(error: OSError) -> Any:
        def fail_to_open(_: socket.socket, end: float | None) -> None:
            ends.append(end)
            raise error

        return fail_to_open

    monkeypatch.setattr(connection_module, "open_channel", fail(TimeoutError()))
    with pytest.raises(DriverDiedError, match="^test has died: it did not answer for 2 s$"):
        connection.take()
    assert ends == [102.0]


def test_a_process_that_has_ended_before_a_channel_is_opened(found: tuple[Connection, Loopback]) -> None:
    connection, process = found
    process.connection.shutdown(socket.SHUT_RDWR)
    with pytest.raises(DriverDiedError, match="^test has died: its process ended with status 7$"):
        connection.take()


# Traces


def test_recordings_have_numbers(found: tuple[Connection, Loopback]) -> None:
    connection, _ = found
    body = {"kind": "execute"}
    assert connection._add_trace(body) == body
    with trace.recording() as first:
        assert connection._add_trace(body) == {"kind": "execute", "trace": [1, None]}
        with trace.section("mine"):
            assert connection._add_trace(body)["trace"] == [1, None]
        with spans.span(Layer.DRIVER, Phase.EXECUTION, "run", operations=[3, 5]):
            assert connection._add_trace(body)["trace"] == [1, [3, 5]]
        with trace.mute():
            assert connection._add_trace(body) == body
        assert len(first.sources) == 1
    with trace.recording() as second:
        assert connection._add_trace(body)["trace"] == [2, None]
        assert len(second.sources) == 1


@pytest.mark.parametrize(
    ("parts", "asked", "count"),
    [([0], [0], 0), ([999], [0], 999), ([1000, 0], [0, 1000], 1000), ([1000, 1000, 3], [0, 1000, 2000], 2003)],
)
def test_spans_are_read_in_parts(
    found: tuple[Connection, Loopback], monkeypatch: pytest.MonkeyPatch, parts: list[int], asked: list[int], count: int
) -> None:
    firsts: list[int] = []

    def ask(body: dict[str, Any], read: Any) -> list[Any]:
        assert body["kind"] == "spans"
        firsts.append(body["first"])
        values = ["[NN_LD_PE]run", 10, 20, 7, "thread", {}, 2]
        return read(Message({"spans": [values] * parts[len(firsts) - 1]}, []))

    monkeypatch.setattr(found[0], "ask", ask)
    told = found[0]._spans()
    assert (firsts, len(told)) == (asked, count)
    assert {(span.start, span.end, span.process, span.thread, span.depth) for span in told} <= {
        (10, 20, os.getpid(), 7, 2)
    }


# Models


def test_a_model_is_sent_once_and_released_with_its_owner(found: tuple[Connection, Loopback]) -> None:
    connection, process = found
    one, other = model(), model("neg")
    assert [connection.model(each) for each in (one, other, one)] == [1, 2, 1]
    assert sorted(process.session.models) == [1, 2]
    del one
    gc.collect()
    assert comes_true(lambda: sorted(process.session.models) == [2])


def test_bindings_of_a_released_model_are_forgotten(found: tuple[Connection, Loopback]) -> None:
    connection, _ = found
    channel, other = connection.take(), connection.take()
    channel.bindings = {(1, ((4,),)): None, (2, ((4,),)): None, (1, ((5,),)): None}
    other.bindings = {(1, ((4,),)): None}
    connection.release(1)
    assert list(channel.bindings) == [(2, ((4,),))]
    assert other.bindings == {}


def test_numbers_wait_until_they_can_be_sent(
    found: tuple[Connection, Loopback], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, _ = found
    errors: list[OSError] = [BlockingIOError()]
    sent: list[list[int]] = []

    def send_or_fail(_: socket.socket, body: dict[str, Any]) -> None:
        assert body["kind"] == "release"
        if errors:
            raise errors.pop()
        sent.append(body["numbers"])

    monkeypatch.setattr(connection_module, "send", send_or_fail)
    connection._tell_released()
    assert sent == []
    connection._released.extend([5, 6])
    connection._tell_released()
    assert (list(connection._released), sent) == ([5, 6], [])
    connection._tell_released()
    assert (list(connection._released), sent) == ([], [[5, 6]])
    errors.append(BrokenPipeError())
    connection._released.append(7)
    connection._tell_released()
    assert (list(connection._released), sent) == ([], [[5, 6]]), "with the process everything is released"
    connection.close()
    connection._released.append(8)
    connection._tell_released()
    connection.release(9)
    assert (list(connection._released), sent) == ([8], [[5, 6]])


# The end


@pytest.mark.parametrize(
    ("reason", "by_itself", "said", "limited", "words", "is_blamed"),
    [
        ("", False, "", "", "its process ended with status 7", False),
        ("", True, "", "", "its process ended with status 7", True),
        ("", True, "oops", "", "its process ended with status 7; it said last: oops", True),
        ("", True, "oops", LIMITED, f"its process ended with status 7; it said last: oops; {LIMITED}", False),
        ("", False, "", LIMITED, "its process ended with status 7", False),
        ("it hung", True, "", "", "it hung", False),
        ("it hung", False, "oops", "", "it hung; it said last: oops", False),
    ],
)
def test_the_error_at_the_end(
    reason: str, by_itself: bool, said: str, limited: str, words: str, is_blamed: bool
) -> None:
    process = Loopback(reference(), by_itself=by_itself, said=said)
    with connected(process=process, limited=limited) as (connection, _):
        error = connection.end(reason)
        assert (str(error), error.by_itself) == (f"test has died: {words}", is_blamed)
        again = connection.end("once more")
        assert (str(again), again.by_itself) == (f"test has died: {words}", is_blamed)
        later = connection.note_death()
        assert (str(later), later.by_itself, later.was_alone) == (f"test has died: {words}", is_blamed, False)
    assert process.told.count("close") == 1


@pytest.mark.parametrize(("under_way", "was_alone"), [(0, True), (1, True), (2, False)])
def test_a_run_is_blamed_only_if_nothing_else_was_under_way(under_way: int, was_alone: bool) -> None:
    with connected() as (connection, process):
        connection._active = [None] * under_way
        error = connection.note_death()
        assert error.was_alone is was_alone
        assert process.told[:2] == ["end", 0.5]


def test_a_collected_connection_is_closed() -> None:
    process = Loopback(reference())
    connection = Connection("test", {"device": ""}, None, 1.0, lambda: process)  # type: ignore[arg-type,return-value]
    channel = connection.take()
    del connection
    gc.collect()
    assert process.told == ["end", "close"]
    assert channel.socket.fileno() == -1


def test_a_fork_leaves_the_process_to_its_parent() -> None:
    process = Loopback(reference())
    connection = Connection("test", {"device": ""}, None, 1.0, lambda: process)  # type: ignore[arg-type,return-value]
    channel, idle = connection.take(), connection.take()
    connection.put(idle)
    connection.forget()
    assert process.told == ["leave", "close"]
    assert {channel.socket.fileno(), idle.socket.fileno()} == {-1}
    with pytest.raises(DriverDiedError, match="it belongs to the process that this one was forked from") as caught:
        connection.take()
    assert not caught.value.by_itself
    connection.leave()
    del connection
    gc.collect()
    assert process.told == ["leave", "close", "leave"]


def test_threads_that_are_traced_at_once_begin_one_recording(
    found: tuple[Connection, Loopback], monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, _ = found
    recorder, bodies = Recorder(), list[Any]()

    def refer(*words: Any) -> Any:
        time.sleep(0.05)
        return weakref.ref(*words)

    monkeypatch.setattr(spans, "find_open_section", lambda: (recorder, None))
    monkeypatch.setattr(connection_module, "weakref", SimpleNamespace(ref=refer))
    threads = [threading.Thread(target=lambda: bodies.append(connection._add_trace({}))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bodies == [{"trace": [1, None]}] * 3
    assert len(recorder.sources) == 1
