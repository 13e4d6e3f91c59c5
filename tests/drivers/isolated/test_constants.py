"""Constants by descriptor: those of files are not copied, those that are changed or lie nowhere are."""

import os
from pathlib import Path

import numpy as np
import pytest

from nnapi.drivers.isolated.arena import ALIGNED
from nnapi.drivers.isolated.constants import lay_out, map_constants
from nnapi.errors import BadDataError
from nnapi.model.memory import Mapping, Memory, mappings
from nnapi.model.operand import Array

VALUES = np.arange(4096, dtype=np.uint8)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "constants"
    path.write_bytes(bytes(1000) + VALUES.tobytes())
    return path


def through(arrays: list[Array]) -> tuple[list[Array], int]:
    """The constants as the other side has them, and how many files there were."""
    layout, descriptors = lay_out(arrays)
    constant = map_constants(layout, descriptors)
    found = [constant(number) for number in range(len(arrays))]
    for descriptor in descriptors:
        os.close(descriptor)
    return found, len(descriptors)


def owner(array: Array) -> Mapping:
    (found,) = mappings([array])
    return found


def test_a_file_is_mapped_once(file: Path) -> None:
    memory = Memory.from_file(file)
    parts = [memory.view(1000, 300).view(np.float32), memory.view(1300, 2796)]
    memory.close()  # a model does not need its file open
    found, count = through(parts)
    assert count == 1
    assert np.concatenate(found).tolist() == VALUES[:3096].tolist()
    assert owner(found[0]) is owner(found[1])
    assert owner(found[0]).file == owner(parts[0]).file


def test_what_begins_within_a_file(file: Path) -> None:
    """A mapping begins at a page, an array anywhere behind."""
    big = file.with_name("big")
    big.write_bytes(bytes(5000) + VALUES.tobytes())
    with open(big, "rb") as opened:
        view = Memory.from_fd(4096, 1, opened.fileno(), 5000).view(8, 1000)
    found, _ = through([view])
    assert found[0].tolist() == VALUES[8:1008].tolist()


@pytest.mark.parametrize("change", ["written", "removed", "replaced"])
def test_a_file_that_is_another_by_now_is_copied(file: Path, change: str) -> None:
    view = Memory.from_file(file).view(1000)
    if change == "written":
        os.utime(file, (1, 1))
    elif change == "removed":
        file.unlink()
    else:
        file.rename(file.with_name("old"))
        file.write_bytes(bytes(file.with_name("old").stat().st_size))
    found, count = through([view])
    assert count == 1
    assert found[0].tolist() == VALUES.tolist()
    assert owner(found[0]).file != owner(view).file


def test_others_share_a_file_of_memory(file: Path) -> None:
    view = Memory.from_file(file).view(1000)
    arrays = [
        np.array([[1, 2], [3, 4]], np.float32).T,
        view,
        np.array(7, np.int32),
        view[:10],
        np.zeros((0,), np.uint8),
    ]
    found, count = through(arrays)
    assert count == 2
    assert [array.tobytes() for array in found] == [array.tobytes() for array in arrays]
    assert not found[0].flags.writeable
    assert found[0].ctypes.data % ALIGNED == 0
    assert owner(found[0]) is owner(found[2]) is owner(found[3]), "what is small is not worth a file"


def test_nothing_is_nothing() -> None:
    assert through([]) == ([], 0)


def test_memory_that_its_owner_could_cut_off_is_refused() -> None:
    layout, descriptors = lay_out([VALUES.copy()])
    plain = os.memfd_create("constants", os.MFD_ALLOW_SEALING)
    os.ftruncate(plain, 1 << 16)
    with pytest.raises(BadDataError, match="not sealed against shrinking"):
        map_constants(layout, [plain])
    for descriptor in (plain, *descriptors):
        os.close(descriptor)


@pytest.mark.parametrize("place", [[0, 10, 4090], [0, -1, 5], [0, 0, -1]])
def test_a_place_outside_its_file(place: list[int]) -> None:
    layout, descriptors = lay_out([VALUES.copy()])
    with pytest.raises(BadDataError, match="constant 0 is not in its file"):
        map_constants({**layout, "locations": [place]}, descriptors)(0)
    with pytest.raises(BadDataError, match="0 files came, 1 are described"):
        map_constants(layout, [])
    os.close(descriptors[0])


@pytest.mark.parametrize(("count", "in_files"), [(62, 62), (63, 63), (64, 63), (66, 63)])
def test_files_that_do_not_fit_a_message_are_copied(tmp_path: Path, count: int, in_files: int) -> None:
    """A message has 64 descriptors, of which one is for the copies."""
    views = []
    for number in range(count):
        (tmp_path / str(number)).write_bytes(bytes([number]) * 300)
        views.append(Memory.from_file(tmp_path / str(number)).view())
    found, files = through([*views, np.array([1], np.uint8)])
    assert files == in_files + 1
    assert [array.tobytes() for array in found[:-1]] == [bytes([number]) * 300 for number in range(count)]
    assert found[-1].tolist() == [1]


@pytest.mark.parametrize(("length", "is_mapped"), [(256, False), (257, True)])
def test_small_constants_are_copied(file: Path, length: int, is_mapped: bool) -> None:
    view = Memory.from_file(file).view(1000, length)
    (found,), _ = through([view])
    assert found.tobytes() == VALUES[:length].tobytes()
    assert (owner(found).file == owner(view).file) is is_mapped


def test_the_layout_of_constants(file: Path) -> None:
    """File, offset and length of each; -1 is the last file, where each begins at a multiple of 64."""
    memory = Memory.from_file(file)
    strided = np.arange(600, dtype=np.uint8)[::2]
    arrays = [np.zeros(65, np.uint8), memory.view(1500, 700), np.zeros((0,), np.float32), strided, memory.view(1000)]
    layout, descriptors = lay_out(arrays)
    assert layout["locations"] == [[-1, 0, 65], [0, 1500, 700], [-1, 128, 0], [-1, 128, 300], [0, 1000, 4096]]
    assert layout["sizes"] == [5096, 128 + 320]
    for descriptor in descriptors:
        os.close(descriptor)
