"""MOD: the remainder of x / y, element by element, with broadcasting.

The quotient is rounded down, so the remainder has the sign of y. With ``fmod``, the quotient is rounded towards zero,
so the remainder has the sign of x. For y = 0, the remainder of integers is 0, that of floats NaN.
"""

import numpy as np

from nnapi.codes import OperandCode
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor
from nnapi.operation_codes import CompositeCode
from nnapi.ops.pairwise import propose_two_tensors
from nnapi.ops.shapes import broadcast
from nnapi.ops.signature_types import INT32, floats

MOD = Operation(
    CompositeCode.MOD,
    facts=Facts(Kind.ELEMENTWISE, Trait.FOLDS | Trait.PAIRS | Trait.STEPS | Trait.DIVIDES),
    inputs=(Tensor("x", floats(3) | {INT32: 3}), Tensor("y", like="x"), Scalar("fmod", OperandCode.BOOL, since=3)),
    outputs=(Tensor("out", like="x"),),
)


@MOD.shape
def infer_shape(x: OperandType, y: OperandType, fmod: bool) -> Shape:
    return broadcast(("x", "y"), x.shape, y.shape)


@MOD.kernel
def find_remainder(x: Array, y: Array, fmod: bool) -> Array:
    return np.fmod(x, y) if fmod else np.mod(x, y)


MOD.proposal(propose_two_tensors)
