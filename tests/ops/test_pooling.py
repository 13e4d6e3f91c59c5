"""AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import tensor
from tests.ops.image_cases import (
    NONE,
    RELU1,
    RELU6,
    SAME,
    VALID,
    activations,
    clamped,
    dimensions,
    explicit,
    floats,
    numbers,
    paddings,
    pairs,
    random_seeds,
    tail,
    to_nchw,
    window,
)
from tests.ops.tensor_cases import (
    FLOATS,
    REALS,
    assert_stores,
    level,
    quickly,
    reals,
    refuses_to_compute,
    run,
    stored,
    unknown,
)

AVERAGE, MAX, L2 = OperationCode.AVERAGE_POOL_2D, OperationCode.MAX_POOL_2D, OperationCode.L2_POOL_2D
MEANING = {
    AVERAGE: lambda cells: np.mean(cells, 0),
    MAX: lambda cells: np.max(cells, 0),
    L2: lambda cells: np.sqrt(np.mean(np.square(cells), 0)),
}
IMAGE = floats(np.arange(1, 10).reshape(1, 3, 3, 1))
NO_PADDING = ((0, 0), (0, 0))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (AVERAGE, [[3, 4], [6, 7]]),
        (MAX, [[5, 6], [8, 9]]),
        (L2, [[11.5**0.5, 18.5**0.5], [38.5**0.5, 51.5**0.5]]),
    ],
)
def test_literal(code: OperationCode, expected: list[Any]) -> None:
    y = run(code, IMAGE, *numbers(VALID, 1, 1, 2, 2, NONE))
    np.testing.assert_allclose(y[0, :, :, 0], expected, 1e-6)


@pytest.mark.parametrize(
    ("code", "expected"),
    [(AVERAGE, [[-3, -4.5], [-7.5, -9]]), (MAX, [[-1, -3], [-7, -9]]), (L2, [[46 / 4, 22.5], [56.5, 81]])],
)
def test_padding_takes_no_part(code: OperationCode, expected: list[Any]) -> None:
    negative = IMAGE[0], -IMAGE[1]
    y = run(code, negative, *numbers(SAME, 2, 2, 2, 2, NONE))
    np.testing.assert_allclose(y[0, :, :, 0], np.sqrt(expected) if code == L2 else expected, 1e-6)


def test_width_comes_first() -> None:
    y = run(MAX, IMAGE, *explicit(NO_PADDING, (2, 1), 3, 1, NONE))
    assert y[0, :, :, 0].tolist() == [[3], [9]]


def test_a_quantized_average_is_the_nearest_code() -> None:
    codes = tensor("uint8", (1, 1, 3, 1), 0.5, 10), np.array([20, 21, 23], np.uint8).reshape(1, 1, 3, 1)
    assert run(AVERAGE, codes, *numbers(VALID, 1, 1, 3, 1, NONE)).item() == 21
    signed = tensor("int8", (1, 1, 2, 1), 0.5, 0), np.array([-7, 4], np.int8).reshape(1, 1, 2, 1)
    assert run(AVERAGE, signed, *numbers(VALID, 1, 1, 2, 1, NONE)).item() == -2  # -1.5: halves leave code 0
    for dtype, pair, expected in (("int8", [-7, 4], -2), ("int8", [7, -4], 2), ("uint8", [3, 4], 4)):
        codes = tensor(dtype, (1, 1, 2, 1), 0.5, 100), np.array(pair, dtype).reshape(1, 1, 2, 1)
        assert run(AVERAGE, codes, *numbers(VALID, 1, 1, 2, 1, NONE)).item() == expected  # whatever the zero point


def test_a_fused_activation_bounds_codes() -> None:
    codes = tensor("uint8", (1, 1, 3, 1), 0.5, 10), np.array([0, 11, 23], np.uint8).reshape(1, 1, 3, 1)
    for code in (AVERAGE, MAX):
        assert run(code, codes, *numbers(VALID, 1, 1, 1, 1, RELU1)).reshape(-1).tolist() == [8, 11, 12]


@quickly
@given(st.data(), random_seeds, st.sampled_from([AVERAGE, MAX, L2]), pairs, pairs, st.booleans())
def test_every_window_is_reduced(
    data: Any, random: Any, code: OperationCode, size: tuple[int, ...], stride: tuple[int, ...], nchw: bool
) -> None:
    kinds = FLOATS if code == L2 else REALS
    padding, activation = data.draw(paddings(size)), data.draw(activations)
    batches, *more, depth = data.draw(st.tuples(st.integers(1, 2), *[st.integers(0, 3)] * 2, st.integers(1, 3)))
    shape = (batches, size[0] + more[0], size[1] + more[1], depth)
    type = kinds[data.draw(st.sampled_from(sorted(kinds)))].with_dimensions(shape)
    x = type, stored(type, random)
    given = to_nchw(x) if nchw else x
    y = run(code, given, *explicit(padding, stride, size[1], size[0]), *tail(activation, nchw))
    image = reals(*x).astype(float)
    rows, columns = dimensions(shape[1:3], size, stride, padding)
    real = np.empty((shape[0], rows, columns, shape[3]))
    for n, row, column in np.ndindex(*real.shape[:3]):
        cells = [pixel for _, pixel in window(image[n], (row, column), size, stride, padding)]
        real[n, row, column] = MEANING[code](cells)
    assert_stores(type, y.transpose(0, 2, 3, 1) if nchw else y, clamped(real, activation))


@pytest.mark.parametrize("code", [AVERAGE, MAX, L2])
def test_refusals(code: OperationCode) -> None:
    refuses_to_compute("no window of 4 × 4 fits input of 3 × 3 cells", code, IMAGE, *numbers(VALID, 1, 1, 4, 4, NONE))
    refuses_to_compute("filter_h is 0, must be above 0", code, IMAGE, *numbers(VALID, 1, 1, 2, 0, NONE))
    refuses_to_compute("stride_w is -1, must be above 0", code, IMAGE, *numbers(VALID, -1, 1, 2, 2, NONE))
    wide = explicit(((0, 0), (0, 2)), (1, 1), 2, 2, NONE)
    refuses_to_compute("pad_right is 2, must not be negative and be below the 2 cells", code, IMAGE, *wide)
    flat = floats(np.ones((3, 3, 1)))
    refuses_to_compute("input has rank 3, must have rank 4", code, flat, *numbers(VALID, 1, 1, 2, 2, NONE))


def test_a_quantized_result_is_stored_in_the_declared_scale() -> None:
    codes = tensor("uint8", (1, 1, 1, 1), 0.5, 10), np.array([[[[12]]]], np.uint8)
    plain = numbers(VALID, 1, 1, 1, 1, NONE)
    for code in (AVERAGE, MAX):
        assert run(code, codes, *plain, out=tensor("uint8", (1, 1, 1, 1), 0.25, 3)).item() == 7


@pytest.mark.parametrize("scale", [8.0, 12.0, 13.0])
def test_a_fused_activation_bounds_by_the_declared_scale(scale: float) -> None:
    codes = tensor("uint8", (1, 1, 3, 1), scale, 128), np.array([100, 128, 214], np.uint8).reshape(1, 1, 3, 1)
    arguments = numbers(VALID, 1, 1, 1, 1, RELU6)
    for code in (AVERAGE, MAX):
        y = run(code, codes, *arguments, out=tensor("uint8", (1, 1, 3, 1), 0.25, 128))
        assert y.reshape(-1).tolist() == [128, 128, 152]


def test_levels() -> None:
    for code in (AVERAGE, MAX, L2):
        assert level(code, IMAGE, *numbers(VALID, 1, 1, 2, 2, NONE)) == 1
        assert level(code, IMAGE, *numbers(VALID, 1, 1, 2, 2), *tail()) == 3
        assert level(code, IMAGE, *explicit(NO_PADDING, (1, 1), 2, 2, NONE), out=unknown(IMAGE[0])) == 1
