"""Selection of elements by indices or conditions, and indices of minima and maxima."""

import math
from collections.abc import Callable

import numpy as np

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import OpenvinoContext, align, lower, lower_computed
from nnapi.drivers.openvino.rules.movement import reverse_axis
from nnapi.drivers.openvino.sizes import integers, reshape
from nnapi.drivers.openvino.value import Node, Value
from nnapi.lowering.refusal import require
from nnapi.model.operand import Shape
from nnapi.operation_codes import Code
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.coordinates import Reduction
from nnapi.ops.quantized_values import same_quantization
from nnapi.ops.shapes import axis_of
from nnapi.ops.signature_types import INT32
from nnapi.shapes.array import has_sizes
from nnapi.shapes.size import Size

MANY = 256
"""Elements of a row from which the engine's fast algorithm pays."""
MODES: dict[Code, str] = {Op.ARGMAX: "max", Op.ARGMIN: "min"}


@lower(Op.GATHER, Composite.TAKE)
def gather(context: OpenvinoContext, input: Value, axis: int, indices: Value) -> Value:
    axis, is_from_end = axis_of(axis, input.type.rank), context.code == Composite.TAKE
    at = context.require_range("indices", indices, input.type.dimensions[axis], from_end=is_from_end)
    return context.move(input, lambda x: op.gather(x, at, integers(axis)))


@lower(Op.EMBEDDING_LOOKUP)
def look_up(context: OpenvinoContext, lookups: Value, values: Value) -> Value:
    at = context.require_range("lookups", lookups, values.type.dimensions[0])
    return context.move(values, lambda x: op.gather(x, at, integers(0)))


@lower(Composite.GATHER_ELEMENTS)
def gather_elements(context: OpenvinoContext, input: Value, axis: int, indices: Value, from_end: bool) -> Value:
    """Gather from the flattened input: the engine's GatherElements takes 1.5 times as long."""
    own, axis = input.type.dimensions, axis_of(axis, input.type.rank)
    at = context.require_range("indices", indices, own[axis], from_end=from_end)
    if has_sizes((*own, *indices.type.dimensions)):
        return context.move(input, lambda x: op.gather_elements(x, at, axis))
    shape = [1 if i == axis else n for i, n in enumerate(indices.type.dimensions)]
    if from_end:
        size = op.constant(np.int32(own[axis]))
        at = op.select(op.less(at, op.constant(np.int32(0))), op.add(at, size), at)
    if own[axis] != math.prod(own):
        strides = [math.prod(own[k + 1 :]) for k in range(len(own))]
        base = sum(grid * stride for grid, stride in zip(np.indices(shape, np.int32), strides, strict=True))
        at = op.add(op.multiply(at, op.constant(np.int32(strides[axis]))), op.constant(np.asarray(base, np.int32)))
    return context.move(input, lambda x: op.gather(op.reshape(x, integers([-1]), False), at, integers(0)))


@lower(Composite.GATHER_ND)
def gather_nd(context: OpenvinoContext, input: Value, indices: Value, batch_dims: int, from_end: bool) -> Value:
    sizes = input.type.dimensions[batch_dims : batch_dims + indices.type.dimensions[-1]]
    at = context.require_coordinates("indices", indices, sizes, from_end=from_end)
    shape = context.type().dimensions
    return context.move(input, lambda x: reshape(op.gather_nd(x, at, batch_dims), shape))


REDUCTIONS = {
    Reduction.NONE: "none",
    Reduction.ADD: "sum",
    Reduction.MUL: "prod",
    Reduction.MIN: "min",
    Reduction.MAX: "max",
}


@lower(Composite.SCATTER_ELEMENTS)
def scatter_elements(
    context: OpenvinoContext, input: Value, axis: int, indices: Value, updates: Value, reduction: int, from_end: bool
) -> Value:
    axis, way = axis_of(axis, input.type.rank), REDUCTIONS[Reduction(reduction)]
    at = context.require_range("indices", indices, input.type.dimensions[axis], from_end=from_end)
    along = op.constant(np.int32(axis))
    return _scatter(context, input, updates, lambda x, y: op.scatter_elements_update(x, at, y, along, way, True))


@lower(Composite.SCATTER_ND)
def scatter_nd(
    context: OpenvinoContext, input: Value, indices: Value, updates: Value, reduction: int, from_end: bool
) -> Value:
    *outer, depth = indices.type.dimensions
    sizes, way = input.type.dimensions[:depth], REDUCTIONS[Reduction(reduction)]
    at = context.require_coordinates("indices", indices, sizes, from_end=from_end)
    rows = [math.prod(outer), *input.type.dimensions[depth:]]
    if not outer:
        at = op.reshape(at, integers([1, depth]), False)

    def write(x: Node, y: Node) -> Node:
        return op.scatter_nd_update(x, at, y if outer else reshape(y, rows), way)

    return _scatter(context, input, updates, write)


def _scatter(context: OpenvinoContext, input: Value, updates: Value, write: Callable[[Node, Node], Node]) -> Value:
    """Return the input with updates, computed on float values or integers."""
    return context.result(write(input.exact(), updates.exact()))


@lower(Op.SELECT)
def select(context: OpenvinoContext, condition: Value, a: Value, b: Value) -> Value:
    (truth, x, y), first = align([condition, a, b])
    same = all(same_quantization(value.type, context.type()) for value in (a, b))
    if not same or a.type.code == OperandCode.TENSOR_FLOAT16:
        return context.result(op.select(truth, x, y), first=first)
    return Value.of(op.select(truth, x, y), context.type(), "real", first=first)


