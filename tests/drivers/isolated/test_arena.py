"""Arenas: arrays where both sides see them, never beyond the end."""

import os

import numpy as np
import pytest

from nnapi import Builder, tensor
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


def test_an_array_may_end_with_its_arena() -> None:
    """And begin with it, in any type."""
    with new_arena(320) as (arena, _):
        arena.view(0, (320,), np.dtype(np.uint8))[...] = np.arange(320) % 251
        for offset, shape, dtype in ((256, (2, 8), FLOAT), (0, (5, 2, 8), FLOAT), (192, (16,), np.dtype(np.float64))):
            found = arena.view(offset, shape, dtype)
            assert (found.shape, found.dtype) == (shape, dtype)
            expected = (np.arange(320) % 251).astype(np.uint8)[offset : offset + found.nbytes]
            assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("size", [0, -1])
def test_an_arena_has_a_positive_size(size: int) -> None:
    with new_arena(1) as (_, descriptor):
        assert Arena(descriptor, 1).size == 1
        with pytest.raises(BadDataError, match=f"^an arena of {size} bytes$"):
            Arena(descriptor, size)


@pytest.mark.parametrize(("nbytes", "rounded"), [(0, 0), (1, 64), (63, 64), (64, 64), (65, 128), (300, 320)])
def test_arrays_begin_at_multiples_of_64(nbytes: int, rounded: int) -> None:
    assert round_up(nbytes) == rounded


def test_views_of_a_model_s_inputs_and_outputs() -> None:
    b = Builder("two")
    x, y = b.input(tensor("float32", (5,))), b.input(tensor("quant8_asymm_signed", (3, 2), 0.5, 1))
    b.output(b.relu(y))
    b.output(b.reshape(x, [5, 1]))
    model = b.finish()
    with new_arena(256) as (arena, _):
        inputs, outputs = arena.views(model, [(0, (5,)), (64, (3, 2))], [(128, (3, 2)), (192, (5, 1))])
        assert [(each.shape, each.dtype) for each in inputs] == [((5,), np.float32), ((3, 2), np.int8)]
        assert [(each.shape, each.dtype) for each in outputs] == [((3, 2), np.int8), ((5, 1), np.float32)]
        first, second, third, fourth = (each.ctypes.data for each in (*inputs, *outputs))
        assert (second - first, third - first, fourth - first) == (64, 128, 192)


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
        assert arena.view(64, (5,), np.dtype(np.int8)).tolist() == [0, 1, 2, 3, 4]
        assert copy_in(arena, [np.zeros(64, np.int8)], 192) == ([(192, (64,))], 256), "it is full now"
        assert copy_in(arena, [np.zeros(65, np.int8)], 192) == (None, 320)
        assert copy_in(arena, [], 0) == ([], 0)
