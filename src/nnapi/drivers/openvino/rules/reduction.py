"""Reductions along axes."""

import math
from typing import Any

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import (
    Function,
    OpenvinoContext,
    find_maximum,
    find_minimum,
    lower,
    position_of_axis,
)
from nnapi.drivers.openvino.sizes import integers, reshape
from nnapi.drivers.openvino.value import ELEMENTS, Node, Value, find_order, number
from nnapi.model.operand import Array
from nnapi.operation_codes import Code
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.reduce import reduced_axes

FUNCTIONS: dict[Code, Any] = {
    Op.REDUCE_ALL: op.reduce_logical_and,
    Op.REDUCE_ANY: op.reduce_logical_or,
    Op.REDUCE_PROD: op.reduce_prod,
    Op.REDUCE_SUM: op.reduce_sum,
    Op.REDUCE_MAX: op.reduce_max,
    Op.REDUCE_MIN: op.reduce_min,
}
EXTREMES: dict[Code, Any] = {Op.REDUCE_MAX: find_maximum, Op.REDUCE_MIN: find_minimum}


@lower(Op.MEAN)
def mean(context: OpenvinoContext, input: Value, axes: Array, keep_dims: int) -> Value:
    """Round quantized means down: subtract a little less than half a step, then round to nearest. No multiple of 1 /
    count is then on a border."""
    y, first = _reduce(context, input.rounded, axes, op.reduce_mean)
    type = context.type()
    if type.is_quantized:
        count = math.prod(input.type.dimensions[axis] for axis in reduced_axes(input.type.rank, axes))
        y = op.subtract(y, number((0.5 - 0.5 / count) * type.scale))
    return Value.of(y, type, "raw" if type.is_quantized else "real", first=first)


@lower(*FUNCTIONS)
def reduce(context: OpenvinoContext, input: Value, axes: Array, keep_dims: int) -> Value:
    """Reduce stored quantized values: the engine's minimum and maximum of their dequantized values are wrong.

    So are those of floats that it quantizes in the same node.
    """
    function, find = FUNCTIONS[context.code], EXTREMES.get(context.code)

    def compute(x: Node, *how: Any) -> Node:
        if find is None:
            return function(x, *how)
        y = find(x, lambda floats: function(floats, *how))
        return op.maximum(y, y) if context.is_quantized else y  # keeps a later quantization apart

    if not input.type.is_quantized:
        y, first = _reduce(context, input, axes, compute)
        return Value.of(y, context.type(), "real", first=first)
    quantized = op.convert(input.node("stored"), "f32")
    kept = function(quantized, integers(reduced_axes(input.type.rank, axes)), True)
    y = reshape(kept, context.type().dimensions)
    return Value.of(op.convert(y, ELEMENTS[OperandCode(input.type.code)].get_type_name()), context.type(), "stored")


def _reduce(context: OpenvinoContext, input: Value, axes: Array, function: Function) -> tuple[Node, bool]:
    """Return the reduction of the float values, and whether it is NCHW: like the input if no axis is dropped.

    A separate reshape drops axes if the engine's keep_dims=False is faulty. With several axes including the first, it
    ignores a later reshape; beside remaining dimensions of 1, it loses a later transpose.
    """
    first, along, rank = input.is_channels_first, reduced_axes(input.type.rank, axes), input.type.rank
    left = [position_of_axis(first, axis, rank) for axis in range(rank) if axis not in along]
    are_dropped = context.type().rank < rank
    keeps_order = left == sorted(left) and (len(along) == 1 or left[:1] == [0])
    at_once = are_dropped and left != [] and keeps_order and 1 not in context.type().dimensions
    y = function(input.real(first), integers([position_of_axis(first, axis, rank) for axis in along]), not at_once)
    if at_once or not are_dropped:
        return y, first and not are_dropped
    if first:
        y = op.transpose(y, integers(find_order(rank, False)))
    return reshape(y, context.type().dimensions), False


@lower(Composite.CUMSUM)
def cumsum(context: OpenvinoContext, input: Value, axis: int, exclusive: bool, reverse: bool) -> Value:
    return context.result(op.cum_sum(input.real(), integers(axis), exclusive, reverse))
