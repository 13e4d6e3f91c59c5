"""GATHER."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from tests.ops.tensor_cases import (
    NUMBERS,
    assert_moved,
    floats,
    given_array,
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

GATHER = OperationCode.GATHER
SIX = floats([[1, 2, 3], [4, 5, 6]])


def test_literal() -> None:
    assert run(GATHER, SIX, int32(0), ints(1, 0, 1)).tolist() == [[4, 5, 6], [1, 2, 3], [4, 5, 6]]
    assert run(GATHER, SIX, int32(-1), ints([2], [0])).tolist() == [[[3], [1]], [[6], [4]]]


@quickly
@given(tensors(NUMBERS, shapes(dimension=3)), shapes(most=3, dimension=3), st.data(), st.booleans())
def test_each_slice_is_the_indexed_one(
    x: tuple[Any, ...], index_shape: tuple[int, ...], data: Any, constant: bool
) -> None:
    value = x[1]
    axis = data.draw(st.integers(-value.ndim, value.ndim - 1))
    positive, dimension, rank = axis % value.ndim, value.shape[axis], len(index_shape)
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    indices = random.integers(0, dimension, index_shape, np.int32)

    def source(*out: Any) -> Any:
        return (*out[:positive], indices[out[positive : positive + rank]], *out[positive + rank :])

    out = run(GATHER, x, int32(axis), given_array(indices), constant=constant)
    assert_moved(out, value, (*value.shape[:positive], *index_shape, *value.shape[positive + 1 :]), source)


@pytest.mark.parametrize(
    ("axis", "indices", "message"),
    [
        (0, (0, 2), "GATHER (#0): indices input2 are in 0..2, must be in 0..1"),
        (1, (-1, 2), "GATHER (#0): indices input2 are in -1..2, must be in 0..2"),
        (2, (0,), "axis is 2, must be in [-2, 2)"),
    ],
)
def test_refusals(axis: int, indices: tuple[int, ...], message: str) -> None:
    refuses_to_compute(message, GATHER, SIX, int32(axis), ints(*indices))


def test_refuses_when_added() -> None:
    refuses_to_add("indices is TENSOR_FLOAT32, must be TENSOR_INT32", GATHER, SIX, int32(0), floats([0]))


def test_level() -> None:
    assert level(GATHER, SIX, int32(0), ints(0)) == 3
