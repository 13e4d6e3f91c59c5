"""CUMSUM."""

from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperandCode
from nnapi.errors import NnapiError
from nnapi.model.operand import tensor
from nnapi.operation_codes import CompositeCode
from tests.single import run_single, scalar


def run(x: Any, axis: int, exclusive: bool = False, reverse: bool = False) -> Any:
    type = tensor(x.dtype.name, x.shape)
    flags = [scalar(OperandCode.BOOL, exclusive), scalar(OperandCode.BOOL, reverse)]
    return run_single(CompositeCode.CUMSUM, [(type, x), scalar(OperandCode.INT32, axis), *flags], [type])[0]


@pytest.mark.parametrize(
    ("exclusive", "reverse", "expected"),
    [(False, False, [1, 3, 6]), (True, False, [0, 1, 3]), (False, True, [6, 5, 3]), (True, True, [5, 3, 0])],
)
def test_literal_examples(exclusive: bool, reverse: bool, expected: list[int]) -> None:
    for dtype in (np.float32, np.int32):
        assert run(np.array([1, 2, 3], dtype), 0, exclusive, reverse).tolist() == expected


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_random_sums_are_those_of_a_triangular_product(axis: int) -> None:
    x = np.random.default_rng(1).integers(-9, 9, (3, 4, 5)).astype(np.int32)
    moved = np.moveaxis(x, axis, -1)
    expected = np.moveaxis(moved @ np.triu(np.ones((moved.shape[-1],) * 2, np.int32)), -1, axis)
    np.testing.assert_array_equal(run(x, axis), expected)


def test_an_axis_outside_the_rank() -> None:
    with pytest.raises(NnapiError, match="axis is 2"):
        run(np.zeros((2, 2), np.float32), 2)
