"""RESHAPE, SQUEEZE, EXPAND_DIMS."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import (
    NUMBERS,
    REALS,
    assert_same,
    floats,
    int32,
    ints,
    level,
    quickly,
    refuses_to_add,
    refuses_to_compute,
    run,
    shapes,
    tensors,
)
from tests.single import run_single

RESHAPE, SQUEEZE, EXPAND_DIMS = OperationCode.RESHAPE, OperationCode.SQUEEZE, OperationCode.EXPAND_DIMS
OMITTED = (tensor("int32", (0,)), None)
SIX = floats([[1, 2, 3], [4, 5, 6]])


def test_reshape_literal() -> None:
    assert run(RESHAPE, SIX, ints(3, 2)).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert run(RESHAPE, SIX, ints(-1)).tolist() == [1, 2, 3, 4, 5, 6]
    assert run(RESHAPE, SIX, ints(1, 3, -1, 1, 1)).shape == (1, 3, 2, 1, 1)


@st.composite
def factorings(draw: st.DrawFn, size: Any) -> Any:
    """Dimensions whose product is ``size``, perhaps one of them as -1."""
    dimensions = []
    while size > 1:
        dimensions.append(draw(st.sampled_from([n for n in range(2, size + 1) if size % n == 0])))
        size //= dimensions[-1]
    dimensions = draw(st.permutations([*dimensions, 1]))
    hidden = draw(st.integers(0, len(dimensions)))
    return dimensions, [-1 if axis == hidden else dimension for axis, dimension in enumerate(dimensions)]


@quickly
@given(tensors(NUMBERS, shapes()), st.data(), st.booleans())
def test_reshape_keeps_the_order_of_elements(x: tuple[Any, ...], data: Any, constant: bool) -> None:
    dimensions, wanted = data.draw(factorings(math.prod(x[1].shape)))
    out = run(RESHAPE, x, ints(*wanted), constant=constant)
    assert out.shape == tuple(dimensions)
    assert_same(np.array(list(out.flat), out.dtype), np.array(list(x[1].flat), x[1].dtype))


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([-1, -1], "shape [-1, -1] may hold -1 once and nothing below"),
        ([-2, -3], "shape [-2, -3] may hold -1 once and nothing below"),
        ([4, 2], "shape [4, 2] holds 8 elements, input has 6"),
        ([4, -1], "shape [4, 1] holds 4 elements, input has 6"),
        ([0, -1], "shape [0, 0] holds 0 elements, input has 6"),
    ],
)
def test_reshape_refuses(shape: list[int], message: str) -> None:
    refuses_to_compute(message, RESHAPE, SIX, ints(*shape))


def test_reshape_refuses_an_omitted_shape() -> None:
    refuses_to_compute("RESHAPE (#0): shape is omitted, but needed", RESHAPE, SIX, OMITTED, error=BadDataError)


def test_squeeze_literal() -> None:
    x = floats([[[[1], [2]]]])
    assert run(SQUEEZE, x, OMITTED).tolist() == [1, 2]
    assert run(SQUEEZE, x, ints(0)).tolist() == [[[1], [2]]]
    assert run(SQUEEZE, x, ints(-1, 0)).tolist() == [[1, 2]]
    assert run(SQUEEZE, floats([[[7]]]), OMITTED).tolist() == [7]


@quickly
@given(tensors(REALS, shapes(dimension=2)), st.data(), st.booleans())
def test_squeeze_drops_the_listed_axes(x: tuple[Any, ...], data: Any, constant: bool) -> None:
    _, value = x
    ones = [axis for axis, dimension in enumerate(value.shape) if dimension == 1]
    dims = data.draw(st.lists(st.sampled_from(ones), min_size=1)) if ones else []
    given_dims = ints(*(axis - data.draw(st.sampled_from([0, value.ndim])) for axis in dims)) if dims else OMITTED
    out = run(SQUEEZE, x, given_dims, constant=constant)
    dropped = set(dims)
    assert out.shape == (tuple(n for axis, n in enumerate(value.shape) if axis not in dropped) or (1,))
    assert_same(out.reshape(-1), value.reshape(-1))


def test_squeeze_refuses() -> None:
    refuses_to_compute("dims [1] of [2, 3] are not all of dimension 1", SQUEEZE, SIX, ints(1))
    refuses_to_compute("dims is 2, must be in [-2, 2)", SQUEEZE, SIX, ints(2))


def test_expand_dims_literal() -> None:
    x = floats([1, 2])
    assert run(EXPAND_DIMS, x, int32(0)).tolist() == [[1, 2]]
    assert run(EXPAND_DIMS, x, int32(-1)).tolist() == [[1], [2]]


@quickly
@given(tensors(NUMBERS, shapes()), st.data())
def test_expand_dims_inserts_one_axis(x: tuple[Any, ...], data: Any) -> None:
    _, value = x
    axis = data.draw(st.integers(0, value.ndim))
    sign = data.draw(st.sampled_from([0, -value.ndim - 1]))
    out = run(EXPAND_DIMS, x, int32(axis + sign))
    dimensions = list(value.shape)
    dimensions.insert(axis, 1)
    assert out.shape == tuple(dimensions)
    assert_same(out.reshape(-1), value.reshape(-1))


def test_expand_dims_refuses() -> None:
    refuses_to_compute("axis is 3, must be in [-3, 3)", EXPAND_DIMS, SIX, int32(3))
    refuses_to_compute("axis is -4, must be in [-3, 3)", EXPAND_DIMS, SIX, int32(-4))


@pytest.mark.parametrize("code", [RESHAPE, SQUEEZE])
def test_five_axes_are_refused_when_added(code: OperationCode) -> None:
    refuses_to_add("input has rank 5, must have rank 1 or 2 or 3 or 4", code, floats([[[[[1]]]]]), ints(0))


def test_levels() -> None:
    assert level(RESHAPE, SIX, ints(6)) == 1
    assert level(RESHAPE, ints(1, 2), ints(2)) == 6
    assert level(SQUEEZE, SIX, OMITTED) == 2
    assert level(EXPAND_DIMS, SIX, int32(0)) == 3


def test_the_output_keeps_the_numbers_in_the_declared_scale() -> None:
    x = (tensor("uint8", (2,), 0.5, 3), np.array([1, 5], np.uint8))
    (result,) = run_single(RESHAPE, [x, ints(2)], [tensor("uint8", (2,), 0.25, 4)])
    assert result.tolist() == [0, 8]
