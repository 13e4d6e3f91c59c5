"""Many numbers to one along axes; the largest and where they are."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nnapi.codes import OperandCode
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import Context, axis_in, find_maximum, find_minimum, integers, lower
from nnapi.drivers.openvino.value import ELEMENTS, Node, Value, number
from nnapi.lowering.lower import require
from nnapi.model.operand import Array
from nnapi.model.operation import Operation
from nnapi.ops import argmax, reduce, topk_v2
from nnapi.ops.shapes import axis_of
from nnapi.ops.types import INT32


@lower(reduce.MEAN)
def mean(context: Context, input: Value, axes: Array, keep_dims: int) -> Value:
    """Of codes it is the highest one not above the mean: rounded to the nearest after less than half a code is taken
    away, so that no multiple of one over the count lies on a border."""
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
        codes = op.convert(input.node("stored"), "f32")
        y = op.reshape(function(codes, integers(_axes(input, axes)), True), integers(context.type().dimensions), False)
        return Value.of(op.convert(y, ELEMENTS[OperandCode(input.type.code)].get_type_name()), context.type(), "stored")


_extreme(reduce.REDUCE_MAX, op.reduce_max, find_maximum)
_extreme(reduce.REDUCE_MIN, op.reduce_min, find_minimum)


def _axes(input: Value, axes: Array) -> list[int]:
    return sorted({axis_of(int(axis), input.type.rank) for axis in axes})


def _reduce(context: Context, input: Value, axes: Array, function: Callable[..., Node]) -> tuple[Node, bool]:
    """The reduction of the numbers, and whether it is NCHW: where no axis is dropped, it is as the input."""
    first, along, rank = input.is_channels_first, _axes(input, axes), input.type.rank
    left = [axis_in(first, axis) for axis in range(rank) if axis not in along]
    are_dropped = context.type().rank < rank
    at_once = are_dropped and left != [] and left == sorted(left)
    y = function(input.real(first), integers([axis_in(first, axis) for axis in along]), not at_once)
    if at_once or not are_dropped:
        return y, first and not are_dropped
    if first:
        y = op.transpose(y, integers([0, 2, 3, 1]))
    return op.reshape(y, integers(context.type().dimensions), False), False


def _position(operation: Operation, mode: str) -> None:
    @lower(operation)
    def rule(context: Context, input: Value, axis: int) -> Value:
        _need_comparable(input)
        x, along = _line_up(input, axis_of(axis, input.type.rank))
        found = op.topk(x, op.constant(np.int32(1)), along, mode, "value", "i32", stable=True)
        return Value.of(
            op.reshape(found.output(1), integers(context.type().dimensions), False), context.type(), "stored"
        )


def _line_up(input: Value, axis: int) -> tuple[Node, int]:
    """The numbers, and where in them the axis lies. The channels of an image stay before its cells, which are one axis:
    as two, the engine compares one cell after the other, and to turn the image first takes it longer still."""
    if not input.is_channels_first or axis != 3:
        return input.real(), axis
    images, rows, columns, channels = input.type.dimensions
    return op.reshape(input.real(first=True), integers([images, channels, rows * columns]), False), 1


_position(argmax.ARGMAX, "max")
_position(argmax.ARGMIN, "min")


@lower(topk_v2.TOPK_V2)
def top_k(context: Context, input: Value, k: int) -> list[Value]:
    """Of equal numbers NNAPI takes the later first, the engine the earlier: so it is given them backwards."""
    _need_comparable(input)
    axis, dimension = input.type.rank - 1, input.type.dimensions[-1]
    backwards = op.slice(input.real(), integers([-1]), integers([-dimension - 1]), integers([-1]), integers([axis]))
    found = op.topk(backwards, op.constant(np.int32(k)), axis, "max", "value", "i32", stable=True)
    indices = op.subtract(op.constant(np.int32(dimension - 1)), found.output(1))
    return [Value.of(found.output(0), context.type(), "real"), Value.of(indices, context.type(1), "stored")]


def _need_comparable(input: Value) -> None:
    require(
        input.type.code != INT32,
        f"{input.name} is TENSOR_INT32, which the engine compares as float32",
    )
