"""SHAPE: the dimensions of tensors of all types and ranks."""

import numpy as np

from nnapi.model.operand import OperandType, tensor
from nnapi.operation_codes import CompositeCode
from tests.ops.tensor_cases import BOOL8, NUMBERS, assert_same, floats, run
from tests.rows import each_row

SHAPE = CompositeCode.SHAPE


def test_literal() -> None:
    assert_same(run(SHAPE, floats([[[1, 2]]]), out=tensor("int32", (3,))), np.array([1, 1, 2], np.int32))


@each_row("type", (NUMBERS | BOOL8).values(), ids=lambda type: type.name)
@each_row("shape", [(3,), (1, 1), (2, 3, 4), (5, 1, 2, 3)])
def test_the_dimensions(type: OperandType, shape: tuple[int, ...]) -> None:
    x = type.with_dimensions(shape), np.zeros(shape, type.dtype)
    assert_same(run(SHAPE, x, out=tensor("int32", (len(shape),))), np.array(shape, np.int32))
