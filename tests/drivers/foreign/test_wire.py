"""The bytes of messages between this package and an agent."""

import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from nnapi.drivers.foreign import wire
from nnapi.drivers.foreign.wire import (
    Answers,
    Ask,
    Garbage,
    Reader,
    Stall,
    Told,
    align,
    lay_out,
    pack_list,
    pack_text,
    pack_type,
)
from nnapi.model.operand import OperandType

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with one, other:
        yield one, other


def message(kind: int, head: bytes = b"", data: bytes = b"") -> bytes:
    return struct.pack("<IIQ", kind, len(head), len(data)) + head + data


def test_numbers_of_requests_and_answers() -> None:
    """As in native/agent/agent.h."""
    names = ["HELLO", "DEVICES", "CONSTANTS", "MODEL", "SUPPORTED", "COMPILE", "BURST", "RUN", "RELEASE"]
    assert [(each.name, each.value) for each in Ask] == [(name, number) for number, name in enumerate(names, 1)]
    assert [(each.name, each.value) for each in Told] == [("ANSWER", 0), ("ERROR", 1), ("ENDED", 2)]


@pytest.mark.parametrize(
    ("text", "packed"),
    [
        (b"", b"\0\0\0\0"),
        (b"a", b"\1\0\0\0a\0\0\0"),
        (b"abcd", b"\4\0\0\0abcd"),
        (b"abcde", b"\5\0\0\0abcde\0\0\0"),
    ],
)
def test_a_text_is_padded_to_words(text: bytes, packed: bytes) -> None:
    assert pack_text(text) == packed
    reader = Reader(packed + b"\7\0\0\0")
    assert reader.read_text() == text.decode()
    assert reader.read_word() == 7
    assert reader.rest() == ""


def test_lists_and_types() -> None:
    assert pack_list([]) == b"\0\0\0\0"
    assert pack_list([5, 1 << 31]) == b"\2\0\0\0\5\0\0\0\0\0\0\x80"
    type = OperandType(5, (2, 3), 0.5, -7)
    assert struct.unpack("<ifiIII", pack_type(type)) == (5, 0.5, -7, 2, 2, 3)


def test_a_head_is_read_in_order() -> None:
    reader = Reader(struct.pack("<IQi", 3, 1 << 40, -5) + "rest ä".encode())
    assert reader.read_word() == 3
    assert reader.read("Qi") == (1 << 40, -5)
    assert reader.rest() == "rest ä"
    assert reader.read("7s") == ("rest ä".encode(),)
    with pytest.raises(Garbage, match="^a message is too short$"):
        reader.read("B")
    with pytest.raises(Garbage, match="^a message is too short$"):
        Reader(b"\2\0\0\0a\0\0").read_text()


@pytest.mark.parametrize(("size", "aligned"), [(0, 0), (1, 64), (63, 64), (64, 64), (65, 128)])
def test_data_begins_at_multiples_of_64(size: int, aligned: int) -> None:
    assert align(size) == aligned


def test_the_layout_of_data() -> None:
    arrays = [np.zeros(size, np.uint8) for size in (64, 1, 0, 65, 3)]
    offsets, parts, size = lay_out(arrays)
    assert (offsets, size) == ([0, 64, 128, 128, 256], 259)
    assert [len(part) for part in parts] == [64, 1, 63, 0, 65, 63, 3]
    assert lay_out([]) == ([], [], 0)


@pytest.mark.parametrize("most", [1, 5, 17, 1 << 20])
@pytest.mark.parametrize("parts", [0, 3, 600])
def test_a_message_that_is_sent_in_pieces(most: int, parts: int) -> None:
    """The system may take less than it is given, and at most 512 buffers at once."""

    class Slow:
        content = b""
        calls = 0

        def sendmsg(self, buffers: Any) -> int:
            assert 0 < len(buffers) <= 512
            taken = b"".join(bytes(each) for each in buffers)[:most]
            self.content += taken
            self.calls += 1
            return len(taken)

    slow = Slow()
    data = [np.full(number % 3, number % 251, np.uint8) for number in range(parts)]
    size = sum(each.nbytes for each in data)
    wire.send(slow, Ask.RUN, b"head", data, size)  # type: ignore[arg-type]
    assert slow.content == message(8, b"head", b"".join(each.tobytes() for each in data))
    if most > size + 20:
        assert slow.calls == (1 if parts < 510 else 2)


@pytest.mark.parametrize("split", [1, 15, 16, 17, 19, 20, 25, 4000])
def test_answers_that_come_together_or_in_pieces(pair: Pair, split: int) -> None:
    ours, theirs = pair
    answers = Answers(ours)
    large = bytes(range(256)) * 40
    content = message(0, b"head", b"data") + message(1, b"why") + message(2, b"", large) + message(0)
    theirs.sendall(content[:split])
    inner, rest = answers._connection, [content[split:]]

    class Late:
        """Lets the rest of the messages come after the first read."""

        def recv_into(self, *args: Any) -> int:
            count = inner.recv_into(*args)
            while rest:
                theirs.sendall(rest.pop())
            return count

    answers._connection = Late()  # type: ignore[assignment]
    soon = time.monotonic() + 60
    found = [answers.receive(soon, len(large)) for _ in range(4)]
    assert [(each.kind, each.head.content, each.data.tobytes()) for each in found if each] == [
        (Told.ANSWER, b"head", b"data"),
        (Told.ERROR, b"why", b""),
        (Told.ENDED, b"", large),
        (Told.ANSWER, b"", b""),
    ]
    for seconds in (0, -1):
        with pytest.raises(TimeoutError):
            answers.receive(time.monotonic() + seconds)
    theirs.close()
    assert answers.receive() is None


