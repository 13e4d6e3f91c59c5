"""Many elements to one, along axes."""

from __future__ import annotations

import math
from collections.abc import Callable

from nnapi.codes import OperandCode
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import Context, axis_in, find_maximum, find_minimum, integers, lower
from nnapi.drivers.openvino.value import ELEMENTS, Node, Value, number
from nnapi.model.operand import Array
from nnapi.model.operation import Operation
from nnapi.ops import reduce
from nnapi.ops.shapes import axis_of


@lower(reduce.MEAN)
def mean(context: Context, input: Value, axes: Array, keep_dims: int) -> Value:
    """A quantized mean is rounded down: to the nearest, after less than half a step is subtracted, so that no multiple
    of 1 / count lies on a border."""
    y, first = _reduce(context, input, axes, op.reduce_mean)
    type = context.type()
    if type.is_quantized:
        count = math.prod(input.type.dimensions[axis] for axis in _axes(input, axes))
        y = op.subtract(y, number((0.5 - 0.5 / count) * type.scale))
    return Value.of(y, type, "raw" if type.is_quantized else "real", first=first)


def _reduction(operation: Operation, function: Callable[..., Node]) -> None:
    @lower(operation)
    def rule(context: Context, input: Value, axes: Array, keep_dims: int) -> Value:
        y, first = _reduce(context, input, axes, function)
        return Value.of(y, context.type(), "real", first=first)


_reduction(reduce.REDUCE_ALL, op.reduce_logical_and)
_reduction(reduce.REDUCE_ANY, op.reduce_logical_or)
_reduction(reduce.REDUCE_PROD, op.reduce_prod)
_reduction(reduce.REDUCE_SUM, op.reduce_sum)


def _extreme(
    operation: Operation, function: Callable[..., Node], find: Callable[[Node, Callable[[Node], Node]], Node]
) -> None:
    """Register a maximum or minimum. That of quantized values is found among these: that of the floats that they stand
    for the engine gets wrong."""

    def reduce_floats(x: Node, axes: Node, keep_dims: bool) -> Node:
        return find(x, lambda floats: function(floats, axes, keep_dims))

    @lower(operation)
    def rule(context: Context, input: Value, axes: Array, keep_dims: int) -> Value:
        if not input.type.is_quantized:
            y, first = _reduce(context, input, axes, reduce_floats)
            return Value.of(y, context.type(), "real", first=first)
        quantized = op.convert(input.node("stored"), "f32")
        y = op.reshape(
            function(quantized, integers(_axes(input, axes)), True), integers(context.type().dimensions), False
        )
        return Value.of(op.convert(y, ELEMENTS[OperandCode(input.type.code)].get_type_name()), context.type(), "stored")


_extreme(reduce.REDUCE_MAX, op.reduce_max, find_maximum)
_extreme(reduce.REDUCE_MIN, op.reduce_min, find_minimum)


def _axes(input: Value, axes: Array) -> list[int]:
    return sorted({axis_of(int(axis), input.type.rank) for axis in axes})


def _reduce(context: Context, input: Value, axes: Array, function: Callable[..., Node]) -> tuple[Node, bool]:
    """Return the reduction of the float values, and whether it is NCHW: as the input, where no axis is dropped.

    Several axes, the first among them, are dropped by a reshape: the engine ignores a reshape that follows the sum.
    """
    first, along, rank = input.is_channels_first, _axes(input, axes), input.type.rank
    left = [axis_in(first, axis) for axis in range(rank) if axis not in along]
    are_dropped = context.type().rank < rank
    at_once = are_dropped and left != [] and left == sorted(left) and (len(along) == 1 or left[0] == 0)
    y = function(input.real(first), integers([axis_in(first, axis) for axis in along]), not at_once)
    if at_once or not are_dropped:
        return y, first and not are_dropped
    if first:
        y = op.transpose(y, integers([0, 2, 3, 1]))
    return op.reshape(y, integers(context.type().dimensions), False), False
