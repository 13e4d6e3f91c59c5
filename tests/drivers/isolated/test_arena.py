"""Arenas: arrays where both sides see them, never beyond the end."""

import os

import numpy as np
import pytest

from nnapi.drivers.isolated.arena import Arena, copy_in, new_arena, round_up
from nnapi.errors import BadDataError

FLOAT = np.dtype(np.float32)


def test_both_sides_see_the_same() -> None:
    with new_arena(256) as (ours, descriptor):
        theirs = Arena(descriptor, 256)
    ours.view(64, (2, 3), FLOAT)[...] = 7
    assert (theirs.view(64, (6,), FLOAT) == 7).all()


@pytest.mark.parametrize(
    ("offset", "shape"), [(256, (1,)), (192, (17,)), (-64, (1,)), (3, (1,)), (0, (-1,)), (0, (2**40, 2**40))]
)
def test_nothing_lies_outside(offset: int, shape: tuple[int, ...]) -> None:
    with new_arena(256) as (arena, _), pytest.raises(BadDataError, match="is not in an arena of 256 bytes"):
        arena.view(offset, shape, FLOAT)


def test_scalars_and_nothing() -> None:
    with new_arena(64) as (arena, _):
        assert arena.view(0, (), FLOAT).shape == ()
        assert arena.view(64, (0, 3), FLOAT).shape == (0, 3)


def test_one_of_changing_size_is_refused() -> None:
    """Reading memory that the other side has truncated would end the process."""
    file = os.memfd_create("test")
    os.ftruncate(file, 100)
    with pytest.raises(BadDataError, match="not sealed against shrinking"):
        Arena(file, 100)
    os.close(file)


def test_a_size_that_the_file_has_not() -> None:
    with (
        new_arena(64) as (_, descriptor),
        pytest.raises(BadDataError, match="a file has 64 bytes, 8192 were announced"),
    ):
        Arena(descriptor, 8192)


def test_arrays_go_in_together_or_not_at_all() -> None:
    arrays = [np.arange(5, dtype=np.int8), None, np.array([[1, 2], [3, 4]], np.float32).T]
    assert copy_in(None, arrays, 0) == (None, 128)  # type: ignore[arg-type]
    with new_arena(256) as (arena, _):
        assert copy_in(arena, [np.zeros(300, np.int8)], 0) == (None, round_up(300))
        places, free = copy_in(arena, arrays, 64)  # type: ignore[arg-type]
        assert (places, free) == ([(64, (5,)), None, (128, (2, 2))], 192)
        assert arena.view(128, (2, 2), FLOAT).tolist() == [[1, 3], [2, 4]]
