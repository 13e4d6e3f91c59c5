"""RANK: the number of dimensions."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.model.facts import Facts, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor
from nnapi.ops.types import BOOL8, PER_CHANNEL, QUANT8_SYMM, QUANT16, QUANT16_SYMM, numbers

TYPES = (*numbers(), BOOL8, PER_CHANNEL, QUANT8_SYMM, QUANT16, QUANT16_SYMM)

RANK = Operation(
    OperationCode.RANK,
    facts=Facts(traits=Trait.CHOOSES),
    inputs=(Tensor("input", dict.fromkeys(TYPES, 4)),),
    outputs=(Scalar("rank", OperandCode.INT32, since=4),),
)


@RANK.shape
def infer_shape(input: OperandType) -> Shape:
    return ()


@RANK.kernel(kind="raw")
def rank(input: Array) -> Array:
    return np.array(input.ndim, np.int32)
