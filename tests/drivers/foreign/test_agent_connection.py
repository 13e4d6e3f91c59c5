"""The connection to an agent, with answers that a test writes."""

import socket
import struct
import threading
from collections.abc import Iterator
from math import inf
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import DriverDiedError
from nnapi.drivers.foreign import agent as agent_module
from nnapi.drivers.foreign.agent import Agent, DeviceFacts, find_rest
from nnapi.drivers.foreign.driver import ForeignDriver, list_devices
from nnapi.drivers.foreign.transports import Stream
from nnapi.drivers.foreign.wire import Ask, Stall, pack_text
from nnapi.errors import (
    BadDataError,
    MissedDeadlinePersistentError,
    NnapiError,
    OpFailedError,
    OutOfMemoryError,
    UnavailableDeviceError,
)

ANSWER, ERROR, ENDED = 0, 1, 2


def message(kind: int, head: bytes = b"", data: bytes = b"") -> bytes:
    return struct.pack("<IIQ", kind, len(head), len(data)) + head + data


def hello(version: int = 1, level: int = 7, bursts: int = 1, library: bytes = b"/lib.so") -> bytes:
    return message(ANSWER, struct.pack("<4I", version, 55, level, bursts) + pack_text(library))


class Other:
    """The other end of a connection, and what its process wrote at last."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.words = ""

    def answer(self, *messages: bytes) -> None:
        self.theirs.setblocking(True)
        self.theirs.sendall(b"".join(messages))

    def read(self) -> list[tuple[int, bytes, bytes]]:
        """Return the requests so far: kind, head and data."""
        self.theirs.setblocking(False)
        content, found = self.theirs.recv(1 << 20), []
        while content:
            kind, head, size = struct.unpack_from("<IIQ", content)
            found.append((kind, content[16 : 16 + head], content[16 + head : 16 + head + size]))
            content = content[16 + head + size :]
        return found


@pytest.fixture
def other(monkeypatch: pytest.MonkeyPatch) -> Iterator[Other]:
    made = Other()

    def connect(address: str) -> Stream:
        stream = Stream(made.ours)
        stream.read_last_words = lambda: made.words  # type: ignore[method-assign]
        return stream

    monkeypatch.setattr(agent_module, "connect", connect)
    yield made
    for end in (made.ours, made.theirs):
        end.close()


@pytest.fixture
def agent(other: Other) -> Iterator[Agent]:
    other.answer(hello())
    made = Agent("phone")
    other.read()
    yield made
    made.close()


@pytest.mark.parametrize("token", ["", "secret"])
def test_an_agent_is_greeted(other: Other, monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    """With "NNAA", version 1 and the token."""
    monkeypatch.setenv("NNAPI_AGENT_TOKEN", token)
    other.answer(hello())
    found = Agent("phone")
    assert other.read() == [(1, b"NNAA\1\0\0\0" + pack_text(token.encode()), b"")]
    assert (found.pid, found.level, found.has_bursts, found.path) == (55, 7, True, "/lib.so at phone")
    assert found.is_alive
    found.close()
    assert not found.is_alive


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (hello(version=2), "the agent speaks version 2, not 1"),
        (message(ERROR, struct.pack("<i", 3) + b"wrong token"), "wrong token"),
        (message(ANSWER, b"short"), "a message is too short"),
        (message(7), "phone sent garbage: a message of kind 7 has 0 and 0 bytes"),
        (message(ENDED, struct.pack("<i", -11)), "phone: its process was ended by SIGSEGV"),
    ],
)
def test_an_agent_that_cannot_be_used(other: Other, answer: bytes, words: str) -> None:
    other.answer(answer)
    with pytest.raises(UnavailableDeviceError, match=f"^{words}$"):
        Agent("phone")
    assert other.ours.fileno() == -1


def test_a_library_here_and_one_without_bursts(other: Other) -> None:
    other.answer(hello(bursts=0, library=b"phone"))
    found = Agent("phone")
    assert (found.path, found.has_bursts) == ("phone", False)
    found.close()


@pytest.mark.parametrize(
    ("code", "text", "kind", "words"),
    [
        (1, b"no room", OutOfMemoryError, "no room"),
        (
            4,
            b"ANeuralNetworksModel_finish",
            BadDataError,
            "ANeuralNetworksModel_finish of /lib.so at phone gives BAD_DATA",
        ),
        (77, b"odd", OpFailedError, "odd"),
        (
            77,
            b"ANeuralNetworksModel_finish",
            OpFailedError,
            "ANeuralNetworksModel_finish of /lib.so at phone gives result code 77, which NNAPI does not have",
        ),
    ],
)
def test_errors_of_a_library(
    other: Other, agent: Agent, code: int, text: bytes, kind: type[NnapiError], words: str
) -> None:
    other.answer(message(ERROR, struct.pack("<i", code) + text))
    with pytest.raises(NnapiError) as caught:
        agent.ask(Ask.MODEL, b"")
    assert (type(caught.value), str(caught.value)) == (kind, words)
    assert agent.is_alive


@pytest.mark.parametrize(("code", "by_itself"), [(-11, True), (-9, False), (3, True)])
def test_the_end_of_a_library(other: Other, agent: Agent, code: int, by_itself: bool) -> None:
    """It is blamed on the call; later calls have the same error, which nobody is blamed for."""
    other.answer(message(ENDED, struct.pack("<i", code)))
    with pytest.raises(DriverDiedError, match="^/lib.so at phone: its process ") as caught:
        agent.ask(Ask.RUN, b"")
    assert (caught.value.by_itself, caught.value.was_alone) == (by_itself, True)
    with pytest.raises(DriverDiedError, match="^/lib.so at phone: its process ") as again:
        agent.ask(Ask.RUN, b"")
    assert (again.value.by_itself, again.value.was_alone) == (by_itself, False)


@pytest.mark.parametrize(("words", "said"), [("", ""), ("no route", ": no route")])
def test_a_connection_that_ends(other: Other, agent: Agent, words: str, said: str) -> None:
    other.words = words
    other.theirs.shutdown(socket.SHUT_WR)
    with pytest.raises(DriverDiedError, match=f"^the connection to phone was lost{said}$") as caught:
        agent.ask(Ask.RUN, b"")
    assert not caught.value.by_itself


@pytest.mark.parametrize(
    ("error", "said"),
    [(OSError(104, "Connection reset"), "Connection reset"), (OSError("no reason"), "no reason")],
)
def test_the_error_of_a_connection(agent: Agent, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str) -> None:
    def fail(end: float, most: int) -> Any:
        raise error

    monkeypatch.setattr(agent._answers, "receive", fail)
    with pytest.raises(DriverDiedError, match=f"^the connection to phone was lost: {said}$"):
        agent.ask(Ask.RUN, b"")


def test_why_an_agent_left_is_read_though_it_reads_no_more(other: Other, agent: Agent) -> None:
    other.answer(message(ERROR, struct.pack("<i", 1) + b"no room"))
    other.theirs.shutdown(socket.SHUT_RD)
    with pytest.raises(OutOfMemoryError, match="^no room$"):
        agent.ask(Ask.MODEL, b"")


@pytest.mark.parametrize(
    ("kind", "deadline", "patience", "waits"),
    [
        (Ask.RUN, None, None, inf),
        (Ask.RUN, None, 2.5, 2.5),
        (Ask.RUN, 12 * 10**9, None, 7.0),
        (Ask.RUN, 12 * 10**9, 2.5, 7.0),
        (Ask.RUN, 9 * 10**9, None, 4.0),
        (Ask.HELLO, None, None, 60.0),
        (Ask.DEVICES, None, None, 60.0),
        (Ask.RELEASE, None, None, 60.0),
        (Ask.DEVICES, None, 2.5, 2.5),
    ],
)
def test_how_long_an_answer_may_take(
    agent: Agent,
    monkeypatch: pytest.MonkeyPatch,
    kind: Ask,
    deadline: int | None,
    patience: float | None,
    waits: float,
) -> None:
    """Five seconds beyond a deadline, else the patience; a minute for what no library has to compute."""
    agent._patience = patience
    waited: list[float] = []

    def receive(end: float, most: int) -> Any:
        waited.append(end)
        raise TimeoutError

    sent: list[float] = []
    clock = SimpleNamespace(monotonic_ns=lambda: 10 * 10**9, monotonic=lambda: 10.0)
    monkeypatch.setattr(agent_module, "time", clock)
    monkeypatch.setattr(agent_module, "send", lambda *message: sent.append(message[-1]))
    monkeypatch.setattr(agent._answers, "receive", receive)
    with pytest.raises(DriverDiedError, match=f"^/lib.so at phone did not answer for {waits:.3g} s$"):
        agent.ask(kind, b"", deadline=deadline)
    assert sent == waited == [10 + waits], "one end for the request and its answer"
    assert not agent.is_alive


def test_releases_before_a_request_have_its_time_limit(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[float] = []

    def receive(end: float, most: int) -> Any:
        ends.append(end)
        raise TimeoutError

    with agent._lock:
        agent.release(9)
    clock = SimpleNamespace(monotonic_ns=lambda: 10 * 10**9, monotonic=lambda: 10.0)
    monkeypatch.setattr(agent_module, "time", clock)
    monkeypatch.setattr(agent._answers, "receive", receive)
    with pytest.raises(DriverDiedError, match="did not answer for 7 s"):
        agent.ask(Ask.RUN, b"", deadline=12 * 10**9)
    assert ends == [17.0]


def test_a_message_that_stalls_ends_the_connection(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    def stall(end: float, most: int) -> Any:
        raise Stall("an answer of 20 bytes was not complete after 15 s")

    monkeypatch.setattr(agent._answers, "receive", stall)
    said = "^the connection to phone was lost: an answer of 20 bytes was not complete after 15 s$"
    with pytest.raises(DriverDiedError, match=said):
        agent.ask(Ask.RUN, b"")
    assert not agent.is_alive


def test_a_token_that_is_too_long(other: Other, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_AGENT_TOKEN", "x" * 1025)
    with pytest.raises(UnavailableDeviceError, match="^NNAPI_AGENT_TOKEN may have at most 1024 characters$"):
        Agent("phone")
    monkeypatch.setenv("NNAPI_AGENT_TOKEN", "x" * 1024)
    other.answer(hello())
    Agent("phone").close()


def test_an_interrupted_call_ends_the_connection(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer would be taken for the next one's."""

    def interrupt(end: float, most: int) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(agent._answers, "receive", interrupt)
    with pytest.raises(KeyboardInterrupt):
        agent.ask(Ask.RUN, b"")
    with pytest.raises(DriverDiedError, match="^a call was interrupted$"):
        agent.ask(Ask.RUN, b"")


