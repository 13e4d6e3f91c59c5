"""Descriptors: only those are mapped that nobody can cut off, or that are files of everybody."""

import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nnapi.drivers.isolated import descriptors
from nnapi.drivers.isolated.descriptors import (
    is_sealed,
    memory_file,
    need_bell,
    need_constants,
    need_shared,
    need_socket,
    shared_file,
)
from nnapi.errors import BadDataError
from tests.waiting import count_descriptors


@pytest.fixture
def found(tmp_path: Path) -> Iterator[dict[str, int]]:
    (tmp_path / "file").write_bytes(bytes(100))
    ends = os.pipe()
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    stream = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    made = {
        "shared": shared_file(100, "test"),
        "constant": memory_file([bytes(100)]),
        "plain": os.memfd_create("test", os.MFD_ALLOW_SEALING),
        "file": os.open(tmp_path / "file", os.O_RDONLY),
        "null": os.open(os.devnull, os.O_RDWR),
        "pipe": ends[0],
        "bell": os.eventfd(0),
        "socket": pair[0].detach(),
        "stream": stream[0].detach(),
    }
    os.ftruncate(made["plain"], 100)
    yield made
    for descriptor in (*made.values(), ends[1]):
        os.close(descriptor)
    for each in (*pair, *stream):
        each.close()


@pytest.mark.parametrize(
    ("need", "good"),
    [
        (lambda file: need_shared(file, 100), {"shared", "constant"}),
        (lambda file: need_constants(file, 100), {"shared", "constant", "file"}),
        (need_bell, {"bell"}),
        (need_socket, {"socket"}),
    ],
)
def test_what_is_taken(found: dict[str, int], need: object, good: set[str]) -> None:
    taken = set()
    for name, descriptor in found.items():
        try:
            need(descriptor)  # type: ignore[operator]
            taken.add(name)
        except BadDataError:
            pass
    assert taken == good


def test_sizes(found: dict[str, int]) -> None:
    for size in (101, -1, 1 << 62):
        with pytest.raises(BadDataError, match=f"a file has 100 bytes, {size} were announced"):
            need_shared(found["shared"], size)
        with pytest.raises(BadDataError, match=f"a file has 100 bytes, {size} were announced"):
            need_constants(found["file"], size)


def test_seals(found: dict[str, int]) -> None:
    assert [name for name, file in found.items() if descriptors.is_sealed(file)] == ["shared", "constant"]
    for name in ("shared", "constant"):
        with pytest.raises(OSError, match="not permitted"):
            os.ftruncate(found[name], 10)
    os.pwrite(found["shared"], b"x", 5)
    with pytest.raises(OSError, match="not permitted"):
        os.pwrite(found["constant"], b"x", 0)


def test_a_file_of_memory_has_the_parts_in_order() -> None:
    file = memory_file([b"abc", np.array([1, 2], np.int16), bytearray(b"de")], "nnapi-test")
    assert os.pread(file, 20, 0) == b"abc\x01\x00\x02\x00de"
    assert os.readlink(f"/proc/self/fd/{file}").startswith("/memfd:nnapi-test")
    assert not os.get_inheritable(file)
    os.close(file)


@pytest.mark.parametrize("size", [0, 1, 4096, 1_000_001])
def test_parts_of_any_size_are_complete(size: int) -> None:
    long = np.arange(size, dtype=np.int16)
    file = memory_file([b"abcd", long, b"", long.data, b"efg"])
    assert os.pread(file, 5_000_000, 0) == b"abcd" + 2 * long.tobytes() + b"efg"
    os.close(file)


def test_a_file_that_cannot_be_filled_is_closed() -> None:
    before = count_descriptors()
    with pytest.raises(TypeError):
        memory_file(["text"])
    with pytest.raises(OSError, match="Invalid argument"):
        shared_file(-1, "test")
    assert count_descriptors() == before


def test_files_are_sealed_for_good(found: dict[str, int]) -> None:
    """Against shrinking, growing and further seals; constants against writing too."""
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    assert fcntl.fcntl(found["shared"], fcntl.F_GET_SEALS) == seals
    assert fcntl.fcntl(found["constant"], fcntl.F_GET_SEALS) == seals | fcntl.F_SEAL_WRITE
    assert [name for name, file in found.items() if is_sealed(file, fcntl.F_SEAL_WRITE)] == ["constant"]


def test_a_file_may_be_empty_or_longer_than_announced(found: dict[str, int]) -> None:
    for size in (0, 1, 99, 100):
        need_shared(found["shared"], size)
        need_constants(found["file"], size)


@pytest.mark.parametrize(("family", "type"), [(socket.AF_UNIX, socket.SOCK_DGRAM), (socket.AF_INET, socket.SOCK_DGRAM)])
def test_other_sockets_are_refused(family: int, type: int) -> None:
    with (
        socket.socket(family, type) as other,
        pytest.raises(BadDataError, match="^a socket is not one for packets between processes$"),
    ):
        need_socket(other.fileno())
