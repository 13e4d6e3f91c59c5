"""Operations that move, drop, repeat or pad elements without arithmetic."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.openvino.api import op
from nnapi.drivers.openvino.context import (
    FLOATS,
    OpenvinoContext,
    computes_in_nchw,
    lower,
    lower_computed,
    position_of_axis,
)
from nnapi.drivers.openvino.sizes import integers
from nnapi.drivers.openvino.sizes import reshape as to_shape
from nnapi.drivers.openvino.value import Kind, Node, Value, node_of, number, round_to_quantized
from nnapi.lowering.refusal import require
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.operation_codes import Code
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.pad import MODES
from nnapi.ops.quantized_values import same_quantization
from nnapi.ops.shapes import axis_of
from nnapi.ops.slice import slice_steps
from nnapi.shapes.array import has_sizes
from nnapi.shapes.size import Size

LARGEST = int(np.iinfo(np.int32).max)
BLOCKS: dict[Code, Any] = {Op.DEPTH_TO_SPACE: op.depth_to_space, Op.SPACE_TO_DEPTH: op.space_to_depth}


@lower(Op.RESHAPE, Op.SQUEEZE, Op.EXPAND_DIMS)
def reshape(context: OpenvinoContext, input: Value, **how: Any) -> Value:
    return context.move(input, lambda x: to_shape(x, context.type().dimensions))


@lower(Op.TRANSPOSE)
def transpose(context: OpenvinoContext, input: Value, perm: Array | None) -> Value:
    order = range(input.type.rank)[::-1] if perm is None else perm.tolist()
    return context.move(input, lambda x: op.transpose(x, integers(order)))


@lower(Op.CONCATENATION, Composite.CONCATENATION_V2)
def concatenate(context: OpenvinoContext, inputs: Sequence[Value], axis: int) -> Value:
    type = context.type()
    same = all(same_quantization(value.type, type) for value in inputs)
    is_stored = same and all(value.is_moved_as == "stored" for value in inputs)
    first = not is_stored and computes_in_nchw(*inputs)
    nodes = [value.node("stored") if is_stored else _alike(value, type, first) for value in inputs]
    if not first and (not is_stored or type.code in FLOATS):
        nodes = _copy(nodes, type, axis)
    from_end = position_of_axis(first, axis, type.rank) - type.rank  # the engine's patterns use -1 for the last axis
    joined = op.concat(nodes, from_end)
    if type.code == OperandCode.TENSOR_FLOAT16 and not is_stored:
        joined = op.maximum(joined, joined)  # the engine would compute what is rounded in the memory that it rounds
    return Value.of(joined, type, "stored" if is_stored else "real", first=first)


def _copy(nodes: list[Node], type: OperandType, axis: int) -> list[Node]:
    """Copy tensors that are concatenated along the outermost axis. Otherwise the engine computes them in the memory of
    the result, and other readers of an image read wrong values. Dynamic dimensions may be 1."""
    outer = math.prod(size for size in type.dimensions[:axis] if not isinstance(size, Size))
    return nodes if outer > 1 else [op.maximum(node, node) for node in nodes]


def _alike(value: Value, type: OperandType, first: bool) -> Node:
    """Return an input of a concatenation, rounded to the result's quantization. Otherwise the engine would requantize
    inputs with different scales to a common, coarser one, for all readers."""
    real = value.real(first)
    return real if same_quantization(value.type, type) else round_to_quantized(real, type)


@lower(Op.PACK)
def pack(context: OpenvinoContext, axis: int, inputs: Sequence[Value]) -> Value:
    kind: Kind = "stored" if all(value.is_moved_as == "stored" for value in inputs) else "real"
    nodes = [op.unsqueeze(value.node(kind), integers(axis)) for value in inputs]
    if kind == "real":
        nodes = _copy(nodes, context.type(), axis)
    return Value.of(op.concat(nodes, axis), context.type(), kind)


@lower(Op.SPLIT)
def split(context: OpenvinoContext, input: Value, axis: int, num_splits: int) -> list[Value]:
    first = input.is_channels_first
    along = integers(position_of_axis(first, axis_of(axis, input.type.rank), input.type.rank))
    parts = op.split(input.node(input.is_moved_as, first), along, num_splits)
    return [Value.of(parts.output(i), context.type(i), input.is_moved_as, first=first) for i in range(num_splits)]


@lower(Op.SLICE)
def slice_block(context: OpenvinoContext, input: Value, begin: Array, size: Array) -> Value:
    end = [start + dimension for start, dimension in zip(begin.tolist(), context.type().dimensions, strict=True)]
    return context.move(input, lambda x: _slice(x, input.type.dimensions, begin.tolist(), end, [1] * len(end)))


@lower(Op.STRIDED_SLICE)
def strided_slice(context: OpenvinoContext, input: Value, shrink_axis_mask: int, **bounds: Any) -> Value:
    dimensions = input.type.dimensions
    steps = slice_steps(dimensions, **bounds)
    # In the engine, a stop of -1 means the last element, not the position before the first.
    ends = [
        taken.stop if taken.stop >= 0 else -dimension - 1 for taken, dimension in zip(steps, dimensions, strict=True)
    ]
    starts = [taken.start for taken in steps]
    strides_taken = [
        min(max(taken.step, -dimension), dimension) for taken, dimension in zip(steps, dimensions, strict=True)
    ]

    def cut(x: Node) -> Node:
        kept = _slice(x, dimensions, starts, ends, strides_taken)
        return to_shape(kept, context.type().dimensions)

    return context.move(input, cut)


def _slice(x: Node, dimensions: Shape, begin: Sequence[int], end: Sequence[int], step: Sequence[int]) -> Node:
    """Slice only axes that lose elements. An end that is the axis's own becomes the largest integer, as in the pattern
    by which the engine finds rotary embeddings."""
    cut = [
        (axis, start, LARGEST if stop == dimension else stop, stride)
        for axis, (start, stop, stride, dimension) in enumerate(zip(begin, end, step, dimensions, strict=True))
        if (start, stop, stride) != (0, dimension, 1)
    ]
    axes, starts, ends, steps = map(integers, zip(*(cut or [(0, 0, LARGEST, 1)]), strict=True))
    return op.slice(x, starts, ends, steps, axes)


@lower(Op.REVERSE)
def reverse(context: OpenvinoContext, input: Value, axis: Array) -> Value:
    return context.move(input, lambda x: reverse_axis(x, int(axis[0]), input.type.dimensions[int(axis[0])]))


def reverse_axis(x: Node, axis: int, dimension: int) -> Node:
    """Reverse an axis; a reversal of the result of one is undone."""
    bounds = [[-1], [-dimension - 1], [-1], [axis]]
    node = node_of(x)
    if node.get_type_name() == "Slice":
        source, *given = node.input_values()
        if [_numbers(each) for each in given] == bounds:
            return source
    return op.slice(x, *map(integers, bounds))


def _numbers(value: Node) -> list[int] | None:
    node = value.get_node()
    return node.get_data().reshape(-1).tolist() if node.get_type_name() == "Constant" else None


@lower(Op.TILE)
def tile(context: OpenvinoContext, input: Value, multiples: Array) -> Value:
    return context.move(input, lambda x: op.tile(x, integers(multiples)))


@lower(*BLOCKS)
def move_blocks(context: OpenvinoContext, input: Value, block_size: int) -> Value:
    return context.move(input, lambda x: BLOCKS[context.code](x, "blocks_first", block_size), first=True)


@lower(Op.BATCH_TO_SPACE_ND)
def batch_to_space(context: OpenvinoContext, input: Value, block_shape: Array) -> Value:
    _, rows, columns, channels = input.type.dimensions
    batches, *size, _ = context.type().dimensions
    parts = [*block_shape, batches, channels, rows, columns]
    shape = [batches, channels, *size]
    return context.move(input, lambda x: _exchange(x, parts, (2, 3, 4, 0, 5, 1), shape), first=True)


@lower(Op.SPACE_TO_BATCH_ND)
def space_to_batch(context: OpenvinoContext, input: Value, block_shape: Array, paddings: Array) -> Value:
    """Pad by a separate node: the engine's operator would pad with the quantized value 0, not the zero point."""
    begin, end = (integers([0, 0, *paddings[:, side]]) for side in (0, 1))
    padded, kind = _with_zeros(context, input, begin, end, True)
    batches, rows, columns, channels = context.type().dimensions
    parts = [input.type.dimensions[0], channels, rows, block_shape[0], columns, block_shape[1]]
    y = _exchange(padded, parts, (3, 5, 0, 1, 2, 4), [batches, channels, rows, columns])
    return Value.of(y, context.type(), kind, first=True)