def test_objects_are_released_before_the_next_request(other: Other, agent: Agent) -> None:
    other.answer(message(ANSWER), message(ANSWER))
    agent.release(7, 8)
    assert other.read() == [(9, struct.pack("<I", number), b"") for number in (7, 8)]
    with agent._lock:
        agent.release(9)
    other.answer(message(ERROR, struct.pack("<i", 3) + b"no such object"), message(ANSWER, b"done"))
    assert agent.ask(Ask.BURST, b"head").head.content == b"done"
    assert other.read() == [(9, struct.pack("<I", 9), b""), (7, b"head", b"")]
    agent.close()
    agent.release(10)
    with pytest.raises(DriverDiedError, match="^the connection to phone was closed$"):
        agent.ask(Ask.BURST, b"")


def test_constants_are_a_message_s_data(other: Other, agent: Agent) -> None:
    other.answer(message(ANSWER, struct.pack("<I", 5)))
    arrays = [np.array([1, 2, 3], np.uint8), np.array([4], np.uint8)]
    assert agent.send_constants(arrays) == (5, [0, 64])
    assert other.read() == [(3, b"", b"\1\2\3" + bytes(61) + b"\4")]


def devices(*facts: tuple[int, int, bytes, bytes]) -> bytes:
    head = struct.pack("<I", len(facts))
    for type, level, name, version in facts:
        head += struct.pack("<iq", type, level) + pack_text(name) + pack_text(version)
    return message(ANSWER, head)


