"""SELECT: the elements of one of two tensors, chosen by a condition for each."""

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Tensor
from nnapi.ops.types import BOOL8, numbers

SELECT = Operation(
    OperationCode.SELECT,
    facts=Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES),
    inputs=(Tensor("condition", BOOL8, since=3), Tensor("a", numbers(3, int32=3)), Tensor("b", like="a")),
    outputs=(Tensor("out", like="a"),),
)


@SELECT.shape
def infer_shape(condition: OperandType, a: OperandType, b: OperandType) -> Shape:
    need(
        condition.shape == a.shape == b.shape,
        f"condition, a and b have shapes {list(condition.shape)}, {list(a.shape)}, {list(b.shape)}, must be the same",
    )
    return a.shape


@SELECT.kernel
def select(condition: Array, a: Array, b: Array) -> Array:
    return np.where(condition, a, b)
