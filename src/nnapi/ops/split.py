"""SPLIT: equal parts of the tensor along an axis."""

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Several, Tensor, positive
from nnapi.ops.shapes import axis_of
from nnapi.ops.types import numbers

SPLIT = Operation(
    OperationCode.SPLIT,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES),
    inputs=(
        Tensor("input", numbers(3, int32=3)),
        Scalar("axis", OperandCode.INT32, since=3),
        Scalar("num_splits", OperandCode.INT32, since=3, check=positive),
    ),
    outputs=(Several(Tensor("out", like="input", quant="input")),),
    failure=BadDataError,
)


@SPLIT.shape
def infer_shapes(input: OperandType, axis: int, num_splits: int) -> list[Shape]:
    axis = axis_of(axis, input.rank)
    dimension = input.shape[axis]
    need(
        dimension % num_splits == 0,
        f"axis {axis} of input has dimension {dimension}, must be a multiple of {num_splits}",
    )
    return [(*input.shape[:axis], dimension // num_splits, *input.shape[axis + 1 :])] * num_splits


@SPLIT.kernel(kind="raw")
def split(input: Array, axis: int, num_splits: int) -> list[Array]:
    return np.split(input, num_splits, axis)
