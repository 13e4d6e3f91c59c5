"""LOGICAL_NOT."""

import numpy as np
from hypothesis import given

from nnapi.codes import OperationCode as Op
from nnapi.model.operand import tensor
from tests.ops.tensor_cases import BOOL8, assert_same, quickly, run, shapes, tensors


def test_logical_not():
    x = (tensor("bool8", (4,)), np.uint8([0, 1, 2, 255]))
    assert_same(run(Op.LOGICAL_NOT, x), np.uint8([1, 0, 0, 0]))


@quickly
@given(tensors(BOOL8, shapes()))
def test_logical_not_of_any_byte(x):
    assert run(Op.LOGICAL_NOT, x).tolist() == np.vectorize(lambda byte: 1 if byte == 0 else 0)(x[1]).tolist()
