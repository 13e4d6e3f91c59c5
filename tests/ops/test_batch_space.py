"""BATCH_TO_SPACE_ND, SPACE_TO_BATCH_ND."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import (
    REALS,
    assert_same,
    flag,
    floats,
    ints,
    level,
    quickly,
    refuses_to_compute,
    run,
    stored,
)

BATCH_TO_SPACE_ND, SPACE_TO_BATCH_ND = OperationCode.BATCH_TO_SPACE_ND, OperationCode.SPACE_TO_BATCH_ND
NO_PADDING = ints([0, 0], [0, 0])


def test_literal() -> None:
    image = floats([[[[1], [2]], [[3], [4]]]])
    batches = floats([[[[1]]], [[[2]]], [[[3]]], [[[4]]]])
    assert run(SPACE_TO_BATCH_ND, image, ints(2, 2), NO_PADDING).tolist() == batches[1].tolist()
    assert run(BATCH_TO_SPACE_ND, batches, ints(2, 2)).tolist() == image[1].tolist()


def test_literal_padding_is_the_zero_point() -> None:
    x = tensor("uint8", (1, 1, 2, 1), 0.5, 9), np.array([[[[1], [2]]]], np.uint8)
    out = run(SPACE_TO_BATCH_ND, x, ints(1, 3), ints([1, 0], [0, 1]))
    assert out.tolist() == [[[[9]], [[1]]], [[[9]], [[2]]], [[[9]], [[9]]]]


DIMENSION, PAD = st.integers(1, 3), st.integers(0, 2)


@st.composite
def images(draw: st.DrawFn) -> Any:
    """An image, its block and paddings that make it a multiple of that."""
    down, across = draw(DIMENSION), draw(DIMENSION)
    top, left, bottom, right = draw(PAD), draw(PAD), draw(PAD), draw(PAD)
    h, w = draw(DIMENSION) * down, draw(DIMENSION) * across
    shape = (draw(DIMENSION), max(1, h - top - bottom), max(1, w - left - right), draw(DIMENSION))
    paddings = ints([top, -(shape[1] + top) % down], [left, -(shape[2] + left) % across])
    type = REALS[draw(st.sampled_from(sorted(REALS)))].with_dimensions(shape)
    return (type, stored(type, np.random.default_rng(draw(st.integers(0, 2**32))))), ints(down, across), paddings


@quickly
@given(images(), st.booleans())
def test_each_place_of_a_block_is_a_batch(case: tuple[Any, ...], constant: bool) -> None:
    (type, x), block, paddings = case
    out = run(SPACE_TO_BATCH_ND, (type, x), block, paddings, constant=constant)
    n, h, w, depth = x.shape
    (down, across), ((top, bottom), (left, right)) = block[1], paddings[1]
    assert out.shape == (n * down * across, (h + top + bottom) // down, (w + left + right) // across, depth)
    expected = np.full_like(out, type.zero_point)
    for b, i, j in np.ndindex(n, h, w):
        row, column = i + top, j + left
        place = (row % down) * across + column % across
        expected[place * n + b, row // down, column // across] = x[b, i, j]
    assert_same(out, expected)


@quickly
@given(images())
def test_there_and_back(case: tuple[Any, ...]) -> None:
    (type, x), block, paddings = case
    there = run(SPACE_TO_BATCH_ND, (type, x), block, paddings)
    back = run(BATCH_TO_SPACE_ND, (type.with_dimensions(there.shape), there), block)
    (top, _), (left, _) = paddings[1]
    assert_same(back[:, top : top + x.shape[1], left : left + x.shape[2]], x)


@quickly
@given(images())
def test_nchw_is_the_same_permuted(case: tuple[Any, ...]) -> None:
    (type, x), block, paddings = case
    other = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    nchw = run(SPACE_TO_BATCH_ND, (type.with_dimensions(other.shape), other), block, paddings, flag(True))
    nhwc = run(SPACE_TO_BATCH_ND, (type, x), block, paddings)
    assert_same(nchw.transpose(0, 2, 3, 1), nhwc)
    back = run(BATCH_TO_SPACE_ND, (type.with_dimensions(nchw.shape), nchw), block, flag(True))
    assert_same(back.transpose(0, 2, 3, 1), run(BATCH_TO_SPACE_ND, (type.with_dimensions(nhwc.shape), nhwc), block))


@pytest.mark.parametrize(
    ("batches", "block", "message"),
    [
        (3, ints(2, 1), "input has 3 batches, must be a multiple of 2 × 1"),
        (4, ints(2), "block_shape is [2], must be 2 values (height, width) above 0"),
        (4, ints(2, 0), "block_shape is [2, 0], must be 2 values (height, width) above 0"),
    ],
)
def test_batch_to_space_refuses(batches: int, block: tuple[Any, ...], message: str) -> None:
    refuses_to_compute(message, BATCH_TO_SPACE_ND, floats(np.zeros((batches, 1, 1, 1))), block)


@pytest.mark.parametrize(
    ("block", "paddings", "message"),
    [
        (ints(2, 2), ints([0, 1], [0, 0]), "the padded input is 3 × 2, must be multiples of 2 × 2"),
        (ints(1, 1), ints([0, -1], [0, 0]), "paddings [[0, -1], [0, 0]] must not be negative"),
        (ints(1, 1), ints([0, 0]), "paddings has shape [1, 2], must be [2, 2]"),
        (ints(1, 1), ints(0, 0), "paddings has rank 1, must have rank 2"),
    ],
)
def test_space_to_batch_refuses(block: tuple[Any, ...], paddings: tuple[Any, ...], message: str) -> None:
    refuses_to_compute(message, SPACE_TO_BATCH_ND, floats(np.zeros((1, 2, 2, 1))), block, paddings)


def test_levels() -> None:
    x = tensor("uint8", (4, 1, 1, 1), 0.5, 0), None
    shifted = tensor("uint8", (4, 1, 1, 1), 0.5, 1), None
    assert level(BATCH_TO_SPACE_ND, shifted, ints(2, 2)) == 2
    assert level(SPACE_TO_BATCH_ND, x, ints(2, 2), NO_PADDING) == 2
    assert level(SPACE_TO_BATCH_ND, shifted, ints(2, 2), NO_PADDING) == 3
