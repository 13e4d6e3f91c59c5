"""ARGMAX, ARGMIN."""

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

ARGMAX, ARGMIN = OperationCode.ARGMAX, OperationCode.ARGMIN
INDEX = tensor("int32")


def test_literal() -> None:
    x = floats([[1, 5, 5], [4, 3, 3]])
    assert_same(run(ARGMAX, x, int32(1), out=INDEX), np.array([1, 0], np.int32))
    assert_same(run(ARGMIN, x, int32(1), out=INDEX), np.array([0, 1], np.int32))
    assert_same(run(ARGMAX, x, int32(-2), out=INDEX), np.array([1, 0, 0], np.int32))
    assert_same(run(ARGMIN, floats([3, 1, 2]), int32(0), out=INDEX), np.array([1], np.int32))


@quickly
@given(tensors(NUMBERS, shapes(dimension=5)), st.data(), st.sampled_from([ARGMAX, ARGMIN]))
def test_the_first_of_the_extreme_elements(x: tuple[Any, ...], data: Any, code: OperationCode) -> None:
    type, value = x
    value = value // 8 * 8 if value.dtype.kind != "f" else np.floor(value)  # so that some are equal
    axis = data.draw(st.integers(-value.ndim, value.ndim - 1))
    out = run(code, (type, value), int32(axis), out=INDEX)
    axis %= value.ndim
    assert out.shape == ((*value.shape[:axis], *value.shape[axis + 1 :]) or (1,))
    rows = np.moveaxis(value, axis, -1).reshape(-1, value.shape[axis]).tolist()
    extreme = max if code == ARGMAX else min
    assert_same(out.reshape(-1), np.array([row.index(extreme(row)) for row in rows], np.int32))


@pytest.mark.parametrize("code", [ARGMAX, ARGMIN])
def test_refusals(code: OperationCode) -> None:
    x = floats([[1, 2]])
    refuses_to_compute("axis is 2, must be in [-2, 2)", code, x, int32(2), outs=[INDEX])
    refuses_to_add("out is TENSOR_FLOAT32, must be TENSOR_INT32", code, x, int32(0))
    refuses_to_add("axis is TENSOR_INT32, must be INT32", code, x, ints(0), outs=[INDEX])


def test_a_computed_axis_may_be_omitted_nowhere() -> None:
    omitted = int32(0)[0], None
    refuses_to_compute("axis is omitted, but needed", ARGMAX, floats([1]), omitted, outs=[INDEX], error=BadDataError)


def test_level() -> None:
    assert level(ARGMAX, ints(1), int32(0), out=INDEX) == 3
