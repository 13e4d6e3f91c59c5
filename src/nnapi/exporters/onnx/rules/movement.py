"""Operations that move elements and pass quantized values through."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Node, Value, constant
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import axis_of
from nnapi.ops.slice import slice_steps
from nnapi.shapes.size import count_positions

FARTHEST = np.iinfo(np.int64).min
"""The end of a backward slice that includes the first element."""


def bounds_of_reversal(axes: Sequence[int]) -> list[Value]:
    """Return starts, ends, axes and steps of the Slice that reverses axes."""
    return [constant(each) for each in ([-1] * len(axes), [FARTHEST] * len(axes), axes, [-1] * len(axes))]


@lower(Op.RESHAPE, Op.SQUEEZE, Op.EXPAND_DIMS)
def reshape(
    context: OnnxContext, input: Value, shape: Array | None = None, dims: Array | None = None, axis: int = 0
) -> Value:
    out = context.result()
    return context.emit("Reshape", [input, constant(out.shape)], out)


@lower(Op.TRANSPOSE)
def transpose(context: OnnxContext, input: Value, perm: Array | None) -> Value:
    order = list(range(len(input.shape)))[::-1] if perm is None else list(map(int, perm))
    return context.emit("Transpose", [input], context.result(), perm=order)


@lower(Op.CONCATENATION, Composite.CONCATENATION_V2)
def concatenation(context: OnnxContext, inputs: Sequence[Value], axis: int) -> Value:
    return context.move("Concat", context.in_one_scale(inputs), axis=axis_of(axis, len(inputs[0].shape)))


@lower(Op.SPLIT)
def split(context: OnnxContext, input: Value, axis: int, num_splits: int) -> list[Value]:
    parts = [context.result(position) for position in range(num_splits)]
    options = {"axis": axis_of(axis, len(input.shape)), "num_outputs": num_splits}
    context.operators.append(Node("Split", [input], list(parts), options))
    return parts


@lower(Op.PAD)
def pad(context: OnnxContext, input: Value, paddings: Array) -> Value:
    return context.pad(input, paddings.tolist(), 0)


@lower(Op.PAD_V2)
def pad_v2(context: OnnxContext, input: Value, paddings: Array, pad_value: float) -> Value:
    quantization, stored = input.quantized, np.array(pad_value).astype(input.element).item()
    number = pad_value if quantization is None else (stored - quantization.zero_point) * quantization.scale
    return context.pad(input, paddings.tolist(), number)


@lower(Op.SLICE)
def slice_block(context: OnnxContext, input: Value, begin: Array, size: Array) -> Value:
    shape = context.result().shape
    axes = [axis for axis, size in enumerate(input.shape) if size != shape[axis]]
    if not axes:
        return input
    ends = begin[axes] + np.take(shape, axes)
    return context.move("Slice", [input, constant(begin[axes]), constant(ends), constant(axes)])


@lower(Op.STRIDED_SLICE)
def strided_slice(context: OnnxContext, input: Value, begin: Array, end: Array, strides: Array, **masks: int) -> Value:
    """Emit Slice; a set bit of a mask becomes a bound at or beyond the tensor's end."""
    begin_mask, end_mask = masks["begin_mask"], masks["end_mask"]
    begins, ends = begin.tolist(), end.tolist()
    for axis, (size, step) in enumerate(zip(input.shape, strides.tolist(), strict=True)):
        if begin_mask >> axis & 1:
            begins[axis] = 0 if step > 0 else size - 1
        if end_mask >> axis & 1:
            ends[axis] = size if step > 0 else FARTHEST
    shape = [count_positions(steps) for steps in slice_steps(input.shape, begin, end, strides, begin_mask, end_mask)]
    bounds = [constant(begins), constant(ends), constant(range(len(shape))), constant(strides)]
    taken = context.emit("Slice", [input, *bounds], input.like(shape))
    return context.reshape(taken, context.result().shape)


@lower(Op.TILE)
def tile(context: OnnxContext, input: Value, multiples: Array) -> Value:
    return context.move("Tile", [input, constant(multiples)])


@lower(Op.REVERSE)
def reverse(context: OnnxContext, input: Value, axis: Array) -> Value:
    axes = [axis_of(int(each), len(input.shape)) for each in np.asarray(axis).reshape(-1)]
    return context.move("Slice", [input, *bounds_of_reversal(axes)])


@lower(Op.DEPTH_TO_SPACE, Op.SPACE_TO_DEPTH)
def move_blocks(context: OnnxContext, input: Value, block_size: int) -> Value:
    return context.on_image(context.kind, input, blocksize=block_size)


@lower(Composite.SHAPE)
def shape(context: OnnxContext, input: Value) -> Value:
    return context.narrow(context.emit("Shape", [input], context.result().like(element=np.int64)))


@lower(Composite.RANGE)
def number_range(context: OnnxContext, start: Value, limit: Value, delta: Value) -> Value:
    """Emit Range of scalars, which ONNX Runtime does not compute in float16."""
    out, element = context.result(), np.float32 if start.element == np.float16 else start.element
    scalars = [context.reshape(context.cast(each, element), ()) for each in (start, limit, delta)]
    return context.cast(context.emit("Range", scalars, scalars[0].like(out.shape)), out.element)


@lower(Op.FILL)
def fill(context: OnnxContext, dims: Any, value: float) -> Value:
    out = context.result()
    return context.emit("Expand", [constant(value, out.element), constant(out.shape)], out)
