"""GATHER: slices along an axis at the given indices."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor
from nnapi.ops.shapes import axis_of
from nnapi.ops.types import INT32, numbers

GATHER = Operation(
    OperationCode.GATHER,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(
        Tensor("input", numbers(3, int32=3)),
        Scalar("axis", OperandCode.INT32, since=3),
        Tensor("indices", INT32, since=3),
    ),
    outputs=(Tensor("out", like="input", quant="input"),),
)


@GATHER.shape
def infer_shape(input: OperandType, axis: int, indices: OperandType) -> Shape:
    axis = axis_of(axis, input.rank)
    return (*input.shape[:axis], *indices.shape, *input.shape[axis + 1 :])


@GATHER.kernel(kind="raw")
def gather(input: Array, axis: int, indices: Array) -> Array:
    dimension, low, high = input.shape[axis], indices.min(), indices.max()
    need(low >= 0 and high < dimension, f"indices are in {low}..{high}, must be in 0..{dimension - 1}")
    return np.take(input, indices, axis)
