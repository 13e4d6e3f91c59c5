"""REVERSE."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import (
    NUMBERS,
    assert_moved,
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

REVERSE = OperationCode.REVERSE
SIX = floats([[1, 2, 3], [4, 5, 6]])


def test_literal() -> None:
    assert run(REVERSE, SIX, ints(0)).tolist() == [[4, 5, 6], [1, 2, 3]]
    assert run(REVERSE, SIX, ints(1)).tolist() == [[3, 2, 1], [6, 5, 4]]


@quickly
@given(tensors(NUMBERS, shapes(most=6, dimension=3)), st.data(), st.booleans())
def test_indices_count_from_the_end(x: tuple[Any, ...], data: Any, constant: bool) -> None:
    value = x[1]
    axis = data.draw(st.integers(0, value.ndim - 1))

    def source(*index: Any) -> Any:
        return (*index[:axis], value.shape[axis] - 1 - index[axis], *index[axis + 1 :])

    assert_moved(run(REVERSE, x, ints(axis), constant=constant), value, value.shape, source)


def test_refusals() -> None:
    refuses_to_compute("axis is -1, must be in [0, 2)", REVERSE, SIX, ints(-1))
    refuses_to_compute("axis is 2, must be in [0, 2)", REVERSE, SIX, ints(2))
    refuses_to_compute("axis holds 2 values, must hold 1", REVERSE, SIX, ints(0, 1))
    refuses_to_add("axis is INT32, must be TENSOR_INT32", REVERSE, SIX, int32(0))
    refuses_to_add("input has rank 9, must have rank 1 or 2", REVERSE, floats(np.zeros((1,) * 9)), ints(0))
    refuses_to_add("out has rank 1, must have that of input, 2", REVERSE, SIX, ints(0), outs=[tensor("float32", (6,))])
    codes = tensor("uint8", (1,), 0.5, 7), np.array([1], np.uint8)
    out = [tensor("uint8", (1,), 0.25, 7)]
    refuses_to_add("must have the scale and zero point of input", REVERSE, codes, ints(0), outs=out)


def test_level() -> None:
    assert level(REVERSE, SIX, ints(0)) == 7
