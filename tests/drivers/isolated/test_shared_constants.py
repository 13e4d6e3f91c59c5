"""Constants that the workers of a service map once."""

import fcntl
import gc
import hashlib
import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nnapi import Builder, Model, compile, tensor
from nnapi.drivers.isolated.descriptors import memory_file, shared_file
from nnapi.drivers.isolated.shared_constants import KEPT, LEAST, Offers, Shelf
from nnapi.errors import BadDataError
from nnapi.model.memory import mappings
from tests.drivers.isolated.service_cases import application, counted, pid_of, serving
from tests.waiting import comes_true, count_descriptors

BYTES = np.arange(LEAST, dtype=np.uint8)
X = np.ones(LEAST // 4, np.float32)


def adding(value: float) -> Model:
    """A model with a constant of LEAST bytes."""
    b = Builder("adding")
    x = b.input(tensor("float32", X.shape))
    b.output(b.add(x, np.full(X.shape, value, np.float32)))
    return b.finish()


def constants_of(pid: int) -> set[str]:
    """The inodes of the constants that a process has mapped."""
    return set(re.findall(r"(\d+) +/memfd:nnapi-constants", Path(f"/proc/{pid}/maps").read_text()))


@pytest.mark.slow
def test_equal_constants_are_mapped_once(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path) as process:
        before = counted(process.pid)
        with application(path) as first, application(path) as second, application(path) as third:
            one = compile(adding(1), first)
            same, other = compile(adding(1), second), compile(adding(2), second)
            (shared,) = constants_of(pid_of(first))
            assert shared in constants_of(pid_of(second))
            assert len(constants_of(pid_of(second))) == 2
            assert [float(each.run(X)[0][0]) for each in (one, same, other)] == [2, 2, 3]
            first.close()
            again = compile(adding(1), third)
            assert constants_of(pid_of(third)) == {shared}, "the second application's, as the first has gone"
            assert float(again.run(X)[0][0]) == 2
        assert comes_true(lambda: counted(process.pid) == before)


@pytest.mark.slow
def test_constants_that_are_released_are_not_kept_open(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with serving(path) as process, application(path) as device:
        before = counted(process.pid)
        with compile(adding(2), device):
            assert counted(process.pid) == before + 1
        gc.collect()
        assert comes_true(lambda: counted(process.pid) == before)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        yield ours, theirs


def plain() -> int:
    file = os.memfd_create("writable", os.MFD_ALLOW_SEALING)
    os.pwrite(file, BYTES.data, 0)
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    return file


OFFERED = {
    "the same": (lambda: memory_file([BYTES]), True),
    "others": (lambda: memory_file([BYTES[::-1].copy()]), False),
    "writable": (plain, False),
    "too short": (lambda: memory_file([BYTES[1:]]), False),
    "a device": (lambda: os.open("/dev/zero", os.O_RDONLY), False),
}


@pytest.mark.parametrize("kind", OFFERED)
def test_what_another_offers_is_compared(ends: tuple[socket.socket, socket.socket], kind: str) -> None:
    make, is_taken = OFFERED[kind]
    own, offered = memory_file([BYTES]), make()
    socket.send_fds(ends[1], [b"."], [offered])
    found = Shelf(ends[0]).map(LEAST, own)
    assert (found.view() == BYTES).all()
    (mapping,) = mappings([found.view()])
    assert mapping.file is not None
    assert os.fstat(offered if is_taken else own).st_ino in mapping.file.identity
    for file in (own, offered):
        os.close(file)


def test_what_may_change_or_is_small_is_not_offered(ends: tuple[socket.socket, socket.socket]) -> None:
    changing, small = shared_file(LEAST, "changing"), memory_file([BYTES[1:]])
    for size, file in ((LEAST, changing), (LEAST - 1, small)):
        assert len(Shelf(ends[0]).map(size, file).view()) == size
        os.close(file)
    with pytest.raises(BlockingIOError):
        ends[1].recv(1, socket.MSG_DONTWAIT)
    null = os.open(os.devnull, os.O_RDONLY)
    with pytest.raises(BadDataError, match="is not a file"):
        Shelf(ends[0]).map(LEAST, null)
    os.close(null)


def test_a_service_keeps_few_files_of_one_worker(ends: tuple[socket.socket, socket.socket]) -> None:
    before = len(os.listdir("/proc/self/fd"))
    offers, file = Offers(ends[0]), memory_file([b"x"])
    for number in range(KEPT + 2):
        socket.send_fds(ends[1], [bytes([number]) * 32], [file])
        assert offers.answer([offers])
        assert socket.recv_fds(ends[1], 1, 1)[:2] == (b".", [])
    assert len(os.listdir("/proc/self/fd")) == before + 1 + KEPT
    ends[1].send(bytes([1]) * 32 + b"-")
    assert offers.answer([offers])
    assert len(os.listdir("/proc/self/fd")) == before + KEPT
    for number in (1, 2):
        ends[1].send(bytes([number]) * 32)  # its descriptor was lost, as no more could be open
        assert offers.answer([offers])
    assert socket.recv_fds(ends[1], 1, 1)[:2] == (b".", [])
    _, (found,), _, _ = socket.recv_fds(ends[1], 1, 1)
    os.close(found)
    ends[1].close()
    assert not offers.answer([offers])
    offers.close()
    os.close(file)
    assert len(os.listdir("/proc/self/fd")) == before - 2


def test_the_digest_is_forgotten_with_the_constants(ends: tuple[socket.socket, socket.socket]) -> None:
    """BLAKE2b of 32 bytes; a minus behind it means that the worker has them no more."""
    file = memory_file([BYTES])
    ends[1].send(b".")
    made = Shelf(ends[0]).map(LEAST, file)
    digest = hashlib.blake2b(BYTES.tobytes(), digest_size=32).digest()
    message, (sent,), _, _ = socket.recv_fds(ends[1], 100, 1)
    assert (message, os.fstat(sent).st_ino) == (digest, os.fstat(file).st_ino)
    del made
    gc.collect()
    assert ends[1].recv(100, socket.MSG_DONTWAIT) == digest + b"-"
    for each in (file, sent):
        os.close(each)


def test_a_service_that_has_ended_shares_nothing(ends: tuple[socket.socket, socket.socket]) -> None:
    file = memory_file([BYTES])
    ends[1].close()
    assert (Shelf(ends[0]).map(LEAST, file).view() == BYTES).all()
    os.close(file)


def test_the_first_offer_is_answered_to_others(ends: tuple[socket.socket, socket.socket]) -> None:
    """And kept by each worker until that forgets it."""
    others = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(2)]
    offers = [Offers(ours) for ours, _ in (ends, *others)]
    sockets = [theirs for _, theirs in (ends, *others)]
    files = [memory_file([bytes([number])]) for number in range(3)]
    inodes = [os.fstat(file).st_ino for file in files]

    def offer(number: int, digest: bytes) -> list[int]:
        socket.send_fds(sockets[number], [digest], [files[number]])
        assert offers[number].answer(offers)
        message, found, _, _ = socket.recv_fds(sockets[number], 10, 2)
        assert message == b"."
        answered = [os.fstat(file).st_ino for file in found]
        for file in found:
            os.close(file)
        return answered

    same, other = bytes(32), bytes(31) + b"x"
    assert offer(0, same) == []
    assert offer(1, other) == []
    assert offer(1, same) == [inodes[0]]
    sockets[0].send(same + b"-")
    assert offers[0].answer(offers)
    assert offer(2, same) == [inodes[0]], "the second has it open"
    assert offer(2, other) == [inodes[1]]
    for each, theirs in zip(offers, sockets, strict=True):
        each.close()
        theirs.close()
    for file in files:
        os.close(file)


def test_a_worker_that_reads_no_answer_does_not_hold_up_the_service(ends: tuple[socket.socket, socket.socket]) -> None:
    """Nor one whose message has been read already."""
    offers, file = Offers(ends[0]), memory_file([b"x"])
    with pytest.raises(BlockingIOError):
        offers.answer([offers])
    before = count_descriptors()

    def flood() -> None:
        while True:
            socket.send_fds(ends[1], [bytes(32)], [file])
            offers.answer([])

    with pytest.raises(BlockingIOError):
        flood()
    assert count_descriptors() == before + 1, "only the first offer is kept"
    offers.close()
    os.close(file)
