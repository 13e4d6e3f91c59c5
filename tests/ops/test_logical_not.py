"""LOGICAL_NOT."""

from typing import Any

import numpy as np
from hypothesis import given

from nnapi.codes import OperationCode as Op
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import BOOL8, assert_same, quickly, run, shapes, tensors


def test_logical_not() -> None:
    x = (tensor("bool8", (4,)), np.array([0, 1, 2, 255], np.uint8))
    assert_same(run(Op.LOGICAL_NOT, x), np.array([1, 0, 0, 0], np.uint8))


@quickly
@given(tensors(BOOL8, shapes()))
def test_logical_not_of_any_byte(x: tuple[Any, ...]) -> None:
    assert run(Op.LOGICAL_NOT, x).tolist() == np.vectorize(lambda byte: 1 if byte == 0 else 0)(x[1]).tolist()