def _exchange(x: Node, parts: Sequence[int], order: Sequence[int], shape: Sequence[int]) -> Node:
    """Split axes into ``parts``, transpose these by ``order``, and reshape.

    The engine's operators for batches and blocks take two to four times as long, and never finish compiling for a
    rounded constant.
    """
    y = op.transpose(to_shape(x, parts), integers(order))
    return to_shape(y, shape)


@lower(Op.PAD)
def pad(context: OpenvinoContext, input: Value, paddings: Array) -> Value:
    first = input.is_channels_first
    y, kind = _with_zeros(context, input, *_around(paddings, first), first)
    return Value.of(y, context.type(), kind, first=first)


def _with_zeros(context: OpenvinoContext, input: Value, begin: Node, end: Node, first: bool) -> tuple[Node, Kind]:
    """Pad with zeros; return the node and its kind. Quantized values are padded with the zero point, because the engine
    may take the float 0 for the quantized value 0."""
    kind: Kind = "stored" if input.type.is_quantized else "real"
    zero = op.constant(input.type.dtype.type(input.type.zero_point)) if input.type.is_quantized else number(0)
    return op.pad(_hide(context, input, input.node(kind, first)), begin, end, "constant", zero), kind


@lower(Op.PAD_V2)
def pad_v2(context: OpenvinoContext, input: Value, paddings: Array, pad_value: float) -> Value:
    """Pad quantized values as stored: padding their dequantized values is correct only for 0."""
    first = input.is_channels_first
    x, value = input.node("stored", first), np.array(pad_value).astype(input.type.dtype)
    y = op.pad(_hide(context, input, x), *_around(paddings, first), "constant", op.constant(value))
    return Value.of(y, context.type(), "stored", first=first)


