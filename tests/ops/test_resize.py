"""RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.operand import tensor
from nnapi.ops.resize import _scale_size
from tests.ops.image_cases import floats, numbers, random_seeds, to_nchw
from tests.ops.tensor_cases import (
    REALS,
    assert_stores,
    flag,
    given_array,
    level,
    quickly,
    reals,
    refuses_to_add,
    refuses_to_compute,
    run,
    stored,
)
from tests.single import scalar

BILINEAR, NEAREST = OperationCode.RESIZE_BILINEAR, OperationCode.RESIZE_NEAREST_NEIGHBOR
LINE = floats([[[[0], [10]]]])
SQUARE = floats([[[[1], [2]], [[3], [4]]]])


def flags(nchw: bool = False, align: bool = False, half: bool = False) -> tuple[Any, ...]:
    return flag(nchw), flag(align), flag(half)


@pytest.mark.parametrize(
    ("code", "align", "half", "expected"),
    [
        (BILINEAR, False, False, [0, 5, 10, 10]),
        (BILINEAR, True, False, [0, 10 / 3, 20 / 3, 10]),
        (BILINEAR, False, True, [0, 2.5, 7.5, 10]),
        (NEAREST, False, False, [0, 0, 10, 10]),
        (NEAREST, True, False, [0, 0, 10, 10]),
        (NEAREST, False, True, [0, 0, 10, 10]),
    ],
)
def test_literal_larger(code: OperationCode, align: bool, half: bool, expected: list[float]) -> None:
    y = run(code, LINE, *numbers(4, 1), *flags(False, align, half))
    np.testing.assert_allclose(y.reshape(-1), expected, 1e-6)


@pytest.mark.parametrize(
    ("code", "align", "half", "expected"),
    [
        (BILINEAR, False, False, [0, 2.5]),
        (BILINEAR, True, False, [0, 4]),
        (BILINEAR, False, True, [0.75, 3.25]),
        (NEAREST, False, False, [0, 2]),
        (NEAREST, True, False, [0, 4]),
        (NEAREST, False, True, [1, 3]),
    ],
)
def test_literal_smaller(code: OperationCode, align: bool, half: bool, expected: list[float]) -> None:
    line = floats(np.arange(5).reshape(1, 1, 5, 1))
    y = run(code, line, *numbers(2, 1), *flags(False, align, half))
    np.testing.assert_allclose(y.reshape(-1), expected, 1e-6)


def test_the_width_comes_first() -> None:
    assert run(BILINEAR, SQUARE, *numbers(1, 2)).tolist() == [[[[1]], [[3]]]]
    assert run(NEAREST, SQUARE, *numbers(2, 1), flag(False)).tolist() == [[[[1], [2]]]]


def test_by_scale() -> None:
    wide, high = scalar(OperandCode.FLOAT32, 1.6), scalar(OperandCode.FLOAT32, 0.5)
    assert run(BILINEAR, SQUARE, wide, high).shape == (1, 1, 3, 1)
    assert run(NEAREST, SQUARE, wide, high, flag(False)).reshape(-1).tolist() == [1, 1, 2]
    half = given_array(np.float16(SQUARE[1]))
    assert run(BILINEAR, half, *[scalar(OperandCode.FLOAT16, 1.5)] * 2).shape == (1, 3, 3, 1)


def test_literal_quantized() -> None:
    codes = tensor("uint8", (1, 1, 2, 1), 0.5, 10), np.array([0, 255], np.uint8).reshape(1, 1, 2, 1)
    assert run(BILINEAR, codes, *numbers(3, 1), *flags(align=True)).reshape(-1).tolist() == [0, 128, 255]


def source(i: int, dimension: int, out: int, align: bool, half: bool) -> float:
    """Where cell ``i`` lies in the input, in the float32 arithmetic of the specification."""
    scale = (
        np.float32(dimension - 1) / np.float32(out - 1)
        if align and out > 1
        else np.float32(dimension) / np.float32(out)
    )
    return float((np.float32(i) + np.float32(0.5)) * scale) if half else float(np.float32(i) * scale)


def bilinear(image: Any, row: int, column: int, size: tuple[int, ...], align: bool, half: bool) -> Any:
    at = [
        max(0.0, source(i, dimension, out, align, half) - (0.5 if half else 0))
        for i, dimension, out in zip((row, column), image.shape, size, strict=True)
    ]
    corners = [
        [(min(math.floor(x), dimension - 1), 1 - x % 1), (min(math.floor(x) + 1, dimension - 1), x % 1)]
        for x, dimension in zip(at, image.shape, strict=True)
    ]
    return sum(image[r, c] * share * part for r, share in corners[0] for c, part in corners[1])


def nearest(image: Any, row: int, column: int, size: tuple[int, ...], align: bool, half: bool) -> Any:
    at = []
    for i, dimension, out in zip((row, column), image.shape, size, strict=True):
        x = source(i, dimension, out, align, half)
        at.append(min(max(math.floor(x + 0.5) if align else math.floor(x), 0), dimension - 1))
    return image[at[0], at[1]]


@quickly
@given(st.data(), random_seeds, st.sampled_from([BILINEAR, NEAREST]), st.booleans(), st.sampled_from("nah"))
def test_every_cell_has_its_source(data: Any, random: Any, code: OperationCode, nchw: bool, sampling: str) -> None:
    dimension = st.integers(1, 5)
    shape = (data.draw(st.integers(1, 2)), data.draw(dimension), data.draw(dimension), data.draw(st.integers(1, 3)))
    size = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 8))
    type = REALS[data.draw(st.sampled_from(sorted(REALS)))].with_dimensions(shape)
    x = type, stored(type, random)
    align, half = sampling == "a", sampling == "h"
    y = run(code, to_nchw(x) if nchw else x, *numbers(size[1], size[0]), *flags(nchw, align, half))
    y = y.transpose(0, 2, 3, 1) if nchw else y
    image = reals(*x).astype(float)
    real = np.empty((shape[0], *size, shape[3]))
    for n, row, column, channel in np.ndindex(*real.shape):
        of = bilinear if code == BILINEAR else nearest
        real[n, row, column, channel] = of(image[n, :, :, channel], row, column, size, align, half)
    assert_stores(type, y, real)


@pytest.mark.parametrize("code", [BILINEAR, NEAREST])
def test_refusals(code: OperationCode) -> None:
    refuses_to_compute("width is 0, must be above 0", code, SQUARE, *numbers(0, 2), flag(False))
    refuses_to_compute("height is -1, must be above 0", code, SQUARE, *numbers(2, -1), flag(False))
    both = flags(align=True, half=True)
    refuses_to_compute("align_corners and half_pixel_centers are both true", code, SQUARE, *numbers(2, 2), *both)
    for width, height, message in (
        (1, 0.4, "height_scale is 0.4, which turns the height 2 of input into 0, must be at least 1"),
        (-2, 1, "width_scale is -2, which turns the width 2 of input into -4, must be at least 1"),
        (np.nan, 1, "width_scale is nan, which turns the width 2 of input into nan"),
        (1, np.inf, "height_scale is inf, which turns the height 2 of input into inf"),
        (1, 3e38, "height_scale is 3e+38, which turns the height 2 of input into inf"),
        (2e9, 1, "width_scale is 2e+09, which turns the width 2 of input into 4e+09"),
    ):
        scales = [scalar(OperandCode.FLOAT32, scale) for scale in (width, height)]
        refuses_to_compute(message, code, SQUARE, *scales, flag(False))
    flat = floats(np.ones((2, 2, 1)))
    refuses_to_compute("input has rank 3, must have rank 4", code, flat, *numbers(2, 2), flag(False))
    mixed = [*numbers(2), scalar(OperandCode.FLOAT32, 2)]
    refuses_to_add("height is FLOAT32, must be INT32", code, SQUARE, *mixed, flag(False))


def test_the_layout_of_nearest_neighbor_must_be_given() -> None:
    refuses_to_add("got 3", NEAREST, SQUARE, *numbers(2, 2))


def test_levels() -> None:
    assert level(BILINEAR, SQUARE, *numbers(2, 2)) == 1
    assert level(BILINEAR, SQUARE, *numbers(2, 2), flag(False)) == 3
    assert level(BILINEAR, SQUARE, *numbers(2, 2), *flags()) == 4
    assert level(BILINEAR, SQUARE, *[scalar(OperandCode.FLOAT32, 2)] * 2) == 3
    assert level(NEAREST, SQUARE, *numbers(2, 2), flag(False)) == 3


def test_a_dimension_that_is_not_specified_stays_so_when_it_is_scaled() -> None:
    assert [_scale_size({"height_scale": 1.5}, "height", dimension) for dimension in (0, 3)] == [0, 4]
