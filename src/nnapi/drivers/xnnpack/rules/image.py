"""Images with other dimensions: resized, blocks as depth, blocks as batches, channels shuffled."""

from __future__ import annotations

from math import prod

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.context import Context, lower
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.model.operand import Array
from nnapi.ops.shapes import Pair, axis_of


@lower(Op.RESIZE_BILINEAR, Op.RESIZE_NEAREST_NEIGHBOR)
def resize(context: Context, input: Tensor, size: Pair, align_corners: bool, half_pixel_centers: bool) -> Tensor:
    kind = context.operation_name
    is_stepped = kind == "RESIZE_NEAREST_NEIGHBOR" and not (align_corners or half_pixel_centers)
    if is_stepped and not all(_steps_agree(*pair) for pair in zip(input.shape[1:3], size, strict=True)):
        return _gather(context, input, size)
    flags = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return context.emit(kind, [input, constant(size)], context.result(), **flags)


def _gather(context: Context, image: Tensor, size: Pair) -> Tensor:
    """The image's rows and columns by their numbers, whatever steps the engine would take."""
    rows, columns = (constant(_sources(*pair)) for pair in zip(image.shape[1:3], size, strict=True))
    higher = image.like(shape=(image.shape[0], size[0], *image.shape[2:]))
    return context.emit(
        "GATHER", [context.emit("GATHER", [image, rows], higher, axis=1), columns], context.result(), axis=2
    )


def _steps_agree(dimension: int, out: int) -> bool:
    """Whether the engine, which steps along an axis in 65536ths, takes each cell from where the operation does."""
    taken = np.arange(out) * ((dimension << 16) // out + 1) >> 16
    return bool((_sources(dimension, out) == np.minimum(taken, dimension - 1)).all())


def _sources(dimension: int, out: int) -> Array:
    """Which cell along an axis each new one is taken from."""
    places = np.floor(np.arange(out, dtype=np.float32) * (np.float32(dimension) / np.float32(out)))
    sources: Array = np.minimum(places, dimension - 1).astype(np.int32)
    return sources


@lower(Op.DEPTH_TO_SPACE, Op.SPACE_TO_DEPTH)
def blocks(context: Context, input: Tensor, block_size: int) -> Tensor:
    return context.emit(context.operation_name, [input], context.result(), block_size=block_size)


@lower(Op.BATCH_TO_SPACE_ND)
def batch_to_space(context: Context, input: Tensor, block_shape: Array) -> Tensor:
    nothing = constant([[0, 0], [0, 0]])
    return context.emit("BATCH_TO_SPACE_ND", [input, constant(block_shape), nothing], context.result())


@lower(Op.SPACE_TO_BATCH_ND)
def space_to_batch(context: Context, input: Tensor, block_shape: Array, paddings: Array) -> Tensor:
    return context.emit("SPACE_TO_BATCH_ND", [input, constant(block_shape), constant(paddings)], context.result())


@lower(Op.CHANNEL_SHUFFLE)
def channel_shuffle(context: Context, input: Tensor, num_groups: int, axis: int) -> Tensor:
    """The axis as groups and their members, which change places."""
    axis = axis_of(axis, len(input.shape))
    before, after = input.shape[:axis], input.shape[axis + 1 :]
    rows = prod(before), num_groups, input.shape[axis] // num_groups, prod(after)
    turned = context.transpose(context.reshape(input, rows), (0, 2, 1, 3))
    out = context.result()
    return context.emit("RESHAPE", [turned, constant(out.shape)], out)
