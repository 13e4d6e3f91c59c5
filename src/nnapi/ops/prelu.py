"""PRELU: negative values times a slope."""

from __future__ import annotations

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Tensor
from nnapi.ops.shapes import broadcast
from nnapi.ops.types import reals

PRELU = Operation(
    OperationCode.PRELU,
    facts=Facts(Kind.ELEMENTWISE, Trait.PAIRS),
    inputs=(Tensor("input", reals(3)), Tensor("alpha", like="input")),
    outputs=(Tensor("out", like="input"),),
)


@PRELU.shape
def infer_shape(input: OperandType, alpha: OperandType) -> Shape:
    return broadcast(("input", "alpha"), input.shape, alpha.shape)


@PRELU.kernel
def prelu(input: Array, alpha: Array) -> Array:
    return np.where(input >= 0, input, alpha * input)