@lower(*MODES)
def find_extreme(context: OpenvinoContext, input: Value, axis: int) -> Value:
    _need_comparable(input)
    x, along = _line_up(input, axis_of(axis, input.type.rank))
    found = op.topk(x, op.constant(np.int32(1)), along, MODES[context.code], "value", "i32", stable=True)
    positions = reshape(found.output(1), context.type().dimensions)
    return Value.of(positions, context.type(), "stored")


def _line_up(input: Value, axis: int) -> tuple[Node, int]:
    """Return the values as a node, and the position of the axis in it.

    An NCHW image keeps its channels first, and its pixels become one axis. With two axes the engine would compare pixel
    by pixel, and transposing the image would take longer still.
    """
    if not input.is_channels_first or axis != 3 or input.type.rank != 4:
        return input.real(), axis
    images, rows, columns, channels = input.type.dimensions
    return reshape(input.real(first=True), [images, channels, rows * columns]), 1


@lower(Op.TOPK_V2)
def top_k(context: OpenvinoContext, input: Value, k: int) -> list[Value]:
    """Reverse the input: among equal elements, NNAPI returns the last index first, the engine the first."""
    _need_comparable(input)
    axis, dimension = input.type.rank - 1, input.type.dimensions[-1]
    x, count = reverse_axis(input.real(), axis, dimension), op.constant(np.int32(k))
    values, indices = _find_top(x, input.type.dimensions, axis, count, "max")
    indices = op.subtract(op.constant(np.int32(dimension - 1)), indices)
    return [Value.of(values, context.type(), "real"), Value.of(indices, context.type(1), "stored")]


@lower(Composite.TOP_K)
def top_k_along(context: OpenvinoContext, input: Value, axis: int, k: int, largest: bool) -> list[Value]:
    return _find_extremes(context, input, axis, op.constant(np.int32(k)), largest)


@lower_computed(Composite.TOP_K)
def top_k_of_computed_k(context: OpenvinoContext, input: Value, axis: int, k: Value, largest: bool) -> list[Value]:
    return _find_extremes(context, input, axis, op.squeeze(k.node("stored"), integers([0])), largest)


def _find_extremes(context: OpenvinoContext, input: Value, axis: int, k: Node, largest: bool) -> list[Value]:
    _need_comparable(input)
    axis, shape = axis_of(axis, input.type.rank), input.type.dimensions
    values, indices = _find_top(input.real(), shape, axis, k, "max" if largest else "min")
    return [Value.of(values, context.type(), "real"), Value.of(indices, context.type(1), "stored")]


def _find_top(x: Node, shape: Shape, axis: int, k: Node, mode: str) -> tuple[Node, Node]:
    """Return the first k elements and their indices; of equal elements, the first comes first.

    Only the engine's slow algorithm keeps the order of equal elements. In a single row, a fast one first finds the
    limit that the k elements reach.
    """
    if not _is_row(shape, axis):
        found = op.topk(x, k, axis, mode, "value", "i32", stable=True)
        return found.output(0), found.output(1)
    row = op.reshape(x, integers([-1]), False)
    limits = op.topk(row, k, 0, mode, "none", "i32").output(0)
    limit = op.reduce_min(limits, integers([0]), True) if mode == "max" else op.reduce_max(limits, integers([0]), True)
    is_beyond = op.less(row, limit) if mode == "max" else op.less(limit, row)
    near = op.squeeze(op.non_zero(op.logical_not(is_beyond), "i32"), integers([0]))  # NaN is compared by the engine
    found = op.topk(op.gather(row, near, integers(0)), k, 0, mode, "value", "i32", stable=True)
    indices = op.gather(near, found.output(1), integers(0))
    others = [i for i in range(len(shape)) if i != axis]
    return tuple(op.unsqueeze(each, integers(others)) if others else each for each in (found.output(0), indices))


def _is_row(shape: Shape, axis: int) -> bool:
    """Return whether a tensor is a row of many elements along an axis, which may be of computed size."""
    others, size = [*shape[:axis], *shape[axis + 1 :]], shape[axis]
    return all(not isinstance(each, Size) and each == 1 for each in others) and (isinstance(size, Size) or size > MANY)


@lower(Composite.NONZERO)
def nonzero(context: OpenvinoContext, input: Value) -> Value:
    """Read booleans as stored: beside a result of these, the engine would overwrite another form of them."""
    x = input.node("stored") if input.type.code == OperandCode.TENSOR_BOOL8 else input.exact()
    return Value.of(op.non_zero(x, "i32").output(0), context.type(), "stored")


@lower(Composite.UNIQUE)
def unique(context: OpenvinoContext, input: Value, axis: int, sorted: bool) -> list[Value]:
    """Find equal slices of the first axis, of int32 for bytes: the engine finds too many slices of other axes, and
    wrong positions of bytes."""
    require(sorted, "the engine finds wrong slices in the order of their first positions")
    node, axis = input.node("stored"), axis_of(axis, input.type.rank)
    type, order = node.get_element_type(), [axis, *(other for other in range(input.type.rank) if other != axis)]
    wide = node if type.size > 1 else op.convert(node, "i32")
    wide = op.transpose(wide, integers(order)) if axis else wide
    first = op.constant(np.int32(0))
    found = op.unique(wide, axis=first, sorted=True, index_element_type="i32", count_element_type="i32").outputs()
    found[0] = op.transpose(found[0], integers(np.argsort(order))) if axis else found[0]
    found[0] = found[0] if type.size > 1 else op.convert(found[0], type)
    return [Value.of(each, context.type(i), "stored") for i, each in enumerate(found)]


def _need_comparable(input: Value) -> None:
    require(input.type.code != INT32, f"{input.name} is TENSOR_INT32, which the engine compares as float32")
