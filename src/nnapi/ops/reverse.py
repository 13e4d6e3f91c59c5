"""REVERSE: the elements along an axis in reverse order."""

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Tensor, Values, upto
from nnapi.ops.quantization import need_alike
from nnapi.ops.types import numbers

REVERSE = Operation(
    OperationCode.REVERSE,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(Tensor("input", numbers(7, int32=7), rank=upto(8)), Values("axis", late_rank=False, since=7)),
    outputs=(Tensor("out", like="input", quant="input", since=7),),
)
REVERSE.check(need_alike)


@REVERSE.shape
def infer_shape(input: OperandType, axis: Array) -> Shape:
    need(len(axis) == 1, f"axis holds {len(axis)} values, must hold 1")
    need(0 <= axis[0] < input.rank, f"axis is {axis[0]}, must be in [0, {input.rank})")
    return input.shape


@REVERSE.kernel(kind="raw")
def reverse(input: Array, axis: Array) -> Array:
    return np.flip(input, axis[0])
