"""Operations that move elements without arithmetic."""

from collections.abc import Sequence
from math import prod

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.formats.tflite.graph import DTYPES, Tensor, constant
from nnapi.lowering.refusal import require
from nnapi.lowering.tflite.context import TfliteContext, lower
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite
from nnapi.ops.shapes import axis_of


@lower(Op.RESHAPE, Op.SQUEEZE, Op.EXPAND_DIMS)
def reshape(
    context: TfliteContext, input: Tensor, shape: Array | None = None, dims: Array | None = None, axis: int = 0
) -> Tensor:
    out = context.result()
    return context.reshape(input, out.shape, out)


@lower(Op.TRANSPOSE)
def transpose(context: TfliteContext, input: Tensor, perm: Array | None) -> Tensor:
    order = range(len(input.shape))[::-1] if perm is None else perm
    return context.emit("TRANSPOSE", [input, constant(list(order))])


@lower(Op.CONCATENATION, Composite.CONCATENATION_V2)
def concatenation(context: TfliteContext, inputs: Sequence[Tensor], axis: int) -> Tensor:
    out = context.result()
    return context.emit("CONCATENATION", [context.requantize(x, out) for x in inputs], out, axis=axis)


@lower(Op.PACK)
def pack(context: TfliteContext, inputs: Sequence[Tensor], axis: int) -> Tensor:
    out = context.result()
    given = [context.requantize(x, out) for x in inputs]
    return context.emit("PACK", given, out, count=len(given), axis=axis_of(axis, len(out.shape)))


@lower(Op.SPLIT)
def split(context: TfliteContext, input: Tensor, axis: int, num_splits: int) -> list[Tensor]:
    along = constant(axis_of(axis, len(input.shape)))
    return context.emit_several("SPLIT", [along, input], context.results(num_splits), num_splits=num_splits)


@lower(Op.PAD, Op.TILE, Op.SPACE_TO_BATCH_ND)
def plain(context: TfliteContext, input: Tensor, **arrays: Array) -> Tensor:
    return context.emit(context.kind, [input, *map(constant, arrays.values())])


@lower(Op.PAD_V2)
def pad_v2(context: TfliteContext, input: Tensor, paddings: Array, pad_value: float) -> Tensor:
    value, dtype = context.stored_value("input", pad_value), DTYPES[input.type]
    if input.is_quantized:
        limits = np.iinfo(dtype)
        require(limits.min <= value <= limits.max, f"pad_value is {pad_value}, which is not a quantized value of input")
    return context.emit("PADV2", [input, constant(paddings), context.fill(input, value)])


@lower(Op.MIRROR_PAD)
def mirror_pad(context: TfliteContext, input: Tensor, paddings: Array, mode: int) -> Tensor:
    return context.emit("MIRROR_PAD", [input, constant(paddings)], mode=mode)


@lower(Op.SLICE)
def slice_block(context: TfliteContext, input: Tensor, begin: Array, size: Array) -> Tensor:
    out = context.result()
    return context.emit("SLICE", [input, constant(begin), constant(out.shape)], out)


@lower(Op.STRIDED_SLICE)
def strided_slice(
    context: TfliteContext, input: Tensor, begin: Array, end: Array, strides: Array, **masks: int
) -> Tensor:
    """Lower STRIDED_SLICE. If all axes are removed, NNAPI's result has rank 1, TensorFlow Lite's rank 0."""
    out = context.result()
    removed = [masks["shrink_axis_mask"] >> axis & 1 for axis in range(len(input.shape))]
    taken = out
    if any(removed) and (context.keeps_axes or all(removed)):
        kept = iter(out.shape)
        taken = out.like(shape=tuple(1 if is_removed else next(kept) for is_removed in removed))
        masks["shrink_axis_mask"] = 0
    inputs = [input, constant(begin), constant(end), constant(strides)]
    context.emit("STRIDED_SLICE", inputs, taken, **masks)
    return out if taken is out else context.reshape(taken, out.shape, out)


@lower(Op.REVERSE)
def reverse(context: TfliteContext, input: Tensor, axis: Array) -> Tensor:
    return context.emit("REVERSE_V2", [input, constant(np.reshape(axis, -1))])


@lower(Op.DEPTH_TO_SPACE, Op.SPACE_TO_DEPTH)
def move_blocks(context: TfliteContext, input: Tensor, block_size: int) -> Tensor:
    return context.emit(context.kind, [input], block_size=block_size)


@lower(Op.BATCH_TO_SPACE_ND)
def batch_to_space(context: TfliteContext, input: Tensor, block_shape: Array) -> Tensor:
    return context.emit("BATCH_TO_SPACE_ND", [input, constant(block_shape), constant([[0, 0], [0, 0]])])


@lower(Op.CHANNEL_SHUFFLE)
def channel_shuffle(context: TfliteContext, input: Tensor, num_groups: int, axis: int) -> Tensor:
    """Split the axis into groups and channels of a group, and transpose these two."""
    axis, shape = axis_of(axis, len(input.shape)), input.shape
    rows = prod(shape[:axis]), num_groups, shape[axis] // num_groups, prod(shape[axis + 1 :])
    out = context.result()
    return context.reshape(context.transpose(context.reshape(input, rows), (0, 2, 1, 3)), out.shape, out)