def test_devices_of_a_library(other: Other, agent: Agent) -> None:
    other.answer(devices((3, 1_000_006, b"gpu", b"1.5"), (4, 30, b"npu", b"")))
    assert agent.list_devices() == [DeviceFacts("gpu", "1.5", 3, 1_000_006), DeviceFacts("npu", "", 4, 30)]


@pytest.mark.parametrize(("count", "length", "is_possible"), [(256, 1024, True), (257, 1, False), (1, 1025, False)])
def test_a_library_has_at_most_256_devices_with_names_of_1024_bytes(
    other: Other, agent: Agent, count: int, length: int, is_possible: bool
) -> None:
    threading.Thread(target=lambda: other.answer(devices(*[(2, 31, b"d" * length, b"1")] * count))).start()
    if is_possible:
        assert len(agent.list_devices()) == count
    else:
        said = "lists 257 devices, at most 256" if count > 256 else "a text has 1025 bytes, at most 1024"
        with pytest.raises(NnapiError, match=said):
            agent.list_devices()


def test_an_error_is_cut(other: Other, agent: Agent) -> None:
    threading.Thread(target=lambda: other.answer(message(ERROR, struct.pack("<i", 4) + b"e" * 100_000))).start()
    with pytest.raises(BadDataError, match="^e{1024}$"):
        agent.ask(Ask.MODEL, b"")


