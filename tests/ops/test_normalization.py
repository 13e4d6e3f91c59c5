"""L2_NORMALIZATION, LOCAL_RESPONSE_NORMALIZATION, INSTANCE_NORMALIZATION."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.model.operand import tensor
from tests.ops.image_cases import floats, to_nchw
from tests.ops.tensor_cases import (
    FLOATS,
    REALS,
    assert_stores,
    flag,
    given_array,
    int32,
    level,
    quickly,
    reals,
    refuses_to_compute,
    run,
    shapes,
    tensors,
)
from tests.single import scalar

L2, LRN, INSTANCE = Op.L2_NORMALIZATION, Op.LOCAL_RESPONSE_NORMALIZATION, Op.INSTANCE_NORMALIZATION
UNIT = {"uint8": tensor("uint8", (), 1 / 128, 128), "int8": tensor("int8", (), 1 / 128, 0)}


def real_scalars(type: Any, *values: float) -> list[Any]:
    """Float scalars of the precision that goes with a tensor."""
    code = OperandCode.FLOAT16 if type.code == OperandCode.TENSOR_FLOAT16 else OperandCode.FLOAT32
    return [scalar(code, value) for value in values]


def slices(x: Any, axis: Any) -> Any:
    """Every one-dimensional slice along an axis, with its place."""
    for at in np.ndindex(*(dimension for i, dimension in enumerate(x.shape) if i != axis % x.ndim)):
        place = list(at)
        place.insert(axis % x.ndim, slice(None))
        yield tuple(place), x[tuple(place)]


def test_l2_literal() -> None:
    x = floats([[[[3, 4], [0, 0]]]])
    np.testing.assert_allclose(run(L2, x), np.array([[[[0.6, 0.8], [0, 0]]]], np.float32), 1e-6)
    np.testing.assert_allclose(run(L2, x, int32(2)), np.array([[[[1, 1], [0, 0]]]], np.float32), 1e-6)


def test_l2_literal_quantized() -> None:
    x = tensor("uint8", (1, 1, 1, 2), 0.5, 10), np.array([16, 2], np.uint8).reshape(1, 1, 1, 2)  # 3, -4
    assert run(L2, x, out=UNIT["uint8"]).reshape(-1).tolist() == [205, 26]


def test_l2_of_small_numbers() -> None:
    np.testing.assert_allclose(run(L2, floats([3e-4, 4e-4])), np.array([0.6, 0.8], np.float32), 1e-6)


@quickly
@given(st.data(), tensors(REALS, shapes()))
def test_l2_slices_have_length_one(data: Any, x: tuple[Any, ...]) -> None:
    axis = data.draw(st.integers(-x[1].ndim, x[1].ndim - 1))
    real = np.empty(x[1].shape)
    for place, row in slices(reals(*x).astype(float), axis):
        length = sum(v * v for v in row) ** 0.5
        real[place] = [v / length if length else 0 for v in row]
    out = UNIT.get(x[0].dtype.name, x[0].with_dimensions(()))
    assert_stores(out, run(L2, x, int32(axis), out=out), real)


def test_lrn_literal() -> None:
    x = floats(np.array([1, 2, 3], np.float32).reshape(1, 1, 1, 3))
    y = run(LRN, x, int32(1), *real_scalars(x[0], 1, 0.5, 1))
    np.testing.assert_allclose(y.reshape(-1), [1 / 3.5, 2 / 8, 3 / 7.5], 1e-6)


@quickly
@given(
    st.data(),
    tensors(FLOATS, shapes()),
    st.integers(0, 5),
    st.floats(0.5, 4, width=16),
    st.floats(0, 2, width=16),
    st.floats(0, 1, width=16),
)
def test_lrn_divides_by_the_neighbors(
    data: Any, x: tuple[Any, ...], radius: int, bias: float, alpha: float, beta: float
) -> None:
    axis = data.draw(st.integers(-x[1].ndim, x[1].ndim - 1))
    real = np.empty(x[1].shape)
    for place, row in slices(x[1].astype(float), axis):
        near = [sum(v * v for v in row[max(0, i - radius) : i + radius + 1]) for i in range(len(row))]
        real[place] = [v / (bias + alpha * squares) ** beta for v, squares in zip(row, near, strict=True)]
    y = run(LRN, x, int32(radius), *real_scalars(x[0], bias, alpha, beta), int32(axis))
    assert_stores(x[0], y, real)


def test_instance_literal() -> None:
    x = floats(np.array([[1, 5], [3, 5]], np.float32).reshape(1, 1, 2, 2))
    y = run(INSTANCE, x, *real_scalars(x[0], 2, 10, 0.25), flag(False))
    np.testing.assert_allclose(y.reshape(-1), [10 - 2 / 1.25**0.5, 10, 10 + 2 / 1.25**0.5, 10], 1e-6)


@quickly
@given(
    tensors(FLOATS, shapes(4, 4)),
    st.floats(-2, 2, width=16),
    st.floats(-2, 2, width=16),
    st.floats(0.25, 1, width=16),
    st.booleans(),
)
def test_instance_is_centered_and_scaled(
    x: tuple[Any, ...], gamma: float, beta: float, epsilon: float, nchw: bool
) -> None:
    given = to_nchw(x) if nchw else x
    y = run(INSTANCE, given, *real_scalars(x[0], gamma, beta, epsilon), flag(nchw))
    y = y.transpose(0, 2, 3, 1) if nchw else y
    real = np.empty(y.shape)
    for n, channel in np.ndindex(y.shape[0], y.shape[3]):
        plane = x[1][n, :, :, channel].astype(float)
        mean = plane.sum() / plane.size
        variance = (plane**2).sum() / plane.size - mean**2
        real[n, :, :, channel] = (plane - mean) * gamma / (variance + epsilon) ** 0.5 + beta
    assert_stores(x[0], y, real)


def test_refusals() -> None:
    x = floats([[[[1, 2]]]])
    refuses_to_compute("axis is 4, must be in [-4, 4)", L2, x, int32(4))
    lrn = real_scalars(x[0], 1, 1, 1)
    refuses_to_compute("axis is -5, must be in [-4, 4)", LRN, x, int32(1), *lrn, int32(-5))
    refuses_to_compute("radius is -1, must not be negative", LRN, x, int32(-1), *lrn)
    flat = floats([[1, 2]])
    refuses_to_compute("input has rank 2, must have rank 4", INSTANCE, flat, *lrn, flag(False))


def test_l2_fixes_the_scale_of_its_result() -> None:
    codes = given_array(np.array([1, 2], np.uint8))
    refuses_to_compute("gives scale 0.0078125 and zero point 128", L2, codes, outs=[tensor("uint8", (2,), 0.3, 1)])


@pytest.mark.parametrize(("shape", "expected"), [((1, 1, 1, 2), 1), ((1, 2), 3)])
def test_levels(shape: tuple[int, ...], expected: int) -> None:
    x = floats(np.ones(shape))
    assert level(L2, x) == expected
    assert level(LRN, x, int32(1), *real_scalars(x[0], 1, 1, 1)) == expected
    assert level(L2, x, int32(0)) == 3
    assert level(INSTANCE, x, *real_scalars(x[0], 1, 1, 1), flag(False)) == 3


def test_lrn_without_a_bias() -> None:
    x = floats([[[[1.0, 2.0, -4.0]]]])
    y = run(LRN, x, int32(0), *real_scalars(x[0], 0, 0.25, 0.5), int32(-1))
    assert y.ravel() == pytest.approx([2, 2, -2])