def _hide(context: OpenvinoContext, input: Value, x: Node) -> Node:
    """Hide floats from the engine if the model is quantized: it would apply their factors and terms to the padding,
    too."""
    return op.maximum(x, x) if context.is_quantized and input.type.code in FLOATS else x


def _around(paddings: Array, first: bool) -> tuple[Node, Node]:
    """Return the padding before and after each axis, in the order of the graph's axes."""
    order = sorted(range(len(paddings)), key=lambda axis: position_of_axis(first, axis, len(paddings)))
    return integers(paddings[order, 0]), integers(paddings[order, 1])


@lower(Op.MIRROR_PAD)
def mirror_pad(context: OpenvinoContext, input: Value, paddings: Array, mode: int) -> Value:
    first = input.is_channels_first
    return context.move(input, lambda x: op.pad(x, *_around(paddings, first), MODES[mode]), first=first)


def _need_numbers(value: Value, *shape: int) -> None:
    """Refuse a computed parameter of another shape: the engine may read beyond it."""
    own = value.type.dimensions
    require(own == shape, f"{value.name} has dimensions {list(own)}, must have {list(shape)}")


@lower_computed(Op.RESHAPE)
def reshape_to_computed(context: OpenvinoContext, input: Value, shape: Value) -> Value:
    _need_numbers(shape, context.type().rank)
    return context.move(input, lambda x: op.reshape(x, shape.node("stored"), False))