def test_data_that_was_not_asked_for_is_not_read(other: Other, agent: Agent) -> None:
    other.answer(message(ANSWER, b"", bytes(65)))
    with pytest.raises(DriverDiedError, match="^phone sent garbage: a message of kind 0 has 0 and 65 bytes$"):
        agent.ask(Ask.RUN, b"", most=64)


def test_devices_are_listed_once(other: Other, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that takes long for each answer would else do so for each device."""
    other.answer(hello(), devices((3, 27, b"first", b"1"), (3, 27, b"second", b"1")))
    assert [driver.info.name for driver in list_devices("phone", "phone")] == ["phone-first", "phone-second"]
    assert [kind for kind, _, _ in other.read()] == [Ask.HELLO, Ask.DEVICES]


@pytest.mark.parametrize(
    ("type", "found"),
    [
        (1, DeviceTypeCode.DEVICE_OTHER),
        (2, DeviceTypeCode.DEVICE_CPU),
        (3, DeviceTypeCode.DEVICE_GPU),
        (4, DeviceTypeCode.DEVICE_ACCELERATOR),
        (5, DeviceTypeCode.DEVICE_OTHER),
        (0, DeviceTypeCode.DEVICE_OTHER),
    ],
)
@pytest.mark.parametrize(("code", "level"), [(27, 1), (31, 5), (1_000_006, 6), (1_000_008, 7)])
def test_a_device_is_described(
    other: Other, agent: Agent, type: int, found: DeviceTypeCode, code: int, level: int
) -> None:
    """Its level is at most that of the library's functions, here 7."""
    other.answer(devices((3, 27, b"first", b"1"), (type, code, b"second", b"2")))
    driver = ForeignDriver("phone", "/lib.so", 1, agent)
    assert driver.info[:4] == ("phone-second", "2", found, level)
    assert (driver.pid, driver.is_remote) == (55, True)
    driver.close()
    assert driver.pid is None


def test_a_device_that_is_not_there(other: Other, agent: Agent) -> None:
    other.answer(devices((3, 27, b"first", b"1")), devices((3, 26, b"first", b"1")))
    with pytest.raises(BadDataError, match="^/lib.so has 1 devices$"):
        ForeignDriver("phone", "/lib.so", 1, agent)
    with pytest.raises(UnavailableDeviceError, match="^/lib.so reports feature level 26, which NNAPI does not have$"):
        ForeignDriver("phone", "/lib.so", 0, agent)


@pytest.mark.parametrize(("deadline", "rest"), [(103, 3), (101, 1), (100, None), (99, None)])
def test_the_rest_of_a_deadline(monkeypatch: pytest.MonkeyPatch, deadline: int, rest: int | None) -> None:
    monkeypatch.setattr(agent_module, "time", SimpleNamespace(monotonic_ns=lambda: 100))
    if rest is None:
        with pytest.raises(MissedDeadlinePersistentError, match="^the time limit has passed$"):
            find_rest(deadline)
    else:
        assert find_rest(deadline) == rest
