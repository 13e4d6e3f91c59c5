"""Descriptors: only those are mapped that nobody can cut off, or that are files of everybody."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from nnapi.drivers.isolated import descriptors
from nnapi.drivers.isolated.descriptors import (
    memory_file,
    need_bell,
    need_constants,
    need_shared,
    need_socket,
    shared_file,
)
from nnapi.errors import BadDataError


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
