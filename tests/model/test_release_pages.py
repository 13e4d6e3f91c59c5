"""Pages of mapped files that are given back, and the arrays that stay."""

import mmap
import os
from pathlib import Path

import numpy as np
import pytest

from nnapi.model.memory import Memory, release_pages

SIZE = 1 << 22


def resident(array: np.ndarray) -> int:
    """Bytes of the mapping around an array that are in memory of this process."""
    address = array.__array_interface__["data"][0]
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    for line in lines:
        bounds = line.split()[0].split("-")
        if len(bounds) == 2 and int(bounds[0], 16) <= address < int(bounds[1], 16):
            return next(int(text.split()[1]) * 1024 for text in lines if text.startswith("Rss:"))
    raise AssertionError("the array lies nowhere")


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="the system does not tell")
def test_pages_go_and_come_back(tmp_path: Path) -> None:
    data = np.random.default_rng(0).integers(0, 256, SIZE).astype(np.uint8)
    (tmp_path / "file").write_bytes(data.tobytes())
    memory = Memory.from_file(tmp_path / "file")
    views = [memory.view(0, SIZE).view(np.float32).reshape(-1, 4), memory.view(64, 64)]
    assert (memory.view() == data).all()
    assert resident(views[0]) >= SIZE
    release_pages(views)
    assert resident(views[0]) < SIZE / 4
    assert (memory.view() == data).all()


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps"), reason="the system does not tell")
def test_a_view_of_a_view_through_a_buffer_is_one_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(SIZE))
    content = Memory.from_file(tmp_path / "file").view().data.toreadonly()
    view: np.ndarray = np.ndarray((4, 4), np.float32, content, 64)
    assert not np.frombuffer(content, np.uint8).any()
    release_pages([view])
    assert resident(view) < SIZE / 4


def test_what_was_written_to_a_mapped_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(SIZE))
    with path.open("r+b") as file:
        memory = Memory.from_fd(SIZE, mmap.PROT_READ | mmap.PROT_WRITE, file.fileno())
    view = memory.view()
    view[:] = 7
    release_pages([view])
    assert (view == 7).all()


def test_other_memory_is_left_alone() -> None:
    private = mmap.mmap(-1, SIZE, mmap.MAP_PRIVATE)
    mapped = np.frombuffer(private, np.uint8)
    mapped[:] = 3
    plain = np.full(SIZE, 5, np.uint8)
    release_pages([mapped, plain, plain[::2], np.frombuffer(b"bytes", np.uint8)])
    assert (mapped == 3).all()
    assert (plain == 5).all()
