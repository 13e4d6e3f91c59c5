"""TRANSPOSE."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnapi.codes import OperationCode
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import (
    REALS,
    assert_moved,
    floats,
    ints,
    level,
    quickly,
    refuses_to_add,
    refuses_to_compute,
    run,
    shapes,
    tensors,
)

TRANSPOSE = OperationCode.TRANSPOSE
OMITTED = tensor("int32", (0,)), None


def test_literal() -> None:
    x = floats([[1, 2, 3], [4, 5, 6]])
    assert run(TRANSPOSE, x, ints(1, 0)).tolist() == [[1, 4], [2, 5], [3, 6]]
    assert run(TRANSPOSE, x, OMITTED).tolist() == [[1, 4], [2, 5], [3, 6]]
    assert run(TRANSPOSE, floats([[[1, 2]], [[3, 4]]]), ints(2, 0, 1)).tolist() == [[[1], [3]], [[2], [4]]]


@quickly
@given(tensors(REALS, shapes()), st.data(), st.booleans())
def test_axis_i_is_the_axis_that_perm_names(x: tuple[Any, ...], data: Any, constant: bool) -> None:
    value = x[1]
    reverse = list(range(value.ndim))[::-1]
    perm = data.draw(st.permutations(reverse) | st.none())
    out = run(TRANSPOSE, x, OMITTED if perm is None else ints(*perm), constant=constant)
    order = reverse if perm is None else perm

    def source(*index: Any) -> Any:
        return tuple(index[order.index(axis)] for axis in range(value.ndim))

    assert_moved(out, value, tuple(value.shape[axis] for axis in order), source)


@pytest.mark.parametrize("perm", [(0, 0), (1,), (0, 2), (-1, 0), (0, 1, 2)])
def test_refuses_what_is_no_permutation(perm: tuple[int, ...]) -> None:
    message = f"perm is {list(perm)}, must be a permutation of 0..1"
    refuses_to_compute(message, TRANSPOSE, floats([[1, 2]]), ints(*perm))


def test_refuses_when_added() -> None:
    refuses_to_add("input has rank 5, must have rank 1 or 2 or 3 or 4", TRANSPOSE, floats(np.zeros((1,) * 5)), OMITTED)
    refuses_to_add("input is TENSOR_INT32, must be", TRANSPOSE, ints(1), OMITTED)


def test_level() -> None:
    assert level(TRANSPOSE, floats([1]), ints(0)) == 2
