"""TRANSPOSE: the tensor with its axes in another order."""

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Tensor, Values, upto
from nnapi.ops.types import reals

TRANSPOSE = Operation(
    OperationCode.TRANSPOSE,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(Tensor("input", reals(2), rank=upto(4)), Values("perm", optional=True, since=2)),
    outputs=(Tensor("out", like="input", quant="input"),),
    zero_sized=True,
)


@TRANSPOSE.shape
def infer_shape(input: OperandType, perm: Array | None) -> Shape:
    if perm is None:
        return input.shape[::-1]
    need(
        sorted(perm.tolist()) == list(range(input.rank)),
        f"perm is {perm.tolist()}, must be a permutation of 0..{input.rank - 1}",
    )
    return tuple(input.shape[axis] for axis in perm)


@TRANSPOSE.kernel(kind="raw")
def transpose(input: Array, perm: Array | None) -> Array:
    return np.transpose(input, perm)
