"""LOGICAL_NOT: not x, element by element."""

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Tensor
from nnapi.ops.types import BOOL8

LOGICAL_NOT = Operation(
    OperationCode.LOGICAL_NOT,
    facts=Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.CHOOSES),
    inputs=(Tensor("x", BOOL8, since=3),),
    outputs=(Tensor("out", like="x"),),
)


@LOGICAL_NOT.shape
def infer_shape(x: OperandType) -> Shape:
    return x.shape


@LOGICAL_NOT.kernel
def logical_not(x: Array) -> Array:
    return np.logical_not(x)
