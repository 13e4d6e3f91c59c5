"""Arithmetic of dimensions."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.errors import OpFailedError
from nnapi.model.operand import tensor
from nnapi.ops.shapes import (
    axis_of,
    broadcast,
    count_windows,
    count_windows_of_image,
    need_image,
    normalize_windows,
    same_padding,
)
from tests.ops.tensor_cases import quickly

small = st.integers(1, 6)
NAMES = ("x", "y")


def refuses(message: str) -> Any:
    return pytest.raises(OpFailedError, match=re.escape(message))


@quickly
@given(st.lists(st.sampled_from([1, 2, 3]), max_size=4), st.lists(st.sampled_from([1, 2, 3]), max_size=4))
def test_broadcast_is_numpys(a: list[int], b: list[int]) -> None:
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with refuses(f"x of shape {a} and y of shape {b} do not broadcast"):
            broadcast(NAMES, tuple(a), tuple(b))
    else:
        assert broadcast(NAMES, tuple(a), tuple(b)) == expected


def test_no_elements_stretch_like_any_dimension() -> None:
    assert broadcast(NAMES, (0, 2), (1, 1)) == (0, 2)
    assert broadcast(NAMES, (1,), (0,)) == (0,)
    with refuses("x of shape [0] and y of shape [2] do not broadcast"):
        broadcast(NAMES, (0,), (2,))


def test_axes() -> None:
    assert [axis_of(axis, 3) for axis in (0, 2, -1, -3)] == [0, 2, 2, 0]
    with refuses("dims is 3, must be in [-3, 3)"):
        axis_of(3, 3, "dims")
    with refuses("axis is -4, must be in [-3, 3)"):
        axis_of(-4, 3)


@pytest.mark.parametrize(
    ("dimension", "size", "stride", "dilation", "expected"),
    [(5, 3, 1, 1, (1, 1)), (6, 3, 2, 1, (0, 1)), (5, 2, 1, 1, (0, 1)), (4, 1, 3, 1, (0, 0)), (5, 3, 1, 2, (2, 2))],
)
def test_same_padding_literal(dimension: int, size: int, stride: int, dilation: int, expected: tuple[int, ...]) -> None:
    assert same_padding(dimension, size, stride, dilation) == expected


@quickly
@given(st.integers(1, 20), small, small, st.integers(1, 3))
def test_same_padding_gives_an_output_for_every_stride(dimension: int, size: int, stride: int, dilation: int) -> None:
    before, after = same_padding(dimension, size, stride, dilation)
    assert count_windows(dimension, size, stride, (before, after), dilation) == len(range(0, dimension, stride))
    assert 0 <= after - before <= 1


@quickly
@given(st.integers(0, 12), small, small, small, small, st.integers(1, 3))
def test_windows_counts_the_places_that_fit(
    dimension: int, size: int, stride: int, before: int, after: int, dilation: int
) -> None:
    cells = before + dimension + after
    fitting = [at for at in range(0, cells, stride) if at + (size - 1) * dilation < cells]
    assert count_windows(dimension, size, stride, (before, after), dilation) == len(fitting)


def test_slide() -> None:
    assert count_windows_of_image((5, 7), (3, 2), (1, 2)) == (3, 3)
    assert count_windows_of_image((5, 7), (3, 3), (1, 1), ((1, 1), (0, 0)), (1, 3)) == (5, 1)
    with refuses("no window of 3 × 1 fits input of 2 × 9 cells with pad_top 0, pad_bottom 0, pad_left 0, pad_right 0"):
        count_windows_of_image((2, 9), (3, 1), (1, 1))
    with refuses("no window of 5 × 7 fits input of 1 × 9 cells with pad_top 1, pad_bottom 2, pad_left 3, pad_right 4"):
        count_windows_of_image((1, 9), (3, 3), (1, 1), ((1, 2), (3, 4)), (2, 3))


def test_only_batches_may_be_none() -> None:
    assert need_image("input", tensor("float32", (0, 2, 3, 4))) == (0, 2, 3, 4)
    with refuses("input has shape [1, 0, 3, 4], only the number of batches may be 0"):
        need_image("input", tensor("float32", (1, 0, 3, 4)))


IMAGE = tensor("float32", (1, 5, 6, 1))
STRIDE = {"stride_w": 2, "stride_h": 1}


def test_spatial_reads_explicit_padding() -> None:
    pads = {"pad_left": 1, "pad_right": 2, "pad_top": 0, "pad_bottom": 1}
    arguments = {"input": IMAGE, **pads, **STRIDE}
    expected = {"input": IMAGE, "padding": ((0, 1), (1, 2)), "stride": (1, 2)}
    assert normalize_windows(dict(arguments), IMAGE, (2, 3)) == expected
    with refuses("pad_right is 2, must not be negative and be below the 2 cells that the window reaches"):
        normalize_windows(dict(arguments), IMAGE, (2, 2))
    assert normalize_windows(dict(arguments), IMAGE, (2, 2), (1, 2)) == expected  # dilated it reaches 3
    with refuses("pad_left is -1, must not be negative"):
        normalize_windows(arguments | {"pad_left": -1}, IMAGE, (2, 3))
    with refuses("pad_left is 3, must not be negative and be below the 3 cells that the window reaches"):
        normalize_windows(arguments | {"pad_left": 3}, IMAGE, (2, 3))


def test_spatial_reads_padding_schemes() -> None:
    assert normalize_windows({"padding_scheme": 1, **STRIDE}, IMAGE, (2, 3)) == {
        "padding": ((0, 1), (0, 1)),
        "stride": (1, 2),
    }
    assert normalize_windows({"padding_scheme": 2, **STRIDE}, IMAGE, (2, 3)) == {
        "padding": ((0, 0), (0, 0)),
        "stride": (1, 2),
    }
    with refuses("padding_scheme is 0, must be 1 (SAME) or 2 (VALID)"):
        normalize_windows({"padding_scheme": 0, **STRIDE}, IMAGE, (2, 3))
