"""Messages arrive as they were sent, and whatever else arrives is a violation and nothing worse."""

import os
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.drivers.isolated import protocol
from nnapi.drivers.isolated.descriptors import memory_file
from nnapi.drivers.isolated.protocol import HEADER, MAGIC, VERSION, Violation, receive, refuse, send
from tests.waiting import comes_true, count_descriptors

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with one, other:
        yield one, other


@pytest.mark.parametrize("length", [0, 10, protocol.PACKET, 3 * protocol.PACKET])
def test_a_message_arrives(pair: Pair, length: int) -> None:
    body = {"kind": "test", "text": "ä" * length, "numbers": [1, -2.5, None, 1e30]}
    send(pair[0], body)
    message = receive(pair[1])
    assert message == (body, [])


@pytest.mark.parametrize("length", [0, 10 * protocol.PACKET])
def test_descriptors_arrive(pair: Pair, length: int) -> None:
    file = memory_file([b"hello ", b"world"])
    send(pair[0], {"text": "x" * length}, [file, file])
    os.close(file)
    message = receive(pair[1])
    assert message is not None
    assert len(message.descriptors) == 2
    assert not os.get_inheritable(message.descriptors[0])
    assert os.pread(message.descriptors[0], 13, 0) == b"hello world"
    message.close()
    message.close()
    assert message.descriptors == []


def test_the_end_is_no_message(pair: Pair) -> None:
    pair[0].close()
    assert receive(pair[1]) is None


@pytest.mark.parametrize(
    ("packet", "message"),
    [
        (b"x", "1 bytes is not a message"),
        (HEADER.pack(b"HTTP", VERSION, 0, 2) + b"{}", "does not begin"),
        (HEADER.pack(MAGIC, VERSION + 1, 0, 2) + b"{}", f"version {VERSION + 1}, ours is {VERSION}"),
        (HEADER.pack(MAGIC, 3, 0, 2) + b"{}", "version 3, ours is 4"),
        (HEADER.pack(MAGIC, VERSION, 0, 3) + b"{}", "2 bytes where it says 3"),
        (HEADER.pack(MAGIC, VERSION, 0, 2) + b"{]", "not JSON"),
        (HEADER.pack(MAGIC, VERSION, 0, 2) + b"[]", "not an object"),
        (HEADER.pack(MAGIC, VERSION, 0, 2) + b"\xff\xff", "not JSON"),
        (HEADER.pack(MAGIC, VERSION, protocol.IN_FILE, 100), "without its file"),
        (HEADER.pack(MAGIC, VERSION, 0, 30_000) + b"[" * 30_000, "not JSON"),
        (
            HEADER.pack(MAGIC, VERSION, protocol.IN_FILE, protocol.MOST + 1),
            "1048577 bytes, at most 1048576 are possible",
        ),
        (bytes(HEADER.size + protocol.PACKET + 1), "too long"),
    ],
)
def test_violations(pair: Pair, packet: bytes, message: str) -> None:
    pair[0].send(packet)
    with pytest.raises(Violation, match=message):
        receive(pair[1])


def test_a_body_in_a_file_that_is_none(pair: Pair) -> None:
    """A pipe cannot be read at a place, and a file may be shorter than is said; neither stays open."""
    before = count_descriptors()
    ends = os.pipe()
    socket.send_fds(pair[0], [HEADER.pack(MAGIC, VERSION, protocol.IN_FILE, 5)], [ends[0]])
    with pytest.raises(Violation, match="cannot be read"):
        receive(pair[1])
    short = memory_file([b"{}"])
    socket.send_fds(pair[0], [HEADER.pack(MAGIC, VERSION, protocol.IN_FILE, 5)], [short, *ends])
    with pytest.raises(Violation, match="2 bytes where it says 5"):
        receive(pair[1])
    for descriptor in (*ends, short):
        os.close(descriptor)
    assert comes_true(lambda: count_descriptors() <= before)


@pytest.mark.slow
@given(st.binary(max_size=100), st.booleans())
def test_nothing_but_violations_comes_of_noise(noise: bytes, has_header: bool) -> None:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with one, other:
        one.send((HEADER.pack(MAGIC, VERSION, 0, len(noise)) if has_header else b"") + noise)
        with suppress(Violation):
            message = receive(other)
            assert message is None or isinstance(message.body, dict)


def test_messages_have_a_bound(pair: Pair) -> None:
    with pytest.raises(Violation, match="a message has 1048587 bytes, at most 1048576 are possible"):
        send(pair[0], {"text": "x" * (protocol.MOST)})
    send(pair[0], {"text": "x" * (protocol.MOST - 11)})
    assert receive(pair[1]) is not None


def test_a_refusal_is_heard(pair: Pair) -> None:
    """A refusal is received although the other side ignored three messages."""
    for _ in range(3):
        send(pair[0], {"kind": "hello"}, [0, 1])
    refuse(pair[1], {"error": "no"})
    with pytest.raises(BrokenPipeError):
        send(pair[0], {"kind": "hello"})
    assert receive(pair[0]) == ({"error": "no"}, [])
    assert receive(pair[0]) is None


def test_the_bytes_of_a_message(pair: Pair) -> None:
    """NNIP, version 4, whether the body is in a file, and the body's length, in little endian."""
    send(pair[0], {"a": [1, 2]})
    assert pair[1].recv(100) == b"NNIP\4\0\0\0\x0b\0\0\0" + b'{"a":[1,2]}'
    send(pair[0], {"a": "x" * (1 << 15)})
    header, (file,), _, _ = socket.recv_fds(pair[1], 100, 1)
    assert header == b"NNIP\4\0\1\0" + (8 + (1 << 15)).to_bytes(4, "little")
    assert os.pread(file, 1 << 16, 0) == b'{"a":"' + b"x" * (1 << 15) + b'"}'
    os.close(file)


@pytest.mark.parametrize(("length", "is_in_file"), [((1 << 15) - 8, False), ((1 << 15) - 7, True)])
def test_a_body_of_more_than_32_kib_is_in_a_file(pair: Pair, length: int, is_in_file: bool) -> None:
    send(pair[0], {"a": "x" * length})
    packet, files, _, _ = socket.recv_fds(pair[1], 1 << 16, 1)
    assert (len(files), len(packet)) == ((1, 12) if is_in_file else (0, 12 + (1 << 15)))
    for file in files:
        os.close(file)


@pytest.mark.parametrize(("count", "is_possible"), [(64, True), (65, True), (66, False)])
def test_a_message_has_at_most_64_descriptors_and_its_file(pair: Pair, count: int, is_possible: bool) -> None:
    before = count_descriptors()
    null = os.open(os.devnull, os.O_RDONLY)
    send(pair[0], {}, [null] * count)
    os.close(null)
    if is_possible:
        message = receive(pair[1])
        assert message is not None
        assert len(message.descriptors) == count
        message.close()
    else:
        with pytest.raises(Violation, match="more descriptors than may be open"):
            receive(pair[1])
    assert count_descriptors() == before


def test_unknown_flags_are_ignored(pair: Pair) -> None:
    pair[0].send(HEADER.pack(MAGIC, VERSION, 2, 2) + b"{}")
    assert receive(pair[1]) == ({}, [])
