"""GROUPED_CONV_2D."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from tests.ops.image_cases import (
    KINDS,
    NONE,
    SAME,
    VALID,
    activations,
    clamped,
    dimensions,
    explicit,
    floats,
    numbers,
    operands,
    paddings,
    pairs,
    random_seeds,
    real_operands,
    tail,
    to_nchw,
    window,
)
from tests.ops.tensor_cases import assert_stores, level, quickly, refuses_to_add, refuses_to_compute, run, unknown

GROUPED = OperationCode.GROUPED_CONV_2D
IMAGE = floats([[[[1, 10], [2, 20], [3, 30]]]])
FILTER = floats(np.array([[1, 1], [0.5, 0]], np.float32).reshape(2, 1, 2, 1))
BIAS = floats([0, 1])


def convolution(image: Any, filter: Any, bias: Any, padding: Any, stride: Any, groups: Any) -> Any:
    """The sum of the definition for every cell of the result."""
    rows, columns = dimensions(image.shape[1:3], filter.shape[1:3], stride, padding)
    depth, channels = filter.shape[3], len(filter) // groups
    y = np.empty((len(image), rows, columns, len(filter)))
    for n, row, column, channel in np.ndindex(*y.shape):
        first = channel // channels * depth
        cells = window(image[n], (row, column), filter.shape[1:3], stride, padding)
        products = (pixel[first : first + depth] @ filter[channel][tap] for tap, pixel in cells)
        y[n, row, column, channel] = bias[channel] + sum(products)
    return y


def test_literal() -> None:
    y = run(GROUPED, IMAGE, FILTER, BIAS, *numbers(VALID, 1, 1, 2), *tail())
    assert y.tolist() == [[[[3, 6], [5, 11]]]]


def test_same_padding() -> None:
    y = run(GROUPED, IMAGE, FILTER, BIAS, *numbers(SAME, 1, 1, 2), *tail())
    assert y.tolist() == [[[[3, 6], [5, 11], [3, 16]]]]


@quickly
@given(st.data(), random_seeds, st.sampled_from(sorted(KINDS)), pairs, pairs, st.booleans())
def test_is_the_sum_of_the_definition(data: Any, random: Any, kind: str, size: Any, stride: Any, nchw: bool) -> None:
    groups, (depth, channels) = data.draw(st.integers(1, 3)), data.draw(pairs)
    padding, activation = data.draw(paddings(size)), data.draw(activations)
    image = (data.draw(st.integers(1, 2)), *(k + data.draw(st.integers(0, 3)) for k in size), groups * depth)
    x, out = operands(kind, image, (groups * channels, *size, depth), 0, random)
    given = [to_nchw(x[0]) if nchw else x[0], *x[1:]]
    y = run(GROUPED, *given, *explicit(padding, stride, groups), *tail(activation, nchw), out=unknown(out))
    y = y.transpose(0, 2, 3, 1) if nchw else y
    assert_stores(out, y, clamped(convolution(*real_operands(*x), padding, stride, groups), activation))  # type: ignore[call-arg]


def test_refusals() -> None:
    three = numbers(VALID, 1, 1, 3)
    refuses_to_compute("must be the 2 of input divided by 3 groups", GROUPED, IMAGE, FILTER, BIAS, *three, *tail())
    odd = floats(np.ones((3, 1, 2, 1)))
    two = numbers(VALID, 1, 1, 2)
    refuses_to_compute("filter has 3 channels, which 2 groups do not", GROUPED, IMAGE, odd, BIAS, *two, *tail())
    none = numbers(VALID, 1, 1, 0)
    refuses_to_compute("num_groups is 0, must be above 0", GROUPED, IMAGE, FILTER, BIAS, *none, *tail())
    flat = floats(np.ones((1, 3, 2)))
    refuses_to_compute("input has rank 3", GROUPED, flat, FILTER, BIAS, *two, *tail())


def test_the_layout_must_be_given() -> None:
    refuses_to_add("got 8", GROUPED, IMAGE, FILTER, BIAS, *numbers(VALID, 1, 1, 2, NONE))


def test_level() -> None:
    assert level(GROUPED, IMAGE, FILTER, BIAS, *numbers(VALID, 1, 1, 2), *tail()) == 3
