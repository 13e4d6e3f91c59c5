"""CUMSUM: the sums of the elements up to each element along an axis.

With ``exclusive``, the element itself is not added. With ``reverse``, the sums begin at the end of the axis.
"""

import numpy as np

from nnapi.codes import OperandCode
from nnapi.model.facts import Facts, Kind
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor
from nnapi.model.proposal import propose_along_axis
from nnapi.operation_codes import CompositeCode
from nnapi.ops.shapes import axis_of
from nnapi.ops.signature_types import INT32, floats

CUMSUM = Operation(
    CompositeCode.CUMSUM,
    facts=Facts(Kind.REDUCTION),
    inputs=(
        Tensor("input", floats(3) | {INT32: 3}),
        Scalar("axis", OperandCode.INT32, since=3),
        Scalar("exclusive", OperandCode.BOOL, since=3),
        Scalar("reverse", OperandCode.BOOL, since=3),
    ),
    outputs=(Tensor("out", like="input"),),
)


@CUMSUM.shape
def infer_shape(input: OperandType, axis: int, exclusive: bool, reverse: bool) -> Shape:
    axis_of(axis, input.rank)
    return input.shape


@CUMSUM.kernel
def sum_up(input: Array, axis: int, exclusive: bool, reverse: bool) -> Array:
    x = np.flip(input, axis) if reverse else input
    if exclusive:
        start = np.zeros_like(x.take([0], axis))
        x = np.concatenate([start, x.take(range(x.shape[axis] - 1), axis)], axis)
    sums = np.cumsum(x, axis, dtype=input.dtype)
    return np.flip(sums, axis) if reverse else sums


CUMSUM.proposal(propose_along_axis)
