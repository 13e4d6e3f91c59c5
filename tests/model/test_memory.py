"""Memories: what is mapped, when, and what cannot be."""

import mmap
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from nnapi import Memory
from nnapi.errors import BadDataError, OpFailedError, UnmappableError
from nnapi.model.memory import FileName
from nnapi.model.operand import Array
from tests.waiting import count_descriptors


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(100)))
    return path


def opened(path: Path, size: int, protect: int = mmap.PROT_READ, offset: int = 0) -> Memory:
    with path.open("rb") as file:
        return Memory.from_fd(size, protect, file.fileno(), offset)


def test_the_descriptor_is_duplicated_and_any_offset_can_be_mapped(file: Path) -> None:
    memory = opened(file, 10, offset=37)
    assert memory.view().tolist() == list(range(37, 47))
    assert memory.view(2, 3).tolist() == [39, 40, 41]
    assert not memory.view().flags.writeable
    assert np.shares_memory(memory.view(), memory.view())


def test_a_whole_file(file: Path) -> None:
    memory = Memory.from_file(file)
    assert (memory.size, memory.writable) == (100, False)
    assert repr(memory) == "<nnapi.Memory of 100 bytes over a file>"


@pytest.mark.parametrize("kind", ["FIFO", "device", "link to a FIFO"])
def test_a_file_that_cannot_be_mapped_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/zero")
    if kind != "device":
        path = tmp_path / "fifo"
        os.mkfifo(path)
    if kind == "link to a FIFO":
        path = tmp_path / "link"
        path.symlink_to("fifo")
    before = count_descriptors()
    with pytest.raises(OSError, match="it is not a regular file"):
        Memory.from_file(path)
    assert count_descriptors() == before


def test_an_array_is_shared() -> None:
    array = np.zeros(4, np.float32)
    memory = Memory.from_array(array)
    memory.view(4, 4)[:] = np.array([7], np.float32).view(np.uint8)
    assert array.tolist() == [0, 7, 0, 0]
    array.flags.writeable = False
    assert (memory.writable, Memory.from_array(array).writable) == (True, False)
    with pytest.raises(BadDataError, match="needs a C-contiguous array"):
        Memory.from_array(np.zeros((4, 4))[:, 1])


@pytest.mark.parametrize("fd", [-1, 1 << 20, 1 << 40])
def test_rule_144_a_descriptor_that_cannot_be_duplicated(fd: int) -> None:
    with pytest.raises(OpFailedError, match=f"file descriptor {fd} cannot be duplicated"):
        Memory.from_fd(4, mmap.PROT_READ, fd)


def test_rule_144_size_offset_and_protection_show_when_the_file_is_mapped(file: Path) -> None:
    for size, protect, offset, message in (
        (101, mmap.PROT_READ, 0, "the file is too short"),
        (10, mmap.PROT_READ, 91, "the file is too short"),
        (10, 0, 0, "the memory may be neither read nor written"),
        (10, mmap.PROT_WRITE, 0, "cannot be mapped"),  # the descriptor is for reading
    ):
        memory = opened(file, size, protect, offset)
        with pytest.raises(UnmappableError, match=message):
            memory.view()


def test_other_processes_open_a_whole_mapped_file_until_it_is_closed(file: Path) -> None:
    memory = opened(file, 10)
    assert memory.path
    assert Path(memory.path).read_bytes() == bytes(range(100))
    assert opened(file, 10, offset=1).path is None
    memory.close()
    assert memory.path is None


def test_the_name_of_a_removed_file_opens_nothing(file: Path) -> None:
    with file.open("rb") as opened_file:
        name = FileName.of(opened_file.fileno())
    assert name is not None
    file.unlink()
    assert name.open() is None


def test_a_memory_that_was_closed_maps_nothing_else(file: Path, tmp_path: Path) -> None:
    memory, mapped = opened(file, 10), opened(file, 10)
    view = mapped.view()
    with memory, mapped:
        pass
    other = os.open(tmp_path, os.O_RDONLY)  # takes the number that became free
    try:
        with pytest.raises(UnmappableError, match="the memory has been closed"):
            memory.view()
        assert view.tolist() == list(range(10))
    finally:
        os.close(other)


def test_regions() -> None:
    memory = Memory.from_array(np.zeros(10, np.uint8))
    for offset, length in ((0, 11), (10, 1), (-1, 2), (3, -1), ((1 << 64) - 1, 2)):
        with pytest.raises(BadDataError, match=f"region of {length} bytes at offset {offset} is not inside"):
            memory.view(offset, length)
    assert memory.view(10, 0).size == 0


def test_a_descriptor_is_mapped_from_its_beginning_by_default(file: Path) -> None:
    with file.open("rb") as source:
        memory = Memory.from_fd(4, mmap.PROT_READ, source.fileno())
    assert memory.view().tolist() == [0, 1, 2, 3]


def test_a_name_opens_its_file_and_nothing_that_replaced_it(file: Path) -> None:
    with file.open("rb") as source:
        name = FileName.of(source.fileno())
    opened_again = name.open()
    try:
        assert os.pread(opened_again, 3, 50) == bytes([50, 51, 52])
        assert not os.get_inheritable(opened_again)
    finally:
        os.close(opened_again)
    before = count_descriptors()
    file.write_bytes(bytes(99))
    assert name.open() is None
    assert count_descriptors() == before
    assert FileName.of(-1) is None


def test_threads_that_need_a_memory_at_once_share_its_mapping(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    make = Memory._map

    def map_slowly(memory: Memory) -> Array:
        made.append(1)
        time.sleep(0.05)
        return make(memory)

    monkeypatch.setattr(Memory, "_map", map_slowly)
    memory = Memory.from_file(file)
    threads = [threading.Thread(target=memory.view) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
