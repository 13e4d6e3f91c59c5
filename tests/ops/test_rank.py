"""RANK."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.operand import ChannelQuantization, OperandType, tensor
from tests.ops.tensor_cases import BOOL8, NUMBERS, assert_same, floats, level, refuses_to_add, run
from tests.rows import each_row

RANK = OperationCode.RANK
COUNT = OperandType(OperandCode.INT32)
OTHERS = {
    "quant8_symm": tensor("quant8_symm", (), 0.5),
    "quant16_symm": tensor("quant16_symm", (), 0.5),
    "quant16_asymm": tensor("quant16_asymm", (), 0.5, 3),
}


def test_literal() -> None:
    assert_same(run(RANK, floats([[[1, 2]]]), out=COUNT), np.array(3, np.int32))


@each_row("type", (NUMBERS | BOOL8 | OTHERS).values(), ids=lambda type: type.name)
@each_row("rank", [1, 2, 3, 4, 5, 8])
def test_the_number_of_dimensions(type: OperandType, rank: int) -> None:
    shape = tuple(range(1, rank + 1))[:3] + (1,) * (rank - 3)
    x = type.with_dimensions(shape), np.zeros(shape, type.dtype)
    assert_same(run(RANK, x, out=COUNT), np.array(len(shape), np.int32))


def test_per_channel() -> None:
    type = tensor("quant8_symm_per_channel", (2, 1), channel=ChannelQuantization(0, (1.0, 0.5)))
    assert run(RANK, (type, np.array([[1], [2]], np.int8)), out=COUNT) == 2


def test_refusals() -> None:
    refuses_to_add("rank is TENSOR_INT32, must be INT32", RANK, floats([1]), outs=[tensor("int32", (1,))])
    refuses_to_add("takes 1 input, got 2", RANK, floats([1]), floats([1]), outs=[COUNT])


def test_level() -> None:
    assert level(RANK, floats([1]), out=COUNT) == 4