@lower_computed(Op.STRIDED_SLICE)
def slice_unknown(
    context: OpenvinoContext,
    input: Value,
    begin: Value,
    end: Value,
    strides: Value,
    begin_mask: int,
    end_mask: int,
    shrink_axis_mask: int,
) -> Value:
    """Slice axes whose sizes only a run knows."""
    for each in (begin, end, strides):
        _need_numbers(each, input.type.rank)
    steps = strides.array
    require(steps is not None and (steps > 0).all(), "strides are computed or negative, and a size depends on the data")
    masks = [[mask >> axis & 1 for axis in range(input.type.rank)] for mask in (begin_mask, end_mask, shrink_axis_mask)]
    bounds = [each.node("stored") for each in (begin, end, strides)]
    return context.move(input, lambda x: op.strided_slice(x, *bounds, *masks[:2], shrink_axis_mask=masks[2]))


@lower_computed(Op.TILE)
def tile_by_computed(context: OpenvinoContext, input: Value, multiples: Value) -> Value:
    _need_numbers(multiples, input.type.rank)
    return context.move(input, lambda x: op.tile(x, multiples.node("stored")))


@lower_computed(Op.FILL)
def fill_computed(context: OpenvinoContext, dims: Value, value: float) -> Value:
    _need_numbers(dims, context.type().rank)
    number = op.constant(np.array(value, context.type().dtype))
    return Value.of(op.broadcast(number, dims.node("stored")), context.type(), "stored")


@lower_computed(Op.PAD_V2)
def pad_by_computed(context: OpenvinoContext, input: Value, paddings: Value, pad_value: float) -> Value:
    _need_numbers(paddings, input.type.rank, 2)
    before, behind = (
        op.squeeze(op.gather(paddings.node("stored"), integers([side]), integers(1)), integers([1])) for side in (0, 1)
    )
    number = op.constant(np.array(pad_value).astype(input.type.dtype))
    padded = op.pad(_hide(context, input, input.node("stored")), before, behind, "constant", number)
    return Value.of(padded, context.type(), "stored")


@lower(Composite.SHAPE)
def shape(context: OpenvinoContext, input: Value) -> Value:
    dimensions = input.type.dimensions
    if not has_sizes(dimensions):
        return Value(context.type(), "shape", np.array(dimensions, np.int32))
    return Value.of(op.convert(integers(list(dimensions)), "i32"), context.type(), "stored")


@lower(Composite.RANGE)
def number_range(context: OpenvinoContext, start: Value, limit: Value, delta: Value) -> Value:
    """Count; the engine counts beyond the start if the limit lies in the other direction. Floats are counted as
    integers, where that is exact."""
    is_int = start.type.code == OperandCode.TENSOR_INT32
    is_exact = is_int or (start.type.code == OperandCode.TENSOR_FLOAT32 and _is_all(start, 0) and _is_all(delta, 1))
    require(is_exact, "the engine counts in float32")
    first, last, step = (op.squeeze(each.node("stored"), integers([0])) for each in (start, limit, delta))
    if not is_int:
        first, last, step = (op.convert(each, "i32") for each in (first, op.ceiling(last), step))
    is_up = op.greater(step, op.constant(np.int32(0)))
    last = op.select(is_up, op.maximum(first, last), op.minimum(first, last))
    counted = op.range(first, last, step, "i32")
    return Value.of(counted if is_int else op.convert(counted, "f32"), context.type(), "stored")


def _is_all(value: Value, number: float) -> bool:
    return value.array is not None and bool((value.array == number).all())


@lower(Op.FILL)
def fill(context: OpenvinoContext, dims: Array, value: float) -> Value:
    return Value(context.type(), "out", np.full(dims, value, context.type().dtype))


@lower(Op.RANK)
def rank(context: OpenvinoContext, input: Value) -> Value:
    return Value(context.type(), "rank", np.array(input.type.rank, np.int32))
