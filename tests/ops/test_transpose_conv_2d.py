"""TRANSPOSE_CONV_2D."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from tests.ops.image_cases import (
    KINDS,
    SAME,
    VALID,
    activations,
    clamped,
    explicit,
    floats,
    numbers,
    operands,
    pairs,
    random_seeds,
    real_operands,
    tail,
    to_nchw,
)
from tests.ops.tensor_cases import assert_stores, ints, level, quickly, refuses_to_compute, run, unknown

TRANSPOSE = OperationCode.TRANSPOSE_CONV_2D
IMAGE = floats([[[[1], [2]]]])
FILTER = floats(np.array([1, 10, 100], np.float32).reshape(1, 1, 3, 1))
BIAS = floats([0.5])
NO_PADDING = ((0, 0), (0, 0))


def spread(image: Any, filter: Any, bias: Any, padding: Any, stride: Any) -> Any:
    """Every cell of the image adds its filter to a result large enough, of which the padding is cut off."""
    n, h, w, _ = image.shape
    channels, kh, kw, _ = filter.shape
    (top, bottom), (left, right) = padding
    full = np.zeros((n, (h - 1) * stride[0] + kh + 9, (w - 1) * stride[1] + kw + 9, channels))
    for batch, row, column in np.ndindex(n, h, w):
        for channel, i, j in np.ndindex(channels, kh, kw):
            at = batch, row * stride[0] + i, column * stride[1] + j, channel
            full[at] += image[batch, row, column] @ filter[channel, i, j]
    return full[:, top : full.shape[1] - 9 - bottom, left : full.shape[2] - 9 - right] + bias


@pytest.mark.parametrize(
    ("stride", "expected"),
    [(1, [1, 12, 120, 200]), (2, [1, 10, 102, 20, 200]), (4, [1, 10, 100, 0, 2, 20, 200])],
)
def test_literal(stride: int, expected: list[int]) -> None:
    y = run(TRANSPOSE, IMAGE, FILTER, BIAS, *explicit(NO_PADDING, (1, stride)), *tail())
    assert y.reshape(-1).tolist() == [value + 0.5 for value in expected]


def test_padding_cuts_off_and_may_add_at_the_end() -> None:
    y = run(TRANSPOSE, IMAGE, FILTER, BIAS, *explicit(((0, 0), (1, -2)), (1, 2)), *tail())
    assert y.reshape(-1).tolist() == [10.5, 102.5, 20.5, 200.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("width", "stride", "expected"), [(2, 1, [12, 120]), (3, 2, [10, 102, 20]), (4, 2, [1, 10, 102, 20])]
)
def test_same_padding_gives_the_wanted_shape(width: int, stride: int, expected: list[int]) -> None:
    shape = ints(1, 1, width, 1)
    y = run(TRANSPOSE, IMAGE, FILTER, BIAS, shape, *numbers(SAME, stride, 1), *tail())
    assert y.reshape(-1).tolist() == [value + 0.5 for value in expected]


def test_same_padding_of_a_small_filter_adds_cells_at_the_end() -> None:
    one = floats(np.array([10], np.float32).reshape(1, 1, 1, 1))
    y = run(TRANSPOSE, IMAGE, one, BIAS, ints(1, 1, 4, 1), *numbers(SAME, 2, 1), *tail())
    assert y.reshape(-1).tolist() == [10.5, 0.5, 20.5, 0.5]


def test_the_wanted_shape_follows_the_layout() -> None:
    y = run(TRANSPOSE, to_nchw(IMAGE), FILTER, BIAS, ints(1, 1, 1, 4), *numbers(SAME, 2, 1), *tail(nchw=True))
    assert y.shape == (1, 1, 1, 4)


def test_valid_padding_does_not_look_at_the_wanted_shape() -> None:
    y = run(TRANSPOSE, IMAGE, FILTER, BIAS, ints(1, 1, 9, 1), *numbers(VALID, 2, 1), *tail())
    assert y.shape == (1, 1, 5, 1)


@quickly
@given(st.data(), random_seeds, st.sampled_from(sorted(KINDS)), pairs, pairs, st.booleans())
def test_every_cell_spreads_the_filter(data: Any, random: Any, kind: str, size: Any, stride: Any, nchw: bool) -> None:
    image = (data.draw(st.integers(1, 2)), *data.draw(pairs), data.draw(st.integers(1, 3)))
    fulls = [(dimension - 1) * step + k for dimension, step, k in zip(image[1:3], stride, size, strict=True)]
    padding = tuple(
        (before := data.draw(st.integers(0, full - 1)), data.draw(st.integers(-3, full - 1 - before))) for full in fulls
    )
    x, out = operands(kind, image, (data.draw(st.integers(1, 3)), *size, image[3]), 0, random)
    activation = data.draw(activations)
    given = [to_nchw(x[0]) if nchw else x[0], *x[1:]]
    y = run(TRANSPOSE, *given, *explicit(padding, stride), *tail(activation, nchw), out=unknown(out))
    y = y.transpose(0, 2, 3, 1) if nchw else y
    assert_stores(out, y, clamped(spread(*real_operands(*x), padding, stride), activation))  # type: ignore[call-arg]


def test_refusals() -> None:
    negative = explicit(((0, 0), (-1, 0)), (1, 1))
    refuses_to_compute("pad_left is -1, must not be negative", TRANSPOSE, IMAGE, FILTER, BIAS, *negative, *tail())
    all_of_it = explicit(((0, 0), (2, 2)), (1, 1))
    message = "out would be 1 × 0, must not be empty: pad_top 0, pad_bottom 0, pad_left 2, pad_right 2"
    refuses_to_compute(message, TRANSPOSE, IMAGE, FILTER, BIAS, *all_of_it, *tail())
    same = numbers(SAME, 1, 1)
    refuses_to_compute("has 3 numbers, must have 4", TRANSPOSE, IMAGE, FILTER, BIAS, ints(1, 1, 1), *same, *tail())
    shape, wrong = ints(1, 1, 1, 1), numbers(0, 1, 1)
    refuses_to_compute("padding_scheme is 0", TRANSPOSE, IMAGE, FILTER, BIAS, shape, *wrong, *tail())
    deep = floats(np.ones((1, 1, 3, 2)))
    plain = explicit(NO_PADDING, (1, 1))
    refuses_to_compute("filter has depth 2, input has 1", TRANSPOSE, IMAGE, deep, BIAS, *plain, *tail())
    flat = floats(np.ones((1, 2, 1)))
    refuses_to_compute("input has rank 3", TRANSPOSE, flat, FILTER, BIAS, *plain, *tail())


def test_level() -> None:
    assert level(TRANSPOSE, IMAGE, FILTER, BIAS, *explicit(NO_PADDING, (1, 1)), *tail()) == 3