@pytest.mark.parametrize("cut", [1, 15, 16, 18, 20, 23])
def test_a_stream_that_ends_within_a_message(pair: Pair, cut: int) -> None:
    ours, theirs = pair
    theirs.sendall(message(0, b"head", b"data")[:cut])
    theirs.close()
    assert Answers(ours).receive(most=4) is None


@pytest.mark.parametrize(
    ("kind", "head", "size", "is_possible"),
    [
        (3, 0, 0, False),
        (0, (64 << 20) + 1, 0, False),
        (0, 0, (1 << 30) + 1, False),
        (0, 64 << 20, 0, True),
        (2, 0, 1 << 30, True),
    ],
)
def test_lengths_of_an_answer(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, kind: int, head: int, size: int, is_possible: bool
) -> None:
    ours, theirs = pair
    answers, taken = Answers(ours), list[int]()
    monkeypatch.setattr(answers, "_take", lambda size, end: taken.append(size))
    theirs.sendall(struct.pack("<IIQ", kind, head, size))
    if is_possible:
        assert answers.receive(most=1 << 30) is None
        assert taken == [16 + head + size]
    else:
        with pytest.raises(Garbage, match=f"^a message of kind {kind} has {head} and {size} bytes$"):
            answers.receive(most=1 << 30)


class Ticks:
    """A clock that goes on by a second for each call of the system that has nothing to do, as after TICK."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def wait(self) -> None:
        self.now += 1
        raise BlockingIOError


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> Ticks:
    made = Ticks()
    monkeypatch.setattr(wire, "time", made)
    return made


class Dripping:
    """A connection that brings a byte, or takes one, every ``pause`` seconds."""

    def __init__(self, ticks: Ticks, content: bytes = b"", pause: int = 3) -> None:
        self._ticks, self.rest, self._pause, self._calls = ticks, content, pause, 0

    def _drip(self) -> None:
        self._calls += 1
        if self._calls % self._pause:
            self._ticks.wait()

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0) -> int:
        self._drip()
        buffer[:1], self.rest = self.rest[:1], self.rest[1:]
        return 1

    def sendmsg(self, buffers: Any) -> int:
        self._drip()
        return 1


def receive_from(pair: Pair, connection: Dripping) -> Answers:
    answers = Answers(pair[0])
    answers._connection = connection  # type: ignore[assignment]
    return answers


def test_calls_of_the_system_return_within_a_second(pair: Pair) -> None:
    """Then the time is checked."""
    Answers(pair[0])
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        assert struct.unpack("@ll", pair[0].getsockopt(socket.SOL_SOCKET, option, 16)) == (1, 0)


@pytest.mark.parametrize("size", [0, 1 << 20])
def test_an_answer_that_drips_is_given_up(pair: Pair, ticks: Ticks, size: int) -> None:
    """15 s after its first byte and a second per 64 KiB, however long the pauses are."""
    content = message(0, b"h" * 64, bytes(size))
    answers = receive_from(pair, Dripping(ticks, content))
    seconds = 15 if not size else 31
    if size:
        answers._buffer[:16], answers._held = content[:16], 16
    with pytest.raises(Stall, match=f"^an answer of {16 if not size else len(content)} bytes .* after {seconds} s$"):
        answers.receive(most=size)
    assert seconds <= ticks.now - 100 <= seconds + 4


def test_a_request_that_is_not_read_is_given_up(ticks: Ticks) -> None:
    with pytest.raises(Stall, match="^a request of 116 bytes was not complete after 15 s$"):
        wire.send(Dripping(ticks), Ask.RUN, b"h" * 100)  # type: ignore[arg-type]


def test_an_answer_and_a_request_end_with_their_question(pair: Pair, ticks: Ticks) -> None:
    with pytest.raises(TimeoutError):
        wire.send(Dripping(ticks), Ask.RUN, b"h" * 100, end=107.0)  # type: ignore[arg-type]
    assert 107 < ticks.now <= 110
    pair[1].sendall(b"unread, so that poll returns")
    answers = receive_from(pair, Dripping(ticks, message(0, b"head"), pause=1 << 30))
    with pytest.raises(TimeoutError):
        answers.receive(end=115.0)
    assert ticks.now == 116.0
    answers = receive_from(pair, Dripping(ticks, message(0, b"head")))
    with pytest.raises(TimeoutError):
        answers.receive(end=120.0)
    assert 120 < ticks.now <= 124


def test_the_pause_before_an_answer_has_no_limit_of_its_own(pair: Pair, ticks: Ticks) -> None:
    """The agent computes meanwhile."""
    ours, theirs = pair
    pauses = [1] * 1000

    class Late:
        def recv_into(self, buffer: Any, size: int = 0, flags: int = 0) -> int:
            if pauses:
                pauses.pop()
                ticks.wait()
            return ours.recv_into(buffer)

    answers = receive_from(pair, Late())  # type: ignore[arg-type]
    theirs.sendall(message(0, b"head"))
    found = answers.receive()
    assert found is not None
    assert found.head.content == b"head"
