"""NONZERO and UNIQUE: kernels beside plain loops and literal examples."""

from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperandCode
from nnapi.errors import NnapiError
from nnapi.model.operand import tensor
from nnapi.operation_codes import CompositeCode
from tests.single import run_single, scalar


def find(x: Any) -> Any:
    type = tensor("bool8" if x.dtype == np.bool_ else x.dtype.name, x.shape)
    return run_single(CompositeCode.NONZERO, [(type, x)], [tensor("int32", (x.ndim, 0))])[0]


def reduce(x: Any, axis: int = 0, is_sorted: bool = True) -> Any:
    type = tensor(x.dtype.name, x.shape)
    shape = [*x.shape]
    shape[min(axis, x.ndim - 1)] = 0
    given = [(type, x), scalar(OperandCode.INT32, axis), scalar(OperandCode.BOOL, is_sorted)]
    lists = [tensor("int32", (size,)) for size in (0, 0, 0)]
    return [each.tolist() for each in run_single(CompositeCode.UNIQUE, given, [tensor(x.dtype.name, shape), *lists])]


def test_literal_positions() -> None:
    assert find(np.array([[1, 0], [0, -3]], np.int32)).tolist() == [[0, 1], [0, 1]]
    assert find(np.array([False, True, True])).tolist() == [[1, 2]]
    assert find(np.array([np.nan, -0.0], np.float32)).tolist() == [[0]]


def test_no_positions() -> None:
    assert find(np.zeros((2, 3), np.float32)).shape == (2, 0)


def test_random_positions_beside_loops() -> None:
    x = np.random.default_rng(1).integers(-1, 2, (3, 4, 5)).astype(np.float32)
    expected = [index for index in np.ndindex(x.shape) if x[index] != 0]
    assert find(x).T.tolist() == [list(index) for index in expected]


def test_literal_slices() -> None:
    x = np.array([3, 1, 3, 2, 1], np.int32)
    assert reduce(x) == [[1, 2, 3], [1, 3, 0], [2, 0, 2, 1, 0], [2, 1, 2]]
    assert reduce(x, is_sorted=False) == [[3, 1, 2], [0, 1, 3], [0, 1, 0, 2, 1], [2, 2, 1]]


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_random_slices_beside_loops(axis: int, is_sorted: bool) -> None:
    x = np.random.default_rng(2).integers(0, 2, (5, 3, 3)).astype(np.float32)
    x = np.concatenate([x, x.take([1, 0], axis)], axis)
    rows = [tuple(row.reshape(-1).tolist()) for row in np.moveaxis(x, axis, 0)]
    different = sorted(set(rows)) if is_sorted else list(dict.fromkeys(rows))
    first = [rows.index(row) for row in different]
    inverse, counts = [different.index(row) for row in rows], [rows.count(row) for row in different]
    assert reduce(x, axis, is_sorted) == [x.take(first, axis).tolist(), first, inverse, counts]


def test_an_axis_outside_the_rank() -> None:
    with pytest.raises(NnapiError, match="axis is 2"):
        reduce(np.zeros((2, 2), np.float32), 2)
