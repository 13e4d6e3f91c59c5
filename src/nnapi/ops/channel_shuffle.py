"""CHANNEL_SHUFFLE: channels in groups, transposed to groups of channels."""

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import need
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import Operation
from nnapi.model.parameter import Scalar, Tensor, positive, upto
from nnapi.ops.shapes import axis_of
from nnapi.ops.types import reals

CHANNEL_SHUFFLE = Operation(
    OperationCode.CHANNEL_SHUFFLE,
    facts=Facts(Kind.MOVEMENT, Trait.MOVES),
    inputs=(
        Tensor("input", reals(3), rank=upto(4)),
        Scalar("num_groups", OperandCode.INT32, since=3, check=positive),
        Scalar("axis", OperandCode.INT32, since=3),
    ),
    outputs=(Tensor("out", like="input", quant="input"),),
)


@CHANNEL_SHUFFLE.shape
def infer_shape(input: OperandType, num_groups: int, axis: int) -> Shape:
    axis = axis_of(axis, input.rank)
    dimension = input.shape[axis]
    need(
        dimension % num_groups == 0,
        f"axis {axis} of input has dimension {dimension}, must be a multiple of {num_groups}",
    )
    return input.shape


@CHANNEL_SHUFFLE.kernel(kind="raw")
def channel_shuffle(input: Array, num_groups: int, axis: int) -> Array:
    axis = axis_of(axis, input.ndim)
    groups = input.reshape(*input.shape[:axis], num_groups, -1, *input.shape[axis + 1 :])
    return groups.swapaxes(axis, axis + 1).reshape(input.shape)
